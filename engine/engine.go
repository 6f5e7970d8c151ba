package engine

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"iter"
	"slices"
	"sync"

	"github.com/zeebo/xxh3"

	"github.com/aether-ooc/aether-ooc/blockcache"
	"github.com/aether-ooc/aether-ooc/layout"
	"github.com/aether-ooc/aether-ooc/sampler"
	"github.com/aether-ooc/aether-ooc/uring"
)

// Engine is one open graph. See the package comment for who may call what.
type Engine struct {
	path    string
	options Options

	file     *uring.File
	graph    *layout.Graph
	features *table   // nil: none
	attrs    []*table // by name
	original *table   // nil: ids are the input's

	demand demand
	budget Budget
	cache  *blockcache.Cache
	files  sampler.Files

	resident resident

	sched   *scheduler
	lanes   []*lane
	running sync.WaitGroup // the lanes
	closing sync.Once
	closed  error
}

// query is a checked request: all that a lane needs to make its batches.
type query struct {
	*plan
	spec     sampler.Spec
	request  Request
	tables   []*table // of X, of each attribute, of Original
	explicit bool     // from Sample: the batch's number in the key is hash
	hash     uint64
}

// Batches gives the request's batches in order. The request is checked before
// the first read; what is wrong with it is the only thing that the iterator then
// gives. An error ends the iteration. The iterator may be used again, and starts
// from the first batch then.
func (e *Engine) Batches(ctx context.Context, r Request) iter.Seq2[*Batch, error] {
	return func(yield func(*Batch, error) bool) {
		q, err := e.query(r)
		if err != nil {
			yield(nil, err)
			return
		}
		st, err := e.sched.open(ctx, q.count, e.estimate(q), e.maker(q))
		if err != nil {
			yield(nil, err)
			return
		}
		defer e.sched.drop(st)
		for range q.count {
			b, err := e.sched.pull(st)
			if !yield(b, err) || err != nil {
				return
			}
		}
	}
}

// Sample makes one batch of the seeds, for callers that know nothing of epochs.
// Of the request it takes Fanouts, Replace, EdgeIDs, Features, Attrs, OriginalIDs,
// Seed, Epoch and InputIDs (nil: positions). The batch's number, which the key of its draws
// needs, is the XXH3-64 hash of the seeds as 8-byte little-endian words with
// Request.Seed as the hash's seed: the same seeds give the same batch.
func (e *Engine) Sample(ctx context.Context, seeds []NodeID, r Request) (*Batch, error) {
	if len(seeds) > MaxBatchSize {
		return nil, bad("Nodes", fmt.Sprintf("of length %d", len(seeds)), "Sample takes at most %d seeds; use Batches", MaxBatchSize)
	}
	r.Nodes = seeds
	if seeds == nil {
		r.Nodes = []NodeID{}
	}
	r.BatchSize = max(1, len(seeds))
	r.Shuffle, r.DropLast, r.Rank, r.WorldSize, r.First, r.Count = false, false, 0, 1, 0, 0
	q, err := e.query(r)
	if err != nil {
		return nil, err
	}
	q.explicit, q.hash = true, seedHash(r.Seed, seeds)
	st, err := e.sched.open(ctx, 1, e.estimate(q), e.maker(q))
	if err != nil {
		return nil, err
	}
	defer e.sched.drop(st)
	return e.sched.pull(st)
}

func seedHash(seed uint64, nodes []NodeID) uint64 {
	h := xxh3.NewSeed(seed)
	var buf [4096]byte
	for part := range slices.Chunk(nodes, len(buf)/8) {
		for i, v := range part {
			binary.LittleEndian.PutUint64(buf[8*i:], uint64(v))
		}
		h.Write(buf[:8*len(part)])
	}
	return h.Sum64()
}

// NumBatches is how many batches the request gives. It reads nothing.
func (e *Engine) NumBatches(r Request) (int64, error) {
	q, err := e.query(r)
	if err != nil {
		return 0, err
	}
	return q.count, nil
}

// Preload brings the graph's adjacency into memory, so that what follows finds it
// there: all of it, decoded, if the budget has room for that (Budget.Resident),
// else into the cache, from its start and as far as it fits.
func (e *Engine) Preload(ctx context.Context) error {
	load := e.fillCache
	if e.budget.Resident > 0 {
		load = e.loadResident
	}
	if err := load(ctx); err != nil {
		return fmt.Errorf("engine: preloading: %w", err)
	}
	return nil
}

// fillCache reads as many of the adjacency's blocks as have slots.
func (e *Engine) fillCache(ctx context.Context) error {
	s := e.adjacencySection()
	const piece = 1024
	blocks := min(int64(s.Blocks), int64(e.budget.Slots))
	jobs := (blocks + piece - 1) / piece
	return e.each(ctx, jobs, func(ctx context.Context, l *lane, i int64) error {
		return l.preload(ctx, e.files.Adjacency, s.First, i*piece, min(blocks, (i+1)*piece))
	})
}

// each has the lanes do n jobs that make no batches.
func (e *Engine) each(ctx context.Context, n int64, do func(ctx context.Context, l *lane, i int64) error) error {
	st, err := e.sched.open(ctx, n, 0, work{make: func(ctx context.Context, l *lane, j job) error { return do(ctx, l, j.i) }})
	if err != nil {
		return err
	}
	defer e.sched.drop(st)
	for range n {
		b, err := e.sched.pull(st)
		if err != nil {
			return err
		}
		e.sched.recycle(b)
	}
	return nil
}

func (e *Engine) adjacencySection() layout.Section {
	s, _ := e.graph.Table.Find(layout.KindAdjacency, 0, 0)
	return s
}

// Close refuses new requests, ends the running ones with ErrClosed, waits for
// the lanes and gives everything back. Batches that were given out stay valid. It
// need not wait for consumers, so it may be called from within their loops.
func (e *Engine) Close() error {
	e.closing.Do(func() { e.closed = e.shut() })
	return e.closed
}

// shut closes as much as Open has opened.
func (e *Engine) shut() error {
	if e.sched != nil {
		e.sched.close()
	}
	e.running.Wait()
	var errs []error
	if e.resident.gate != nil {
		errs = append(errs, e.resident.close())
	}
	if e.cache != nil {
		errs = append(errs, e.cache.Close())
	}
	for _, t := range e.tables() {
		errs = append(errs, t.Close())
	}
	if e.file != nil {
		errs = append(errs, e.file.Close())
	}
	if err := errors.Join(errs...); err != nil {
		return fmt.Errorf("engine: closing %s: %w", e.path, err)
	}
	return nil
}
