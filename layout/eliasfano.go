package layout

import (
	"encoding/binary"
	"math/bits"

	"github.com/aether-ooc/aether-ooc/internal/base"
)

// An ascending list of n entries takes log2(range ÷ n) + 2 bits an entry, and a
// little, when each is cut in two: l low bits, which stand one behind the other,
// and the rest, which hardly grows from entry to entry and so is written in unary:
//
//	┌───┬─────────────┬───────────────┬──────────────────┬────────────┐
//	│ l │ base        │ hints         │ high bits        │ low bits   │
//	│ 1 │ (w-l)/8, up │ 2 per 32 ent. │ 1 set per entry  │ l an entry │
//	└───┴─────────────┴───────────────┴──────────────────┴────────────┘
//
// base is the first entry's rest. Bit (rest - base) + i of the high bits is set
// for entry i, so the i-th set bit says what the rest is: its place - i + base.
// The hint of entry 32, 64, … is the place of its bit, so that two words
// are nearly always enough.
const hintEvery = 32

// eliasMost is the most low bits: what one load of 8 bytes gives at any bit.
const eliasMost = 57

func hintCount(n int) int { return (n - 1) / hintEvery }

// eliasBytes is what n entries from first to last take with l low bits.
func eliasBytes(width, l, n int, first, last uint64) int {
	high := n + int(last>>l-first>>l)
	return 1 + baseBytes(width, l) + 2*hintCount(n) + (high+7)/8 + packedBytes(l, n)
}

func baseBytes(width, l int) int { return (width - l + 7) / 8 }

// eliasBest is the number of low bits that makes the list shortest, and its length.
func eliasBest(width, n int, first, last uint64) (low, size int) {
	near := bits.Len64((last-first)/uint64(n)) - 1
	low, size = -1, 0
	for l := min(max(0, near-1), eliasMost); l <= min(near+1, eliasMost) || low < 0; l++ {
		if s := eliasBytes(width, l, n, first, last); low < 0 || s < size {
			low, size = l, s
		}
	}
	return low, size
}

// putElias writes entries at the start of b, which is zeroed and goes on for 8
// bytes behind them.
func putElias(b []byte, width, l int, entries []uint64) int {
	n, first := len(entries), entries[0]>>l
	b[0] = byte(l)
	putValue(b[1:], baseBytes(width, l), first)
	hints := 1 + baseBytes(width, l)
	upper := hints + 2*hintCount(n)
	for i, e := range entries {
		bit := int(e>>l-first) + i
		b[upper+bit>>3] |= 1 << (bit & 7)
		if i > 0 && i%hintEvery == 0 {
			binary.LittleEndian.PutUint16(b[hints+2*(i/hintEvery-1):], uint16(bit))
		}
	}
	low := upper + (n+int(entries[n-1]>>l-first)+7)/8
	return low + putPacked(b[low:], l, entries)
}

// putPacked writes the low width bits of each entry, likewise.
func putPacked(b []byte, width int, entries []uint64) int {
	le, mask := binary.LittleEndian, bitMask(uint8(width))
	for i, e := range entries {
		bit := i * width
		word := b[bit>>3:]
		le.PutUint64(word, le.Uint64(word)|(e&mask)<<(bit&7))
	}
	return packedBytes(width, len(entries))
}

func packedBytes(width, n int) int { return (n*width + 7) / 8 }

// eliasList finds the parts of a list of n entries between two places.
func (k *Block) eliasList(from, to, n, pos int) List {
	l := k.b[from]
	if l > eliasMost || l > k.width {
		return List{}
	}
	high := baseBytes(int(k.width), int(l))
	upper := from + 1 + high + 2*hintCount(n)
	low := to - packedBytes(int(l), n)
	if upper >= low {
		return List{}
	}
	return List{b: k.b, mask: bitMask(l), base: k.uint64At(from+1) & widthMask(uint8(high)), n: int32(n), pos: int32(pos),
		at: int32(low), upper: int32(upper), hints: int32(from + 1 + high - 2), width: l, form: formElias}
}

// elias is the entry with a rank.
func (l *List) elias(r uint64) uint64 {
	return l.high(r)<<l.width | l.packed(r)
}

// high is what an entry is without its low bits. Bits that no writer has set
// make a wrong one. The bit looked for is nearly always in the first word behind
// the hint or in the second; which one is told without a branch, which would be
// guessed wrong too often.
func (l *List) high(r uint64) uint64 {
	hint := l.hint(r)
	at := int(l.upper) + int(hint>>3)
	if at > base.BlockSize-16 {
		return l.highByWords(r, hint)
	}
	words := l.b[at : at+16]
	word, next := binary.LittleEndian.Uint64(words)>>(hint&7)<<(hint&7), binary.LittleEndian.Uint64(words[8:])
	left, ones := r%hintEvery, uint64(bits.OnesCount64(word))
	past := atLeast(left, ones)
	left -= ones & past
	word ^= (word ^ next) & past
	if left >= uint64(bits.OnesCount64(word)) {
		return l.highByWords(r, hint)
	}
	return l.base + hint&^7 + 64&past + selectBit(word, left) - r
}

// hint is the place of the bit of the last entry up to r that has a hint.
func (l *List) hint(r uint64) uint64 {
	hint := uint64(binary.LittleEndian.Uint16(l.b[int(l.hints)+2*int(r/hintEvery):]))
	return hint & uint64(-int64(r/hintEvery)>>63) // entry 0 has none
}

// atLeast is all ones where x is at least y, else 0; both are small.
func atLeast(x, y uint64) uint64 { return ^uint64(int64(x-y) >> 63) }

// highByWords is high for any list, a word at a time.
func (l *List) highByWords(r, hint uint64) uint64 {
	at, left := int(l.upper)+int(hint>>3), r%hintEvery
	first := hint & 7
	for ; at <= base.BlockSize-8; at, first = at+8, 0 {
		word := binary.LittleEndian.Uint64(l.b[at:]) >> first << first
		ones := uint64(bits.OnesCount64(word))
		if left < ones {
			return l.base + uint64(at-int(l.upper))*8 + selectBit(word, left) - r
		}
		left -= ones
	}
	return 0
}

func (l *List) takeElias(ranks []uint64) {
	for i, r := range ranks {
		ranks[i] = l.elias(r)
	}
}

const (
	everyByte = 0x0101010101010101
	everyTop  = 0x8080808080808080
)

// selectBit is the place of the set bit of w that has r set bits below it.
func selectBit(w, r uint64) uint64 {
	s := w - w>>1&0x5555555555555555
	s = s&0x3333333333333333 + s>>2&0x3333333333333333
	s = (s + s>>4) & 0x0f0f0f0f0f0f0f0f * everyByte // byte i: how many up to its end
	under := (r*everyByte | everyTop) - s           // top bits: which of them are no more than r
	at := uint64(bits.OnesCount64(under&everyTop)) << 3 & 63
	r -= s << 8 >> at & 0xff
	return at + uint64(selectByte[w>>at&0xff<<3|r&7])
}

// selectByte has selectBit of every byte.
var selectByte = func() (t [256 * 8]uint8) {
	for b := range 256 {
		for r, rest := 0, uint8(b); rest != 0; r, rest = r+1, rest&(rest-1) {
			t[b<<3|r] = uint8(bits.TrailingZeros8(rest))
		}
	}
	return t
}()
