package blockcache

import (
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/aether-ooc/aether-ooc/internal/base"
)

// TestCounters4: four counters in a word do what four numbers would.
func TestCounters4(t *testing.T) {
	dice := rand.New(rand.NewPCG(5, 6))
	var c counters4
	var want [4]uint32
	for range 20_000 {
		ones := uint32(0)
		for i := range want {
			if dice.IntN(3) > 0 {
				ones |= 1 << (8 * i)
				want[i] = min(want[i]+1, 255)
			}
		}
		c.add(ones)
		if dice.IntN(400) == 0 {
			c.halve()
			for i := range want {
				want[i] /= 2
			}
		}
		for i := range want {
			require.Equal(t, want[i], c.get(uint32(i)))
		}
	}
}

// TestLFUKeeps: of a file swept again and again, the blocks asked for most often
// are kept, whatever comes between; and when others become those, they are.
func TestLFUKeeps(t *testing.T) {
	const blocks, slots = 400, 100
	r := newRig(t, Config{Slots: slots, Policy: PolicyLFU, Depth: 4, Merge: 1}, blocks*base.BlockSize)
	r.lane(&plan{}, func(l *Lane) {
		dice := rand.New(rand.NewPCG(2, 3))
		sweeps := func(n int, hot func(base.BlockNo) bool) float64 {
			before := l.Stats()
			for range n {
				var list []base.BlockNo
				for no := range base.BlockNo(blocks) {
					if hot(no) || dice.IntN(5) == 0 {
						list = append(list, no)
					}
				}
				require.NoError(t, r.visit(l, 0, list))
			}
			s := l.Stats()
			return float64(s.Hits-before.Hits) / float64(s.Asked()-before.Asked())
		}
		low := func(no base.BlockNo) bool { return no%5 == 0 }
		high := func(no base.BlockNo) bool { return no%5 == 3 }
		sweeps(100, low)
		// 80 of 144 blocks of a sweep are hot, and 20 of the others' 64 fit, a fifth of them
		require.InDelta(t, (80+4)/144.0, sweeps(50, low), 0.05)
		sweeps(200, high)
		require.InDelta(t, (80+4)/144.0, sweeps(50, high), 0.05)
	})
	require.Positive(t, r.cache.Stats().Rejected)
}

// TestCosts: costs that cannot be meant are refused; those that err are
// mended.
func TestCosts(t *testing.T) {
	for _, bad := range []ReadCost{{}, {{0, 1}}, {{4096, 0}}, {{4096, 1}, {4096, 2}}, {{8192, 1}, {4096, 2}}} {
		_, err := New(Config{Slots: 8, Cost: bad})
		require.ErrorContains(t, err, "sizes must ascend")
	}
	require.Equal(t, []float64{0, 1, 1, 2}, ReadCost{{4096, 5}, {8192, 4}, {12288, 10}}.blockCosts(3))
	require.Equal(t, []float64{0, 1, 2, 3}, ReadCost{{4096, 5}}.blockCosts(3))
	require.Equal(t, []float64{0, 1, 3}, ReadCost{{512, 5}, {4096, 5}, {8192, 15}}.blockCosts(2))
	require.Equal(t, 3, longestSkip(DefaultReadCost().blockCosts(32)))
	require.Zero(t, longestSkip(DefaultReadCost().blockCosts(1)))
}
