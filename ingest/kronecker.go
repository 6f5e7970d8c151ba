//go:build linux

package ingest

import (
	"math"

	"github.com/aether-ooc/aether-ooc/internal/base"
)

// The chances of an edge to fall into the four quarters of the adjacency
// matrix, at every level, as cumulative shares of 2^32: 0.57, 0.19, 0.19, 0.05.
const (
	upToA = 57 << 32 / 100
	upToB = 76 << 32 / 100
	upToC = 95 << 32 / 100
)

// kronecker is an RMAT graph (Chakrabarti, Zhan, Faloutsos: "R-MAT: A Recursive
// Model for Graph Mining", SDM 2004) of which any edge can be had by its number.
// Each level of an edge takes half a word.
type kronecker struct {
	scale   int
	perEdge uint64 // words
	words   splitMix
	names   scrambler
}

func newKronecker(scale int, seed uint64) *kronecker {
	return &kronecker{
		scale: scale, perEdge: uint64(scale+1) / 2,
		words: splitMix(mix(seed)), names: newScrambler(scale, splitMix(mix(^seed))),
	}
}

// edge is the i-th edge: its levels take words i · perEdge and on, the lower
// half of each first.
func (k *kronecker) edge(i uint64) (src, dst base.NodeID) {
	var s, d uint64
	at := i * k.perEdge
	for level := 0; level < k.scale; level += 2 {
		w := k.words.at(at)
		at++
		s, d = descend(s, d, w&math.MaxUint32)
		if level+1 < k.scale {
			s, d = descend(s, d, w>>32)
		}
	}
	return k.names.scramble(s), k.names.scramble(d)
}

// descend chooses a quarter: d's bit is set in b and in d, s's in c and in d.
func descend(s, d, w uint64) (uint64, uint64) {
	a, b, c := reaches(w, upToA), reaches(w, upToB), reaches(w, upToC)
	return s<<1 | b, d<<1 | (a ^ b ^ c)
}

// reaches is 1 if w ≥ limit, without a branch that could be mispredicted.
func reaches(w, limit uint64) uint64 { return 1 - (w-limit)>>63 }

// splitMix is SplitMix64 (Steele, Lea, Flood: "Fast Splittable Pseudorandom
// Number Generators", OOPSLA 2014), whose n-th word needs no word before it.
type splitMix uint64

func (s splitMix) at(n uint64) uint64 { return mix(uint64(s) + (n+1)*0x9e3779b97f4a7c15) }

func mix(z uint64) uint64 {
	z = (z ^ z>>30) * 0xbf58476d1ce4e5b9
	z = (z ^ z>>27) * 0x94d049bb133111eb
	return z ^ z>>31
}

// scrambler is a seeded bijection on numbers of a few bits, without which the
// hubs of an RMAT graph would have the lowest ids. Every step can be undone:
// multiplying by an odd number, adding, and folding the high half into the low.
type scrambler struct {
	mask     uint64
	half     uint
	mul, add [3]uint64
}

func newScrambler(width int, words splitMix) scrambler {
	s := scrambler{mask: 1<<uint(width) - 1, half: max(1, uint(width+1)/2)}
	for i := range s.mul {
		s.mul[i] = words.at(uint64(2*i)) | 1
		s.add[i] = words.at(uint64(2*i + 1))
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
