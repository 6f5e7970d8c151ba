package engine

import (
	"context"
	"errors"
	"sync/atomic"

	"github.com/aether-ooc/aether-ooc/internal/base"
	"github.com/aether-ooc/aether-ooc/internal/offheap"
	"github.com/aether-ooc/aether-ooc/sampler"
)

// Modes of Stats.Mode.
const (
	ModeCached   = "cached"   // lists are drawn from blocks in the cache
	ModeLoading  = "loading"  // still so, while the whole adjacency is being brought into memory
	ModeResident = "resident" // lists are drawn from the decoded adjacency
)

// resident is the adjacency's way into memory, where the budget has room for it.
// It is loaded by Preload, or else once batches have read a good part of it block
// by block: a graph of which little is asked never pays for a load, and one of
// which much is asked pays at most twice what the better choice would have cost.
// Jobs that load take turns with those of the requests, so nobody waits long.
type resident struct {
	full  atomic.Pointer[sampler.Resident] // nil: not there, or not yet
	gate  chan struct{}                    // holds a token while a load is under way
	tried atomic.Bool                      // to load unasked, which is done once
	free  func() error                     // gives the memory back, after the lanes
	later []func() error                   // the same for what a broken ring may still write to

	adrift atomic.Bool // there is such a ring

	reads, bytes atomic.Int64 // of all loads
}

const (
	// loadWorth: a sequential read of all blocks costs about as much as reading
	// one in so many where they lie.
	loadWorth = 4

	loadBlocks = 8 << 20 / base.BlockSize // of one job: some 10 ms
)

// wantResident adds to the demand what the adjacency takes in each form.
func (e *Engine) wantResident() {
	if s := e.graph.Superblock; e.options.Resident != ResidentOff {
		e.demand.resident = []int64{sampler.Decoded: sampler.Decoded.Bytes(s), sampler.Blocks: sampler.Blocks.Bytes(s)}
		e.demand.adjacency, e.demand.rows = int64(s.Blocks), len(e.tables()) > 0
	}
}

// form is how the budget has the adjacency in memory.
func (e *Engine) form() sampler.Form {
	if e.budget.Form == sampler.Blocks.String() {
		return sampler.Blocks
	}
	return sampler.Decoded
}

// settle lets a lane draw from memory if the adjacency is there, and has it
// brought there if that is worth it by now.
func (e *Engine) settle(l *lane) {
	full := e.resident.full.Load()
	l.sampler.Use(full)
	if full == nil && e.budget.Resident > 0 && !e.resident.tried.Load() && e.worthLoading() && e.resident.tried.CompareAndSwap(false, true) {
		e.running.Go(e.loadUnasked)
	}
}

func (e *Engine) worthLoading() bool {
	files := e.cache.Stats().Files
	at := int(e.files.Adjacency)
	return at < len(files) && loadWorth*uint64(files[at].Misses) >= e.graph.Superblock.Blocks
}

// loadUnasked loads without anyone to tell of an error. A damaged block is the
// error of the batches that need it; all others go on without the load.
func (e *Engine) loadUnasked() {
	err := e.loadResident(context.Background())
	if err != nil && !errors.Is(err, ErrClosed) {
		e.options.Log.Warn("engine: the adjacency could not be brought into memory; batches go on with blocks", "graph", e.path, "error", err)
	}
}

// loadResident brings the adjacency into memory, if it is not there.
func (e *Engine) loadResident(ctx context.Context) error {
	r := &e.resident
	if err := ctx.Err(); err != nil {
		return err
	}
	select {
	case r.gate <- struct{}{}:
		defer func() { <-r.gate }()
	case <-ctx.Done():
		return ctx.Err()
	}
	if r.full.Load() != nil {
		return e.each(ctx, 0, nil) // is the engine open?
	}
	memory, free, err := offheap.Reserve(e.form().Bytes(e.graph.Superblock))
	if err != nil {
		return err
	}
	full := sampler.NewResident(e.graph, e.form(), memory)
	if err := e.fillResident(ctx, full); err != nil {
		return e.giveBack(err, free)
	}
	r.free = free
	r.full.Store(full)
	e.sched.oneByOne()
	return nil
}

// fillResident has the lanes load all blocks.
func (e *Engine) fillResident(ctx context.Context, full *sampler.Resident) error {
	rooms, free, err := e.loadRooms()
	if err != nil {
		return err
	}
	blocks := int64(e.adjacencySection().Blocks)
	err = e.each(ctx, (blocks+loadBlocks-1)/loadBlocks, func(ctx context.Context, l *lane, i int64) error {
		room := <-rooms
		defer func() { rooms <- room }()
		return e.loadPart(ctx, l, full, i*loadBlocks, min(blocks, (i+1)*loadBlocks), room)
	})
	return e.giveBack(err, free)
}

// giveBack gives memory back after err, unless a ring may still read into it.
func (e *Engine) giveBack(err error, free func() error) error {
	if e.resident.adrift.Load() {
		e.resident.later = append(e.resident.later, free)
		return err
	}
	return errors.Join(err, free())
}

// loadRooms are what each lane reads into.
func (e *Engine) loadRooms() (chan []byte, func() error, error) {
	memory, free, err := offheap.Reserve(int64(len(e.lanes)) * sampler.LoadBytes)
	if err != nil {
		return nil, nil, err
	}
	rooms := make(chan []byte, len(e.lanes))
	for i := range e.lanes {
		rooms <- memory[i*sampler.LoadBytes:][:sampler.LoadBytes]
	}
	return rooms, free, nil
}

// loadPart loads the lo-th to the one before the hi-th block of the adjacency.
func (e *Engine) loadPart(ctx context.Context, l *lane, full *sampler.Resident, lo, hi int64, room []byte) error {
	first := e.adjacencySection().First
	reads, bytes, err := full.Load(ctx, l.ring, e.file, first+base.BlockNo(lo), first+base.BlockNo(hi), room)
	e.resident.reads.Add(reads)
	e.resident.bytes.Add(bytes)
	if l.ring.InFlight() > 0 { // it is broken
		e.resident.adrift.Store(true)
	}
	return err
}

// mode is one of the modes.
func (e *Engine) mode() string {
	switch {
	case e.resident.full.Load() != nil:
		return ModeResident
	case len(e.resident.gate) > 0:
		return ModeLoading
	}
	return ModeCached
}

// close gives the memory back, when no lane is left and every load has ended.
func (r *resident) close() error {
	r.gate <- struct{}{}
	defer func() { <-r.gate }()
	var errs []error
	for _, free := range append(r.later, r.free) {
		if free != nil {
			errs = append(errs, free())
		}
	}
	return errors.Join(errs...)
}
