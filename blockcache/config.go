package blockcache

import (
	"fmt"
	"math"
	"math/bits"
	"sort"
	"unsafe"

	"github.com/aether-ooc/aether-ooc/internal/base"
	"github.com/aether-ooc/aether-ooc/uring"
)

// Config says how large a cache is and how its lanes read. The zero value of
// every field but Slots means its default.
type Config struct {
	Slots  int    // blocks that the cache can hold
	Lanes  int    // lanes that will be made, default 1
	Policy string // "ristretto" (default) or "clock"

	Depth int // reads that one lane keeps in flight at most, default 256
	Group int // reads that one lane hands to its ring at a time, default 32

	// MergeAdjacent is how many consecutive missing blocks may become one read
	// (with a buffer each); default 1: every block its own read.
	MergeAdjacent int

	// OnVisit, when set, is told what each Visit asks for, before it does, on
	// the lane's goroutine. It must neither keep nor change blocks.
	OnVisit func(f FileID, blocks []base.BlockNo)
}

const (
	defaultDepth = 256
	defaultGroup = 32
	maxSlots     = math.MaxUint32 - 1
)

// complete fills in the defaults, and refuses what cannot work.
func (c Config) complete() (Config, error) {
	for _, n := range []int{c.Lanes, c.Depth, c.Group, c.MergeAdjacent} {
		if n < 0 {
			return c, fmt.Errorf("blockcache: lanes %d, depth %d, group %d, merge limit %d: none may be negative (0 means the default)",
				c.Lanes, c.Depth, c.Group, c.MergeAdjacent)
		}
	}
	setDefault(&c.Lanes, 1)
	setDefault(&c.Depth, defaultDepth)
	setDefault(&c.Group, defaultGroup)
	setDefault(&c.MergeAdjacent, 1)
	if c.Policy == "" {
		c.Policy = PolicyRistretto
	}
	quota := max(1, c.Slots/c.Lanes) // no read and no depth can use more, however large a number was given
	c.Depth, c.MergeAdjacent = min(c.Depth, quota), min(c.MergeAdjacent, quota)
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
	return nil
}

// window is how many blocks one lane may hold: its quota, but no more than it
// has use for, which is a full depth of its own and as much again of others'.
func (c Config) window() int {
	return min(c.Slots/c.Lanes, 2*c.Depth*c.MergeAdjacent)
}

func (c Config) batches() int { return max(1, c.Depth/c.Group) }

// tableBytes is the arena with its tables: everything that lies off the heap.
func (c Config) tableBytes() int64 {
	n := int64(c.Slots)
	return n*base.BlockSize +
		region[slot](n+1) + region[slotNo](int64(headCount(c.Slots))) +
		policies[c.Policy].tables(n)
}

// laneBytes is what one lane holds on the heap.
func (c Config) laneBytes() int64 {
	reads := int64(c.batches()) * int64(c.Group)
	return int64(unsafe.Sizeof(Lane{})) +
		int64(c.window())*int64(unsafe.Sizeof(entry{})+unsafe.Sizeof(entryNo(0))) +
		reads*int64(unsafe.Sizeof(uring.Read{})) +
		reads*int64(c.MergeAdjacent)*int64(unsafe.Sizeof([]byte{})+unsafe.Sizeof(entryNo(0)))
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

// headCount is how many buckets the table has: a power of two, so that a
// bucket is cut out of a key with a mask, and enough for short chains.
func headCount(slots int) int { return max(minHeads, 1<<bits.Len(uint(slots-1))) }
