package engine

import (
	"sort"

	"github.com/aether-ooc/aether-ooc/sampler"
)

// Budget is how Options.Memory is divided, in bytes.
type Budget struct {
	Memory   int64  `json:"memory_bytes"`   // the whole
	Index    int64  `json:"index_bytes"`    // the graph's block index and the checksums of the files beside it
	Lanes    int64  `json:"lanes_bytes"`    // rings and scratch
	Resident int64  `json:"resident_bytes"` // the whole adjacency, with the room for loading it; 0: blocks are cached as they are asked for
	Form     string `json:"resident_form"`  // "decoded" or "blocks", as sampler.Form; "": none
	Cache    int64  `json:"cache_bytes"`    // the arena, its tables, the policy's own heap
	Mapped   int64  `json:"mapped_bytes"`   // of Cache and Resident: what lies outside the Go heap
	Batches  int64  `json:"batches_bytes"`  // batches being made, waiting, and kept for reuse
	Slots    int    `json:"cache_slots"`    // blocks that the cache holds
}

const (
	minSlotsPerLane = 64        // a window that still keeps a ring busy
	batchesPerLane  = 128 << 20 // what a lane's batches may take without asking whether the cache needs it more
	leastBatches    = 32 << 20  // what has room for a lane's batches of some 100,000 edges, with what waits
	maxMemory       = 1 << 52
)

// demand is what a graph and the options ask of a budget before it is divided.
type demand struct {
	index     int64                 // bytes, whatever the budget
	perLane   int64                 // bytes
	lanes     int                   //
	blocks    int64                 // in all files: more slots are of no use
	resident  []int64               // bytes of the whole adjacency, by sampler.Form; none: it shall not be had
	adjacency int64                 // blocks of all files that the cache is then spared
	rows      bool                  // there are features or attributes
	footprint func(slots int) int64 // bytes of a cache
}

// divide splits a budget: index and lanes take what they need, batches three eighths
// of the rest, up to a bound; the cache has what remains, and gives back to the
// batches what it has no blocks for. The whole adjacency comes before both, decoded
// or as blocks, if besides there is room for the least cache and for batches: their
// share as it would be without, or, when they are small because there are no rows,
// a lesser one. Reports false when the budget is too little for the lanes to work.
func (d demand) divide(memory int64) (Budget, bool) {
	b := Budget{Memory: memory, Index: d.index, Lanes: int64(d.lanes) * d.perLane}
	rest := memory - b.Index - b.Lanes
	b.Batches = max(0, min(3*rest/8, max(int64(d.lanes)*batchesPerLane, rest/16)))
	for form, bytes := range d.resident {
		if r, ok := d.giveCache(d.withResident(b, sampler.Form(form), bytes), d.blocks-d.adjacency); ok {
			return r, true
		}
	}
	return d.giveCache(b, d.blocks)
}

func (d demand) withResident(b Budget, f sampler.Form, bytes int64) Budget {
	b.Resident, b.Form = bytes+int64(d.lanes)*sampler.LoadBytes, f.String()
	if !d.rows {
		b.Batches = min(b.Batches, int64(d.lanes)*leastBatches)
	}
	return b
}

// giveCache gives the cache what the others leave of the budget, up to so many
// blocks.
func (d demand) giveCache(b Budget, blocks int64) (Budget, bool) {
	rest := b.Memory - b.Index - b.Lanes - b.Resident
	least := d.lanes * minSlotsPerLane
	most := max(least, int(min(blocks, rest/(1<<12))))
	b.Slots = sort.Search(most, func(n int) bool { return d.footprint(n+1) > rest-b.Batches })
	if b.Slots < least {
		return b, false
	}
	b.Cache = d.footprint(b.Slots)
	if b.Slots == most { // every block has its slot: the rest is the batches'
		b.Batches = rest - b.Cache
	}
	return b, true
}

// least is the smallest budget whose division is good.
func (d demand) least(good func(Budget) bool) int64 {
	return int64(sort.Search(maxMemory, func(memory int) bool {
		b, ok := d.divide(int64(memory))
		return ok && good(b)
	}))
}
