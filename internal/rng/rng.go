package rng

import (
	"encoding/binary"
	"math/bits"
	"slices"

	"github.com/aether-ooc/aether-ooc/internal/base"
)

// Name names the generator in requests and batches: the published algorithm, and
// behind the slash the version of what this package makes of it.
const Name = "philox4x32-10/1"

// MaxHops and MaxCopies bound what fits in a stream's counter.
const (
	MaxHops   = 1 << 8
	MaxCopies = 1 << 24
)

const shuffleTag = 0x73687566 // "shuf"

func split(x uint64) (lo, hi uint32) { return uint32(x), uint32(x >> 32) }

func chain(fp base.Fingerprint, seed uint64, c [4]uint32) Key {
	var f [4]uint32
	for i := range f {
		f[i] = binary.LittleEndian.Uint32(fp[4*i:])
	}
	lo, hi := split(seed)
	a := Philox(f, Key{lo, hi})
	b := Philox(c, Key{a[0], a[1]})
	return Key{b[0] ^ a[2], b[1] ^ a[3]}
}

// BatchKey is the key of all draws of one mini-batch. batch is its global
// number, or a hash of its seeds for callers that know only those.
func BatchKey(fp base.Fingerprint, seed, epoch, batch uint64) Key {
	elo, ehi := split(epoch)
	blo, bhi := split(batch)
	return chain(fp, seed, [4]uint32{elo, ehi, blo, bhi})
}

// Stream is the sequence of random words of one (hop, node, copy) of a batch.
// The zero value is not ready: use NewStream.
type Stream struct {
	key Key
	ctr [4]uint32
	buf [2 * blockWords]uint32
	at  int // the next word in buf
}

const blockWords = 4 // of Philox

// NewStream starts the stream of one frontier entry. hop counts from 0; copy
// is how many earlier seeds are the same node.
func NewStream(k Key, hop int, node base.NodeID, copies uint32) Stream {
	lo, hi := split(uint64(node))
	return Stream{key: k, ctr: [4]uint32{lo, hi, uint32(hop) | copies<<8, 0}, at: 2 * blockWords}
}

func (s *Stream) word() uint32 {
	if s.at == len(s.buf) {
		s.refill()
	}
	w := s.buf[s.at]
	s.at++
	return w
}

func (s *Stream) refill() {
	a, b := philox2(s.ctr, s.key)
	*(*[blockWords]uint32)(s.buf[:]), *(*[blockWords]uint32)(s.buf[blockWords:]) = a, b
	s.ctr[3] += 2
	s.at = 0
}

// Uniform draws from 0 … n-1, every value exactly equally likely. n > 0.
func (s *Stream) Uniform(n uint64) uint64 {
	if n == 1 {
		return 0
	}
	if n <= 1<<32 {
		m := uint64(s.word()) * n // n = 2^32: no word is refused
		if m&0xffffffff < n {
			m = s.again(m, n)
		}
		return m >> 32
	}
	floor := -n % n
	for {
		x := uint64(s.word())
		x |= uint64(s.word()) << 32
		if hi, lo := bits.Mul64(x, n); lo >= floor {
			return hi
		}
	}
}

// again is m = word·n, n ≤ 2^32, or another one as long as m is refused.
func (s *Stream) again(m, n uint64) uint64 {
	for floor := (1<<32 - n) % n; m&0xffffffff < floor; {
		m = uint64(s.word()) * n
	}
	return m
}

// Distinct appends k distinct ranks below d to dst in ascending order, every
// k-subset equally likely; all d ranks when k ≥ d.
func (s *Stream) Distinct(dst []uint64, k, d uint64) []uint64 {
	if k >= d {
		for r := range d {
			dst = append(dst, r)
		}
		return dst
	}
	from := len(dst)
	dst = slices.Grow(dst, int(k))[:from+int(k)]
	ranks := dst[from:]
	s.upwards(ranks, d-k+1)
	switch {
	case d <= wordBits:
		distinctWord(ranks, d-k)
	case d <= wordBits*wordBits:
		distinctSet(ranks, d-k)
	default:
		distinctSorted(ranks, d-k)
	}
	return dst
}

