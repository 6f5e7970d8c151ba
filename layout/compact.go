package layout

import (
	"encoding/binary"
	"fmt"
	"math/bits"

	"github.com/aether-ooc/aether-ooc/internal/base"
	"github.com/aether-ooc/aether-ooc/internal/binfmt"
)

const (
	compactHeader = 18
	compactEnd    = base.BlockSize - 8 // entries lie before it, so that 8 bytes can be loaded at any of theirs
	wordBytes     = 10                 // of the bitmap: 64 nodes, and how many lists lie before them
	endBytes      = 4                  // of an end: entries and bytes up to it
	eliasFlag     = 1 << 15            // in the entries of an end: the list that ends there is in Elias-Fano
)

// viewCompact finds the parts of a compact block.
func (k *Block) viewCompact() *CorruptError {
	k.dir, k.words = compactHeader, k.uint16At(16)
	k.ends = k.dir + k.words*wordBytes
	if k.delta > 0 {
		k.ends = k.dir + k.lists*int(k.delta)
	}
	k.data = k.ends + (k.lists+1)*endBytes
	switch {
	case k.width < 1 || k.width > eliasMost && k.width != 64:
		return damage(1, "bits of an entry", "1 to 57, or 64", k.width)
	case (k.delta == 0) != (k.words > 0), k.delta != 0 && k.delta != 1 && k.delta != 2 && k.delta != 4 && k.delta != 8:
		return damage(2, "delta width", "1, 2, 4 or 8, or 0 and a bitmap", fmt.Sprintf("%d and %d words of bitmap", k.delta, k.words))
	case k.data >= compactEnd:
		return damage(12, "bytes of the directory", fmt.Sprintf("below %d", compactEnd), k.data)
	}
	return nil
}

// usedCompact is what the last end says, if it can be true.
func (k *Block) usedCompact() int {
	return min(max(k.uint16At(k.ends+k.lists*endBytes+2), k.data), compactEnd)
}

// findBit gives the list of the d-th node from the first one on.
func (k *Block) findBit(d uint64) List {
	if d>>6 >= uint64(k.words) {
		return List{}
	}
	at := k.dir + int(d>>6)*wordBytes
	word := k.uint64At(at)
	i := k.uint16At(at+8) + bits.OnesCount64(word&(1<<(d&63)-1))
	if word>>(d&63)&1 == 0 || i >= k.lists {
		return List{}
	}
	return k.compactList(i)
}

// bitAt is the place in the bitmap of the i-th list: the last word with no more
// than i lists before it has it.
func (k *Block) bitAt(i int) uint64 {
	lo, n := 0, k.words
	for n > 1 {
		half := n / 2
		if k.uint16At(k.dir+(lo+half)*wordBytes+8) <= i {
			lo += half
		}
		n -= half
	}
	at := k.dir + lo*wordBytes
	return uint64(lo)*64 + selectBit(k.uint64At(at), uint64(i-k.uint16At(at+8))&63)
}

// compactList loads the ends of the list before and of the i-th one at once.
func (k *Block) compactList(i int) List {
	ends := k.uint64At(k.ends + i*endBytes)
	lo, hi := int(ends&(eliasFlag-1)), int(ends>>32&(eliasFlag-1))
	from, to := int(ends>>16&0xffff), int(ends>>48)
	n := hi - lo
	switch {
	case n <= 0 || hi > k.entries || from < k.data || to <= from || to > compactEnd:
		return List{}
	case ends>>32&eliasFlag != 0:
		return k.eliasList(from, to, n, lo)
	case n*int(k.width) > 8*(to-from):
		return List{}
	}
	return List{b: k.b, mask: bitMask(k.width), n: int32(n), pos: int32(lo), at: int32(from), width: k.width, form: formPacked}
}

