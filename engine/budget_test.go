package engine

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/aether-ooc/aether-ooc/sampler"
)

func testDemand(lanes int, blocks int64) demand {
	return demand{index: 300_000, perLane: 100_000, lanes: lanes, blocks: blocks,
		footprint: func(slots int) int64 { return 10_000 + int64(slots)*(4096+40) }}
}

func TestDivide(t *testing.T) {
	for _, lanes := range []int{1, 2, 16} {
		for _, blocks := range []int64{0, 100, 30_000, 1 << 32} {
			d := testDemand(lanes, blocks)
			require.Empty(t, d.resident)
			least := d.least(func(Budget) bool { return true })
			_, ok := d.divide(least - 1)
			require.False(t, ok)
			for memory := least; memory < 1<<40; memory *= 3 {
				b, ok := d.divide(memory)
				require.True(t, ok, "%d of least %d", memory, least)
				name := fmt.Sprintf("%d lanes, %d blocks: %+v", lanes, blocks, b)
				require.LessOrEqual(t, b.Index+b.Lanes+b.Cache+b.Batches, memory, name)
				require.GreaterOrEqual(t, b.Slots, lanes*minSlotsPerLane, name)
				require.LessOrEqual(t, int64(b.Slots), max(blocks, int64(lanes*minSlotsPerLane)), name)
				require.Equal(t, d.footprint(b.Slots), b.Cache, name)
				require.Positive(t, b.Batches, name)
				if int64(b.Slots) < blocks { // the cache takes what it is given
					require.Greater(t, d.footprint(b.Slots+1)+b.Batches, memory-b.Index-b.Lanes, name)
				}
			}
		}
	}
}

func TestDivideFailsBelowTheLeast(t *testing.T) {
	d := testDemand(2, 1000)
	for _, memory := range []int64{-1, 0, 1, 4096, 500_000} {
		_, ok := d.divide(memory)
		require.False(t, ok, "%d", memory)
	}
	roomy := d.least(func(b Budget) bool { return b.Batches >= 50<<20 })
	b, ok := d.divide(roomy)
	require.True(t, ok)
	require.GreaterOrEqual(t, b.Batches, int64(50<<20))
}

// The whole adjacency is had from one budget on and in all larger ones, and decoded
// from another one on; then it has all it needs, the batches their share, and the
// cache no more blocks than are left.
func TestDivideResident(t *testing.T) {
	for _, lanes := range []int{1, 2, 16} {
		for _, resident := range []int64{100, 1 << 20, 1 << 30} {
			for _, others := range []int64{0, 100_000} {
				d := testDemand(lanes, others)
				d.adjacency, d.resident, d.rows = resident/4096+1, []int64{2 * resident, resident}, others > 0
				d.blocks += d.adjacency
				plain := d
				plain.resident = nil
				require.Equal(t, plain.least(anyBudget), d.least(anyBudget), "it raises no least budget")
				enough := d.least(func(b Budget) bool { return b.Resident > 0 })
				for memory := enough - 1; memory < 1<<40; memory = memory*3 + 1 {
					b, ok := d.divide(memory)
					require.True(t, ok)
					if memory < enough {
						without, _ := plain.divide(memory)
						require.Equal(t, without, b)
						continue
					}
					name := fmt.Sprintf("%d lanes, %d resident, %d other blocks: %+v", lanes, resident, others, b)
					require.Contains(t, []int64{resident, 2 * resident}, b.Resident-int64(lanes)*sampler.LoadBytes, name)
					require.Equal(t, b.Resident > 2*resident, b.Form == "decoded", name)
					require.True(t, b.Form == "decoded" || memory < 8*enough, name)
					require.LessOrEqual(t, b.Index+b.Lanes+b.Resident+b.Cache+b.Batches, memory, name)
					require.GreaterOrEqual(t, b.Slots, lanes*minSlotsPerLane, name)
					require.LessOrEqual(t, int64(b.Slots), max(others, int64(lanes*minSlotsPerLane)), name)
					share := int64(leastBatches)
					if d.rows {
						share = batchesPerLane
					}
					require.GreaterOrEqual(t, b.Batches, min((memory-b.Index-b.Lanes)/4, int64(lanes)*share), name)
				}
			}
		}
	}
}
