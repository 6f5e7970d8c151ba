package sampler

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/aether-ooc/aether-ooc/internal/base"
	"github.com/stretchr/testify/require"
)

func randomKeys(n int, lo, hi uint64) []uint64 {
	r := rand.New(rand.NewPCG(uint64(n), hi))
	keys := make([]uint64, n)
	for i := range keys {
		keys[i] = keyOf(base.BlockNo(lo+r.Uint64N(hi-lo+1)), i)
	}
	return keys
}

func TestSortByBlock(t *testing.T) {
	for _, n := range []int{0, 1, 2, fewKeys - 1, fewKeys, 5000} {
		for _, span := range [][2]uint64{{0, 0}, {9, 10}, {1 << 20, 1<<20 + 3000}, {0, 1<<32 - 1}, {1<<32 - 2, 1<<32 - 1}} {
			keys := randomKeys(n, span[0], span[1])
			want := slices.Clone(keys)
			slices.Sort(want)
			sorted, free := sortByBlock(keys, nil)
			require.Equal(t, want, sorted, "%d keys, blocks %v", n, span)
			if n > 0 && len(free) > 0 {
				require.NotSame(t, &sorted[0], &free[0])
			}
		}
	}
}

func BenchmarkSortByBlock(b *testing.B) {
	for _, n := range []int{1000, 20_000, 300_000} {
		keys, spare := randomKeys(n, 1, 200_000), []uint64(nil)
		work := make([]uint64, n)
		for _, by := range []string{"radix", "comparing"} {
			b.Run(fmt.Sprintf("%s/%d", by, n), func(b *testing.B) {
				for b.Loop() {
					work = append(work[:0], keys...)
					if by == "radix" {
						work, spare = sortByBlock(work, spare)
					} else {
						slices.Sort(work)
					}
				}
				b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/float64(n), "ns/key")
			})
		}
	}
}