// validateCompact packs the block's lists again, as they are, and compares.
func (k *Block) validateCompact() error {
	c := compactBlock{contents: contents{before: k.flags&contBefore != 0}, width: int(k.width), delta: int(k.delta)}
	for i := range k.lists {
		l := k.List(i)
		low := packedForm
		if l.form == formElias {
			low = int(l.width)
		}
		for j := range l.Len() {
			c.values = append(c.values, uint64(l.At(j)))
		}
		c.add(uint64(k.Node(i)), low, l.Len())
	}
	var b [base.BlockSize]byte
	if c.bytes() <= compactEnd {
		c.put(b[:], k.flags&contAfter != 0)
	}
	for at, want := range b[:binfmt.PayloadSize] {
		if got := k.b[at]; got != want {
			return damage(at, "the block is not what its lists make", want, got)
		}
	}
	return nil
}

// packedForm stands where a list in Elias-Fano has its number of low bits.
const packedForm = -1

// compactBlock is what a compact block holds.
type compactBlock struct {
	contents
	width  int // bits of an entry
	delta  int // bytes; 0: a bitmap
	lows   []int8
	values []uint64 // entries
	body   int      // bytes of the lists
}

// add adds v's list, the last n values.
func (c *compactBlock) add(v uint64, low, n int) {
	list := c.values[len(c.values)-n:]
	c.nodes, c.lows = append(c.nodes, v), append(c.lows, int8(low))
	c.ends = append(c.ends, uint16(len(c.values)))
	c.body += c.listBytes(low, n, list[0], list[n-1])
}

func (c *compactBlock) listBytes(low, n int, first, last uint64) int {
	if low == packedForm {
		return packedBytes(c.width, n)
	}
	return eliasBytes(c.width, low, n, first, last)
}

// bytes is where the block's zeros begin.
func (c *compactBlock) bytes() int {
	return headBytes(len(c.nodes), c.delta, c.nodes[len(c.nodes)-1]-c.nodes[0]) + c.body
}

// headBytes is where the entries begin behind a directory of so many lists, the
// last of which is that of the first node + span.
func headBytes(lists, delta int, span uint64) int {
	dir := lists * delta
	if delta == 0 {
		dir = bitmapWords(span) * wordBytes
	}
	return compactHeader + dir + (lists+1)*endBytes
}

func bitmapWords(span uint64) int { return int(span/64) + 1 }

func (c *compactBlock) put(b []byte, after bool) {
	le := binary.LittleEndian
	c.putHeader(b, TagCompact, c.width, c.delta, after)
	at := compactHeader
	if c.delta > 0 {
		at += c.putDeltas(b[at:], c.delta)
	} else {
		n := c.putBitmap(b[at:])
		le.PutUint16(b[16:], uint16(n))
		at += n * wordBytes
	}
	data := at + (len(c.nodes)+1)*endBytes
	le.PutUint16(b[at+2:], uint16(data))
	begin := uint16(0)
	for i, end := range c.ends {
		at += endBytes
		list, low := c.values[begin:end], int(c.lows[i])
		if low == packedForm {
			data += putPacked(b[data:], c.width, list)
		} else {
			data += putElias(b[data:], c.width, low, list)
			end |= eliasFlag
		}
		le.PutUint16(b[at:], end)
		le.PutUint16(b[at+2:], uint16(data))
		begin = c.ends[i]
	}
}

// putBitmap writes words of 64 nodes, each followed by the number of lists before
// it, and says how many.
func (c *compactBlock) putBitmap(b []byte) int {
	le, n := binary.LittleEndian, bitmapWords(c.nodes[len(c.nodes)-1]-c.nodes[0])
	for _, v := range c.nodes {
		d := v - c.nodes[0]
		b[int(d/64)*wordBytes+int(d%64/8)] |= 1 << (d % 8)
	}
	lists := 0
	for w := range n {
		le.PutUint16(b[w*wordBytes+8:], uint16(lists))
		lists += bits.OnesCount64(le.Uint64(b[w*wordBytes:]))
	}
	return n
}

func (c *compactBlock) reset(before bool) {
	c.contents.reset(before)
	c.lows, c.values, c.body = c.lows[:0], c.values[:0], 0
}
