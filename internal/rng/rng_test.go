package rng

import (
	"fmt"
	"slices"
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

// TestWords: a stream's words are those of the blocks, one after the other.
func TestWords(t *testing.T) {
	s := NewStream(Key{5, 6}, 3, 1<<40|7, 9)
	for i := range uint32(9) {
		for _, want := range Philox([4]uint32{7, 1 << 8, 3 | 9<<8, i}, Key{5, 6}) {
			if got := s.word(); got != want {
				t.Fatalf("block %d: %x, want %x", i, got, want)
			}
		}
	}
}

// TestDistinctIsFloyd compares Distinct with the algorithm as it is written down.
func TestDistinctIsFloyd(t *testing.T) {
	for _, d := range []uint64{1, 2, 5, 63, 64, 65, 100, 4095, 4096, 4097, 1 << 20, 1<<32 + 5} {
		for _, k := range []uint64{0, 1, 2, 7, 25, 62, 64, 300, 4094} {
			for node := range base.NodeID(5) {
				got, words := NewStream(Key{1, 2}, 0, node, 0), NewStream(Key{1, 2}, 0, node, 0)
				want := []uint64{7}
				for j := d - min(k, d); j < d; j++ {
					r := j
					if k < d {
						if r = words.Uniform(j + 1); slices.Contains(want[1:], r) {
							r = j
						}
					}
					want = append(want, r)
				}
				slices.Sort(want[1:])
				if x := got.Distinct([]uint64{7}, k, d); !slices.Equal(x, want) {
					t.Fatalf("%d of %d: %v, want %v", k, d, x, want)
				}
				if a, b := got.word(), words.word(); a != b {
					t.Fatalf("%d of %d: takes another number of words", k, d)
				}
			}
		}
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
		for _, d := range []uint64{50, 1000, 100_000} {
			b.Run(fmt.Sprintf("%d of %d", k, d), func(b *testing.B) {
				dst := make([]uint64, 0, k)
				for i := range b.N {
					s := NewStream(Key{1, 2}, 0, base.NodeID(i), 0)
					dst = s.Distinct(dst[:0], k, d)
				}
			})
		}
	}
}