// upwards draws x[i] from 0 … n+i-1.
func (s *Stream) upwards(x []uint64, n uint64) {
	if n+uint64(len(x)) > 1<<32 {
		for i := range x {
			x[i] = s.Uniform(n + uint64(i))
		}
		return
	}
	for i := range x {
		if s.at == len(s.buf) {
			s.refill()
		}
		m := uint64(s.buf[s.at&(len(s.buf)-1)]) * n
		s.at++
		if m&0xffffffff < n {
			m = s.again(m, n)
		}
		x[i] = m >> 32
		n++
	}
}

// Floyd's rule, in three ways: the i-th draw t becomes first+i, which exceeds all
// before it, if t has come up already; and in the end all are put in order.

const wordBits = 64

// distinctWord keeps the ranks as bits of a word, from which they come out in
// order, with no branch that a draw decides.
func distinctWord(ranks []uint64, first uint64) {
	taken := uint64(0)
	for i, t := range ranks {
		if taken>>(t&63)&1 != 0 {
			t = first + uint64(i)
		}
		taken |= 1 << (t & 63)
	}
	for i := range ranks {
		ranks[i] = uint64(bits.TrailingZeros64(taken))
		taken &= taken - 1
	}
}

// distinctSet does so with 64 words, and a bit for each that is not empty.
func distinctSet(ranks []uint64, first uint64) {
	var taken [wordBits]uint64
	used := uint64(0)
	for i, t := range ranks {
		if taken[t>>6&63]>>(t&63)&1 != 0 {
			t = first + uint64(i)
		}
		taken[t>>6&63] |= 1 << (t & 63)
		used |= 1 << (t >> 6 & 63)
	}
	i := 0
	for ; used != 0; used &= used - 1 {
		w := bits.TrailingZeros64(used)
		for word := taken[w&63]; word != 0; word &= word - 1 {
			ranks[i] = uint64(w<<6 | bits.TrailingZeros64(word))
			i++
		}
	}
}

// distinctSorted keeps the ranks in order.
func distinctSorted(ranks []uint64, first uint64) {
	for i, t := range ranks {
		at, taken := place(ranks[:i], t)
		if taken {
			at, t = i, first+uint64(i)
		}
		copy(ranks[at+1:i+1], ranks[at:i])
		ranks[at] = t
	}
}

// place says where t belongs in ascending ranks, and whether it is there. Short
// lists are the rule, and are fastest walked through.
func place(ranks []uint64, t uint64) (at int, taken bool) {
	if len(ranks) > 64 {
		return slices.BinarySearch(ranks, t)
	}
	at = len(ranks)
	for at > 0 && ranks[at-1] >= t {
		at--
	}
	return at, at < len(ranks) && ranks[at] == t
}

// WithRepeats appends k ranks below d to dst in draw order; none when d = 0.
func (s *Stream) WithRepeats(dst []uint64, k, d uint64) []uint64 {
	if d == 0 {
		return dst
	}
	for range k {
		dst = append(dst, s.Uniform(d))
	}
	return dst
}

// Permutation is a shuffle of 0 … n-1 that needs no memory.
type Permutation struct {
	key  Key
	n    uint64
	half uint
}

// NewPermutation is the shuffle of one epoch's n input positions.
func NewPermutation(fp base.Fingerprint, seed, epoch, n uint64) Permutation {
	lo, hi := split(epoch)
	p := Permutation{key: chain(fp, seed, [4]uint32{lo, hi, shuffleTag, 0xffffffff}), n: n, half: 1}
	if n > 1 {
		p.half = max(1, uint(bits.Len64(n-1)+1)/2)
	}
	return p
}

// At is the input position of the item at position i < n of the epoch.
func (p Permutation) At(i uint64) uint64 {
	for {
		if i = p.feistel(i); i < p.n {
			return i
		}
	}
}

func (p Permutation) feistel(x uint64) uint64 {
	mask := uint64(1)<<p.half - 1
	l, r := x>>p.half, x&mask
	for round := range uint32(6) {
		lo, hi := split(r)
		f := uint64(Philox([4]uint32{lo, hi, round, shuffleTag}, p.key)[0])
		l, r = r, (l^f)&mask
	}
	return l<<p.half | r
}
