package bench

import (
	"context"
	"errors"
	"fmt"
	"os"
	"runtime"
	"sort"
	"sync"
	"sync/atomic"
	"time"

	"github.com/HdrHistogram/hdrhistogram-go"

	"github.com/aether-ooc/aether-ooc/blockcache"
	"github.com/aether-ooc/aether-ooc/engine"
	"github.com/aether-ooc/aether-ooc/features"
	"github.com/aether-ooc/aether-ooc/internal/base"
	"github.com/aether-ooc/aether-ooc/internal/npy"
	"github.com/aether-ooc/aether-ooc/internal/report"
	"github.com/aether-ooc/aether-ooc/layout"
	"github.com/aether-ooc/aether-ooc/uring"
)

// FeaturesConfig says which rows of an array to gather, and how.
type FeaturesConfig struct {
	Path    string         // of a .npy with a row for each node
	Layout  *LayoutConfig  // how to make the file if it is not there; nil: do not
	Options engine.Options // Memory, Lanes, Depth, Merge, Backend, Policy, Buffered; of the cache alone here
	IDs     IDs            // which rows
	Rows    int            // of one gather, without IDs of batches
	Batches int64          // gathers to measure
	Ramp    int64          // gathers before
	Runtime time.Duration  // no more is measured after so long; 0: until all are made
}

// runFeatures gathers rows and measures it. When ctx ends early the result holds
// what was measured until then.
func runFeatures(ctx context.Context, c FeaturesConfig, e env) (res *FeaturesResult, err error) {
	if err := c.Layout.make(c.Path, e); err != nil {
		return nil, err
	}
	pages := pageCacheOf(c.Path)
	source, err := openRows(c)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, source.Close()) }()
	ids, err := c.IDs.open(ctx, c, source.Rows(), e)
	if err != nil {
		return nil, err
	}
	run := &featuresRun{config: c, env: e, source: source, ids: ids}
	if err := run.openCache(); err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, run.cache.Close()) }()
	if err := run.phases(ctx); err != nil && ctx.Err() == nil {
		return nil, err
	}
	res = run.result(ctx.Err() != nil)
	res.PageCacheBytes = pages
	return res, nil
}

// openRows opens the array for as many nodes as it has rows.
func openRows(c FeaturesConfig) (*features.Source, error) {
	f, err := os.Open(c.Path)
	if err != nil {
		return nil, fmt.Errorf("bench: %w; with --rows it would be made", err)
	}
	h, err := npy.ReadHeader(f)
	f.Close()
	if err != nil {
		return nil, fmt.Errorf("bench: %s: %w", c.Path, err)
	}
	if len(h.Shape) == 0 || h.Shape[0] < 1 {
		return nil, fmt.Errorf("bench: %s has no rows", c.Path)
	}
	return features.Open(c.Path, features.Options{Role: layout.Features, Nodes: uint64(h.Shape[0]), Mode: modeOf(c.Options)})
}

func modeOf(o engine.Options) uring.Mode {
	if o.Buffered {
		return uring.Buffered
	}
	return uring.Direct
}

// directly: a file opened in that mode is read past the page cache.
func directly(path string, m uring.Mode) bool {
	f, err := uring.OpenFile(path, m)
	if err != nil {
		return false
	}
	defer f.Close()
	return f.Direct()
}

// featuresRun is one run under way: lanes that gather until a common count is
// reached.
type featuresRun struct {
	config FeaturesConfig
	env    env
	source *features.Source
	ids    rowLists
	cache  *blockcache.Cache
	slots  int

	turn     atomic.Int64 // gathers that were begun
	until    int64        // gathers to begin, in all, in this phase
	deadline time.Time    // zero: none
	rows     atomic.Int64
	from, to featuresSnapshot
	series   []Point
	lanes    []*featuresLane
}

// featuresSnapshot is all counters at one moment when the lanes rest.
type featuresSnapshot struct {
	usage
	cache blockcache.Stats
	ring  uring.Stats
	rows  int64
}

// featuresLane is one thread with its ring.
type featuresLane struct {
	ring uring.Ring
	lane *blockcache.Lane
	lat  *hdrhistogram.Histogram
	work chan context.Context // a phase to take part in; closed at the end
	done chan error
	dst  []byte
}

