package layout

import (
	"math"
	"sort"

	"github.com/aether-ooc/aether-ooc/internal/base"
)

// NotFound is the rank of a key that is not there.
const NotFound = math.MaxUint64

// Search finds many keys in a section whose values ascend, by halves: in each
// round the caller brings the Blocks that are asked for, in whatever order, and
// shows them by See. No block is asked for twice, so many keys cost no more than
// reading the section, and few no more than a round for each halving.
type Search struct {
	Ranks []uint64 // of each key: which value it is, or NotFound; when Blocks is empty

	s      Section
	keys   []uint64
	halves []half // in ascending order
	next   []half // two for each of them, some empty
}

// half is a range of blocks in which a range of keys must be, if anywhere.
type half struct {
	lo, hi   uint64 // blocks of the section, hi not included
	from, to int    // keys
}

func (h half) empty() bool { return h.lo >= h.hi || h.from >= h.to }

// NewSearch begins. keys ascend.
func NewSearch(s Section, keys []uint64) *Search {
	x := &Search{Ranks: make([]uint64, len(keys)), s: s, keys: keys, next: []half{{0, s.Blocks, 0, len(keys)}}}
	for i := range x.Ranks {
		x.Ranks[i] = NotFound
	}
	return x
}

// Blocks are those of the next round, ascending; none: the search is over.
func (x *Search) Blocks() (blocks []base.BlockNo) {
	x.halves = x.halves[:0]
	for _, h := range x.next {
		if !h.empty() {
			x.halves = append(x.halves, h)
			blocks = append(blocks, x.s.First+base.BlockNo((h.lo+h.hi)/2))
		}
	}
	x.next = make([]half, 2*len(x.halves))
	return blocks
}

// See looks at the i-th block of the round.
func (x *Search) See(i int, b []byte) {
	h := x.halves[i]
	mid := (h.lo + h.hi) / 2
	no := x.s.First + base.BlockNo(mid)
	n := x.s.in(no)
	first, last := x.s.Value(b, 0), x.s.Value(b, n-1)
	from := h.from + sort.Search(h.to-h.from, func(k int) bool { return x.keys[h.from+k] >= first })
	to := from + sort.Search(h.to-from, func(k int) bool { return x.keys[from+k] > last })
	for k := from; k < to; k++ {
		at := sort.Search(n, func(slot int) bool { return x.s.Value(b, slot) >= x.keys[k] })
		if x.s.Value(b, at) == x.keys[k] {
			x.Ranks[k] = x.s.rank(no, at)
		}
	}
	x.next[2*i], x.next[2*i+1] = half{h.lo, mid, h.from, from}, half{mid + 1, h.hi, to, h.to}
}
