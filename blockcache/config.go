package blockcache

import (
	"fmt"
	"math"
	"sort"
	"sync/atomic"
	"unsafe"

	"github.com/aether-ooc/aether-ooc/internal/base"
	"github.com/aether-ooc/aether-ooc/uring"
)

// Config says how large a cache is and how its lanes read. The zero value of
// every field but Slots means its default.
type Config struct {
	Slots  int    // blocks that the cache can hold
	Lanes  int    // lanes that will be made, default 1
	Policy string // "lfu" (default), "ristretto" or "clock"

	// Blocks is how many blocks the files to be added have together: New makes
	// room for their tables, and Footprint counts it.
	Blocks int64

	Depth int // reads that one lane keeps in flight at most, default 256
	Group int // reads that one lane hands to its ring at a time, default 32

	// Merge is the most blocks of one read; 1: every block is a read of its own;
	// 0: as many as pays. Missing blocks near each other become one read where
	// Cost says that it is cheaper to read on over what lies between.
	Merge int
	Cost  ReadCost // default DefaultReadCost

	// OnVisit, when set, is told what each Visit asks for, before it does, on
	// the lane's goroutine. It must neither keep nor change blocks.
	OnVisit func(f FileID, blocks []base.BlockNo)
}

const (
	defaultDepth = 256
	defaultGroup = 32
	defaultMerge = 32
	maxMerge     = 1 << (SizeBuckets - 1)
	usualRead    = 8 // blocks of a read that windows and groups are laid out for, if reads may be as long
	maxSlots     = math.MaxUint32 - 1
)

// complete fills in the defaults, and refuses what cannot work.
func (c Config) complete() (Config, error) {
	for _, n := range []int{c.Lanes, c.Depth, c.Group, c.Merge} {
		if n < 0 {
			return c, fmt.Errorf("blockcache: lanes %d, depth %d, group %d, merge limit %d: none may be negative (0 means the default)",
				c.Lanes, c.Depth, c.Group, c.Merge)
		}
	}
	setDefault(&c.Lanes, 1)
	setDefault(&c.Depth, defaultDepth)
	setDefault(&c.Group, defaultGroup)
	setDefault(&c.Merge, defaultMerge)
	if c.Cost == nil {
		c.Cost = DefaultReadCost()
	}
	if c.Policy == "" {
		c.Policy = DefaultPolicy
	}
	quota := max(1, c.Slots/c.Lanes) // no read and no depth can use more, however large a number was given
	c.Depth, c.Merge = min(c.Depth, quota), min(c.Merge, quota, maxMerge)
	c.Depth = min(c.Depth, c.window())
	c.Group = min(c.Group, c.Depth, max(1, c.window()/4))
	return c, c.validate()
}

func setDefault(field *int, value int) {
	if *field == 0 {
		*field = value
	}
}

func (c Config) validate() error {
	if _, known := policies[c.Policy]; !known {
		return fmt.Errorf("blockcache: no policy is called %q; take one of %v", c.Policy, Policies())
	}
	if c.Slots < c.Lanes {
		return fmt.Errorf("%w: %d slots of %d bytes for %d lanes: each lane needs one; raise the memory budget or take fewer lanes",
			ErrOverBudget, c.Slots, base.BlockSize, c.Lanes)
	}
	if c.Slots > maxSlots {
		return fmt.Errorf("blockcache: %d slots are more than the %d that can be numbered; lower the memory budget", c.Slots, maxSlots)
	}
	return c.Cost.validate()
}

// window is how many blocks one lane may hold: its quota, but no more than it
// has use for, which is a full depth of its own and as much again of others'.
func (c Config) window() int {
	return min(c.Slots/c.Lanes, 2*c.Depth*min(c.Merge, usualRead))
}

// groupBlocks is how many blocks a group of reads brings at most: so few that a
// window has several groups, whatever is merged.
func (c Config) groupBlocks() int {
	return max(1, min(c.Group*min(c.Merge, usualRead), c.window()/4))
}

// groupPieces is how many buffers the reads of a group have at most: before each
// block may lie a sink.
func (c Config) groupPieces() int { return 2 * c.groupBlocks() }

func (c Config) costs() []float64 { return c.Cost.blockCosts(c.Merge) }

func (c Config) sinkBytes() int { return longestSkip(c.costs()) * base.BlockSize }

func (c Config) batches() int { return max(1, c.Depth/c.Group) }

// tableBytes is the arena with its tables: everything that lies off the heap.
func (c Config) tableBytes() int64 {
	n := int64(c.Slots)
	return n*base.BlockSize + int64(c.Lanes)*region[byte](int64(c.sinkBytes())) +
		region[slot](n+1) + policies[c.Policy].tables(n) + c.fileBytes()
}

// fileBytes is what the tables of the files take, as far as they are foreseen.
func (c Config) fileBytes() int64 {
	if c.Blocks == 0 {
		return 0
	}
	n := region[atomic.Uint32](c.Blocks)
	if policies[c.Policy].counts {
		n += region[counters4]((c.Blocks + 3) / 4)
	}
	return n + fileSlack
}

// fileSlack is what is lost where the tables of some files are aligned.
const fileSlack = 4 << 10

// laneBytes is what one lane holds on the heap.
func (c Config) laneBytes() int64 {
	reads := int64(c.batches()) * int64(c.Group)
	return int64(unsafe.Sizeof(Lane{})) +
		int64(c.window())*int64(unsafe.Sizeof(entry{})+unsafe.Sizeof(entryNo(0))) +
		reads*int64(unsafe.Sizeof(uring.Read{})) +
		int64(c.batches()*c.groupPieces())*int64(unsafe.Sizeof([]byte{})+unsafe.Sizeof(entryNo(0)))
}

// Footprint is how many bytes a cache made by New holds at most: the arena, the
// tables, its lanes and what the policy keeps on the Go heap. It is 0 for a
// Config that New refuses.
func Footprint(c Config) int64 {
	c, err := c.complete()
	if err != nil {
		return 0
	}
	return c.tableBytes() + fixedBytes + int64(c.Lanes)*c.laneBytes() + policies[c.Policy].heap(int64(c.Slots))
}

// Mapped is the part of Footprint that lies outside the Go heap, where the
// garbage collector does not see it: the arena and the tables.
func Mapped(c Config) int64 {
	c, err := c.complete()
	if err != nil {
		return 0
	}
	return c.tableBytes()
}

// fixedBytes covers the Cache itself: locks, the files, what mmap rounds up.
const fixedBytes = 64 << 10

// Fit is c with as many slots as budget bytes allow. The error wraps
// ErrOverBudget and says what the least is.
func Fit(budget int64, c Config) (Config, error) {
	least := c
	least.Slots = max(1, c.Lanes)
	if _, err := least.complete(); err != nil {
		return Config{}, err
	}
	if need := Footprint(least); need > budget {
		return Config{}, fmt.Errorf("%w: the block cache of %d lanes needs at least %d bytes and %d are left for it; raise the memory budget",
			ErrOverBudget, least.Slots, need, budget)
	}
	top := int(min(budget/base.BlockSize, maxSlots))
	over := sort.Search(top+1, func(n int) bool {
		c.Slots = n
		return n > least.Slots && Footprint(c) > budget
	})
	c.Slots = over - 1
	return c, nil
}