// openCache makes a cache as large as the budget and the file allow.
func (r *featuresRun) openCache() error {
	o := r.config.Options
	c := blockcache.Config{Lanes: o.Lanes, Policy: o.Policy, Depth: o.Depth, Merge: o.Merge,
		Blocks: sizeOf(r.config.Path)/base.BlockSize + 1}
	most := sizeOf(r.config.Path)/base.BlockSize + int64(4*o.Lanes) + 1 // no more than there is
	c.Slots = sort.Search(int(most)+1, func(n int) bool {
		c.Slots = n
		return n > o.Lanes && blockcache.Footprint(c) > o.Memory
	}) - 1
	r.slots = c.Slots
	if need := blockcache.Footprint(c); need > o.Memory {
		return fmt.Errorf("bench: a cache for %d lanes needs %s at least, and %s is its budget: raise memory", o.Lanes, report.Bytes(need), report.Bytes(o.Memory))
	}
	var err error
	if r.cache, err = blockcache.New(c); err != nil {
		return err
	}
	r.source.AddTo(r.cache)
	return nil
}

// phases are the ramp and the measured part; between them the lanes rest.
func (r *featuresRun) phases(ctx context.Context) (err error) {
	defer func() { err = errors.Join(err, r.stop()) }()
	if err := r.start(); err != nil {
		return err
	}
	err = r.phase(ctx, r.config.Ramp)
	for _, l := range r.lanes {
		l.lat.Reset()
	}
	r.from = r.take()
	m := watch(r.env, "rows", 0, r.rows.Load)
	if err == nil {
		if r.config.Runtime > 0 {
			r.deadline = time.Now().Add(r.config.Runtime)
		}
		err = r.phase(ctx, r.config.Ramp+r.config.Batches)
	}
	r.to, r.series = r.take(), m.stop()
	return err
}

func (r *featuresRun) take() featuresSnapshot {
	s := featuresSnapshot{usage: takeUsage(), cache: r.cache.Stats(), rows: r.rows.Load()}
	for _, l := range r.lanes {
		s.ring = s.ring.Add(l.ring.Stats())
	}
	return s
}

// start opens a ring for each lane, on a thread of its own.
func (r *featuresRun) start() error {
	opened := make(chan error)
	for range r.config.Options.Lanes {
		l := &featuresLane{lat: newHistogram(), work: make(chan context.Context), done: make(chan error)}
		go r.serve(l, opened)
		if err := <-opened; err != nil {
			return err
		}
		r.lanes = append(r.lanes, l)
	}
	return nil
}

// stop ends the lanes.
func (r *featuresRun) stop() error {
	var errs []error
	for _, l := range r.lanes {
		close(l.work)
		errs = append(errs, <-l.done)
	}
	return errors.Join(errs...)
}

// serve is a lane's life.
func (r *featuresRun) serve(l *featuresLane, opened chan<- error) {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	o := r.config.Options
	var err error
	l.ring, err = uring.Open(uring.Config{Backend: o.Backend, Depth: o.Depth, Arena: r.cache.Arena(), Log: o.Log})
	if err != nil {
		opened <- err
		return
	}
	l.lane = r.cache.NewLane(l.ring)
	opened <- nil
	for ctx := range l.work {
		l.done <- r.gathers(ctx, l)
	}
	l.done <- l.ring.Close()
}

// phase lets the lanes gather until n gathers were begun in all.
func (r *featuresRun) phase(ctx context.Context, n int64) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	r.until = n
	var wg sync.WaitGroup
	errs := make([]error, len(r.lanes))
	for i, l := range r.lanes {
		stop := context.AfterFunc(ctx, l.lane.Wake)
		defer stop()
		wg.Go(func() {
			l.work <- ctx
			if errs[i] = <-l.done; errs[i] != nil {
				cancel()
			}
		})
	}
	wg.Wait()
	return errors.Join(errs...)
}

// next is the number of the gather that a lane begins, and whether it is one.
func (r *featuresRun) next() (int64, bool) {
	if !r.deadline.IsZero() && time.Now().After(r.deadline) {
		return 0, false
	}
	n := r.turn.Add(1) - 1
	if n >= r.until {
		r.turn.Add(-1)
		return 0, false
	}
	return n, true
}

// gathers is a lane's part of a phase.
func (r *featuresRun) gathers(ctx context.Context, l *featuresLane) error {
	for {
		n, ok := r.next()
		if !ok || ctx.Err() != nil {
			return ctx.Err()
		}
		rows := r.ids.list(n)
		if need := len(rows) * int(r.source.RowBytes()); cap(l.dst) < need {
			l.dst = make([]byte, need)
		}
		begun := time.Now()
		if err := r.source.Gather(ctx, l.lane, rows, l.dst[:len(rows)*int(r.source.RowBytes())]); err != nil {
			return err
		}
		record(l.lat, time.Since(begun))
		r.rows.Add(int64(len(rows)))
	}
}
