package rng

import (
	"fmt"
	"testing"

	"github.com/aether-ooc/aether-ooc/internal/base"
)

// The known answers of the Random123 distribution (kat_vectors, philox4x32 10).
func TestPhiloxKnownAnswers(t *testing.T) {
	const f = 0xffffffff
	for _, c := range []struct {
		ctr  [4]uint32
		key  Key
		want [4]uint32
	}{
		{[4]uint32{}, Key{}, [4]uint32{0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8}},
		{[4]uint32{f, f, f, f}, Key{f, f}, [4]uint32{0x408f276d, 0x41c83b0e, 0xa20bc7c6, 0x6d5451fd}},
		{[4]uint32{0x243f6a88, 0x85a308d3, 0x13198a2e, 0x03707344}, Key{0xa4093822, 0x299f31d0},
			[4]uint32{0xd16cfe09, 0x94fdcceb, 0x5001e420, 0x24126ea1}},
	} {
		if got := Philox(c.ctr, c.key); got != c.want {
			t.Errorf("Philox(%x, %x) = %x, want %x", c.ctr, c.key, got, c.want)
		}
	}
}

func TestDistinctIsUniformOverSubsets(t *testing.T) {
	const d, k, trials = 6, 3, 40_000 // 20 subsets
	seen := map[string]int{}
	key := BatchKey(base.Fingerprint{1}, 7, 0, 0)
	for i := range trials {
		s := NewStream(key, 1, base.NodeID(i), 0)
		seen[fmt.Sprint(s.Distinct(nil, k, d))]++
	}
	chi, want := 0.0, float64(trials)/20
	for _, n := range seen {
		chi += (float64(n) - want) * (float64(n) - want) / want
	}
	if len(seen) != 20 || chi > 43.8 { // chi-square, 19 degrees, p = 0.001
		t.Errorf("%d subsets, chi-square %.1f", len(seen), chi)
	}
}

func TestUniformStaysBelow(t *testing.T) {
	s := NewStream(Key{1, 2}, 0, 3, 0)
	for _, n := range []uint64{1, 2, 3, 1<<32 - 1, 1 << 32, 1<<32 + 1, 1<<63 + 1, ^uint64(0)} {
		for range 1000 {
			if x := s.Uniform(n); x >= n {
				t.Fatalf("Uniform(%d) = %d", n, x)
			}
		}
	}
}

func TestPermutationIsOne(t *testing.T) {
	for _, n := range []uint64{1, 2, 3, 5, 64, 1000, 4097} {
		p := NewPermutation(base.Fingerprint{9}, 1, 2, n)
		seen := make([]bool, n)
		for i := range n {
			j := p.At(i)
			if seen[j] {
				t.Fatalf("n = %d: %d twice", n, j)
			}
			seen[j] = true
		}
	}
}

func BenchmarkDistinct(b *testing.B) {
	for _, k := range []uint64{10, 25} {
		b.Run(fmt.Sprint(k), func(b *testing.B) {
			dst := make([]uint64, 0, k)
			for i := range b.N {
				s := NewStream(Key{1, 2}, 0, base.NodeID(i), 0)
				dst = s.Distinct(dst[:0], k, 1000)
			}
		})
	}
}
