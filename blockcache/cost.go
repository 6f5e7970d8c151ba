package blockcache

import (
	"fmt"
	"math/bits"

	"github.com/aether-ooc/aether-ooc/internal/base"
)

// ReadCost says what reads of some sizes cost a device that has enough of them,
// in any unit: the ratios count. Sizes ascend. What lies between two is
// interpolated, what lies beyond the last goes on as steeply.
type ReadCost []SizeCost

// SizeCost is the cost of one size of reads.
type SizeCost struct {
	Bytes int64
	Cost  float64
}

// DefaultReadCost was measured on an NVMe device behind virtio.
func DefaultReadCost() ReadCost {
	return ReadCost{{4 << 10, 1}, {8 << 10, 1.1}, {16 << 10, 1.7}, {32 << 10, 2.8}, {64 << 10, 4.5}}
}

func (c ReadCost) validate() error {
	if len(c) == 0 {
		return fmt.Errorf("blockcache: cost of reads: none is given; sizes must ascend from the first")
	}
	for i, p := range c {
		if p.Bytes <= 0 || !(p.Cost > 0) || i > 0 && p.Bytes <= c[i-1].Bytes {
			return fmt.Errorf("blockcache: cost of reads: %v bytes cost %v: sizes must ascend, and both be positive; measure them again", p.Bytes, p.Cost)
		}
	}
	return nil
}

// of is the cost of reading so many bytes.
func (c ReadCost) of(bytes float64) float64 {
	i := 1
	for i < len(c)-1 && float64(c[i].Bytes) < bytes {
		i++
	}
	if len(c) == 1 {
		return c[0].Cost * max(1, bytes/float64(c[0].Bytes))
	}
	a, b := c[i-1], c[i]
	x := (bytes - float64(a.Bytes)) / float64(b.Bytes-a.Bytes)
	return a.Cost + max(0, x)*(b.Cost-a.Cost)
}

// blockCosts is what a read of so many blocks costs, in reads of one block; [0]
// is 0. A larger read never costs less than a smaller one: measuring errs.
func (c ReadCost) blockCosts(most int) []float64 {
	costs := make([]float64, most+1)
	one := c.of(base.BlockSize)
	for n := 1; n <= most; n++ {
		costs[n] = max(costs[n-1], c.of(float64(n)*base.BlockSize)/one)
	}
	return costs
}

// pays: to read on over skip blocks that nobody wants and one that is wanted,
// after have blocks, costs less than another read.
func pays(costs []float64, have, skip int) bool {
	n := have + skip + 1
	return n < len(costs) && costs[n]-costs[have] < costs[1]
}

// longestSkip is the most blocks that are ever read for nothing between two that
// are wanted.
func longestSkip(costs []float64) int {
	longest := 0
	for have := 1; have < len(costs); have++ {
		for pays(costs, have, longest+1) {
			longest++
		}
	}
	return longest
}

// sizeBucket is the place of a read of n blocks in Counters.ReadSizes.
func sizeBucket(n int) int { return bits.Len(uint(n - 1)) }
