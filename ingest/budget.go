//go:build linux

package ingest

import (
	"math/bits"

	"github.com/aether-ooc/aether-ooc/internal/base"
)

// What a build holds besides its edges: the program, the Writer's buffers and
// index, and the batches that go round. The Writer's index grows with the graph,
// but to a fiftieth of the second copy of the edges, which is given back before
// the Writer begins.
const (
	fixedBytes = 28 << 20
	itemBytes  = 1 << 20
)

func overhead(c Config) int64 { return fixedBytes + itemBytes*int64(2*c.Workers+1) + c.below }

// room is the memory for edges.
func (c Config) room() int64 { return max(0, c.Memory-overhead(c)) }

// capacity is how many edges can be sorted in memory: there are two copies.
func capacity[T word](c Config) int64 {
	n := c.room() / (2 * edgeBytes[T]())
	if c.tune != nil {
		n = min(n, c.tune.pile)
	}
	return n
}

// leastRoom is what an external build needs for edges.
const leastRoom = 28 << 20

// checkMemory refuses a budget in which no graph can be built.
func (c Config) checkMemory() error {
	if need := overhead(c) + leastRoom + c.leastRelabel(); c.Memory < need {
		return &BudgetError{NeedBytes: need, HaveBytes: c.Memory}
	}
	return nil
}

// sizes are the measures of an external build.
type sizes struct {
	pile    int64 // edges in memory before the build becomes external
	parts   int   // partitions
	extent  int64 // bytes of a full extent
	sorters int   // partitions sorted at once
	unit    int64 // bytes in which a partition is sorted
}

const (
	fullExtent   = 86 * extentUnit // just above a MiB
	unsureExtent = 21 * extentUnit // where nobody knows how much is to come: more partitions
	leastExtent  = 4 * extentUnit
	leastUnit    = 4 * fullExtent // a full extent, widened, and buffers to cut it again
	spareBuffers = 8              // being written while others are filled
	maxParts     = 1 << 14
)

// dealing measures the first half of a build of so many edges (0: unknown), of
// so many bytes each: as many partitions as have room for full extents, or more
// where they would not fit into units.
func (c Config) dealing(edges int64, nodes uint64, size int64) sizes {
	if c.tune != nil {
		return *c.tune
	}
	sz := c.sorting(edges, nodes)
	pool, extent := c.room()/2, int64(fullExtent)
	if edges == 0 {
		extent = unsureExtent
	}
	parts := max(pool/extent-spareBuffers, edges*size*3/2/sz.unit, 2)
	sz.extent = min(extent, max(leastExtent, pool/(parts+spareBuffers)/extentUnit*extentUnit))
	sz.parts = int(min(parts, max(2, pool/sz.extent-spareBuffers), maxParts))
	return sz
}

// sorting measures the second half: each sorter has a unit being loaded, one
// being sorted, and memory to sort it with, and one unit is being written.
func (c Config) sorting(edges int64, nodes uint64) sizes {
	if c.tune != nil {
		return *c.tune
	}
	room := c.room() - c.beside(edges, nodes)
	sorters := max(1, min(int64(c.Workers), (room/leastUnit-1)/3))
	unit := room / (unitsOf(sorters) + sorters) / extentUnit * extentUnit
	return sizes{sorters: int(sorters), unit: max(leastUnit, unit)}
}

// unitsOf is how many units go round between so many sorters: see inorder.Items.
func unitsOf[N int | int64](sorters N) N { return 2*sorters + 1 }

// indexRow is what the Writer holds of a block.
const indexRow = 14

// beside is what the second half holds besides edges: the Writer's index (in
// slices that grow) and bitmap, the marks of the nodes, and
// the buffers of the graph and the edge ids.
func (c Config) beside(edges int64, nodes uint64) int64 {
	width := int64(bits.Len64(nodes)+7)/8 + 1
	index := edges * width / base.BlockSize * indexRow * 5 / 2
	presence := min(int64(nodes/8), edges*32/200)
	return index + presence + c.marks(nodes) + 8<<20
}

// marks is the memory for a bit per node; 0 where that takes too much of the
// budget, and nodes without an edge are not counted.
func (c Config) marks(nodes uint64) int64 {
	if n := nodes/64*8 + 8; n <= uint64(c.Memory/8) {
		return int64(n)
	}
	return 0
}
