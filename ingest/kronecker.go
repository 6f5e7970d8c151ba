package ingest

import (
	"github.com/aether-ooc/aether-ooc/internal/base"
	"github.com/aether-ooc/aether-ooc/internal/rng"
)

// The chances of an edge to fall into the four quarters of the adjacency
// matrix, at every level, as cumulative shares of 2^32: 0.57, 0.19, 0.19, 0.05.
const (
	upToA = 57 << 32 / 100
	upToB = 76 << 32 / 100
	upToC = 95 << 32 / 100
)

const (
	rmatTag     = 0x726d6174 // "rmat"
	scrambleTag = 0x73637262 // "scrb"
)

// kronecker is an RMAT graph (Chakrabarti, Zhan, Faloutsos: "R-MAT: A Recursive
// Model for Graph Mining", SDM 2004) of which any edge can be had by its number.
type kronecker struct {
	scale int
	key   rng.Key
	names scrambler
}

func newKronecker(scale int, seed uint64) *kronecker {
	key := rng.Key{uint32(seed), uint32(seed >> 32)}
	return &kronecker{scale: scale, key: key, names: newScrambler(scale, key)}
}

// edge is the i-th edge. Level l uses word l mod 4 of the generator's block
// l div 4 for that edge.
func (k *kronecker) edge(i uint64) (src, dst base.NodeID) {
	var s, d uint64
	for level := 0; level < k.scale; level += 4 {
		words := rng.Philox([4]uint32{uint32(i), uint32(i >> 32), uint32(level / 4), rmatTag}, k.key)
		for _, w := range words[:min(4, k.scale-level)] {
			a, b, c := reaches(w, upToA), reaches(w, upToB), reaches(w, upToC)
			s, d = s<<1|b, d<<1|(a^b^c)
		}
	}
	return k.names.scramble(s), k.names.scramble(d)
}

// reaches is 1 if w ≥ limit, without a branch that could be mispredicted.
func reaches(w uint32, limit uint64) uint64 { return 1 - (uint64(w)-limit)>>63 }

// scrambler is a seeded bijection on numbers of a few bits, without which the
// hubs of an RMAT graph would have the lowest ids. Every step can be undone:
// multiplying by an odd number, adding, and folding the high half into the low.
type scrambler struct {
	mask     uint64
	half     uint
	mul, add [3]uint64
}

func newScrambler(width int, key rng.Key) scrambler {
	s := scrambler{mask: 1<<uint(width) - 1, half: max(1, uint(width+1)/2)}
	for i := range s.mul {
		w := rng.Philox([4]uint32{uint32(i), 0, 0, scrambleTag}, key)
		s.mul[i] = (uint64(w[0])<<32 | uint64(w[1])) | 1
		s.add[i] = uint64(w[2])<<32 | uint64(w[3])
	}
	return s
}

func (s *scrambler) scramble(x uint64) base.NodeID {
	for i := range s.mul {
		x = (x*s.mul[i] + s.add[i]) & s.mask
		x ^= x >> s.half
	}
	return base.NodeID(x)
}
