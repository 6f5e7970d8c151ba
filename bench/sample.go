package bench

import (
	"context"
	"errors"
	"sync/atomic"
	"time"

	"github.com/HdrHistogram/hdrhistogram-go"

	"github.com/aether-ooc/aether-ooc/engine"
)

// SampleConfig says what to sample, and how.
type SampleConfig struct {
	Graph     string
	Options   engine.Options
	Request   engine.Request // First, Count, Rank and WorldSize are the benchmark's own
	Batches   int64          // measured; epochs follow one another until there are enough
	Runtime   time.Duration  // no more is measured after so long; 0: until all batches are made
	Ramp      int64          // batches made, but not measured, before
	Preload   bool           // bring the adjacency into the cache first, as far as it fits
	Calibrate time.Duration  // afterwards, ask the device so long what it can do; 0: do not

	// Accept, when set, is asked about the graph before the first batch; its
	// error ends the run.
	Accept func(engine.Info) error
}

// Check says what is wrong with the configuration, the request aside.
func (c SampleConfig) Check() error {
	if c.Batches < 1 || c.Ramp < 0 {
		return optionf("bench: %d batches, ramp %d: at least one batch must be measured, and the ramp cannot be negative", c.Batches, c.Ramp)
	}
	return nil
}

// runSample opens the graph, makes batches and measures the making. When ctx ends
// early the result holds what was measured until then.
func runSample(ctx context.Context, c SampleConfig, e env) (res *SampleResult, err error) {
	if err := c.Check(); err != nil {
		return nil, err
	}
	pages := pageCacheOf(c.Graph)
	eng, err := engine.Open(c.Graph, c.Options)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, eng.Close()) }()
	e.opened(eng.Info())
	if c.Accept != nil {
		if err := c.Accept(eng.Info()); err != nil {
			return nil, err
		}
	}
	if c.Preload {
		if err := eng.Preload(ctx); err != nil {
			return nil, err
		}
	}
	run := &sampleRun{config: c, engine: eng, env: e, lat: newHistogram()}
	if err := run.batches(ctx); err != nil && ctx.Err() == nil {
		return nil, err
	}
	res = run.result(ctx.Err() != nil)
	res.PageCacheBytes = pages
	res.Device = calibrate(ctx, c, res)
	res.Verdict = res.verdict()
	return res, nil
}

// snapshot is all counters at one moment.
type snapshot struct {
	usage
	stats engine.Stats
}

func take(e *engine.Engine) *snapshot { return &snapshot{takeUsage(), e.Stats()} }

// sampleRun is one run under way.
type sampleRun struct {
	config   SampleConfig
	engine   *engine.Engine
	env      env
	request  engine.Request // of what comes next
	made     int64
	edges    atomic.Int64 // of the measured batches
	lat      *hdrhistogram.Histogram
	hops     []Hop
	from, to *snapshot
	meter    *meter
	series   []Point
}

// begin takes the opening snapshot.
func (r *sampleRun) begin() {
	r.from = take(r.engine)
	r.meter = watch(r.env, "edges", 0, r.edges.Load)
}

// end takes the closing one.
func (r *sampleRun) end() {
	if r.from == nil {
		r.begin()
	}
	r.to, r.series = take(r.engine), r.meter.stop()
}

// batches makes the ramp, then the measured batches. Between the two the lanes
// come to rest, so that the snapshot counts whole batches.
func (r *sampleRun) batches(ctx context.Context) error {
	defer r.end()
	r.request = r.config.Request
	if err := r.part(ctx, r.config.Ramp); err != nil {
		return err
	}
	r.begin()
	return r.part(ctx, r.config.Ramp+r.config.Batches)
}

// part makes batches until there are n in all, epoch after epoch.
func (r *sampleRun) part(ctx context.Context, n int64) error {
	for empty := 0; r.made < n && !r.late(); {
		r.request.Count = n - r.made
		before := r.made
		if err := r.epoch(ctx); err != nil {
			return err
		}
		if r.made == n {
			return nil
		}
		if r.made > before {
			empty = 0
		} else if empty++; empty == 2 { // the first may have been the end of an epoch
			return errors.New("bench: an epoch without a batch: the graph or the input nodes are empty, or fewer than a batch with the last one dropped")
		}
		r.request.Epoch, r.request.First = r.request.Epoch+1, 0
	}
	return nil
}

// late: the time for measuring is over.
func (r *sampleRun) late() bool {
	return r.config.Runtime > 0 && r.from != nil && time.Since(r.from.at) >= r.config.Runtime
}

// epoch makes what is wanted of what is left of an epoch.
func (r *sampleRun) epoch(ctx context.Context) error {
	asked := time.Now()
	for batch, err := range r.engine.Batches(ctx, r.request) {
		if err != nil {
			return err
		}
		now := time.Now()
		if r.from != nil {
			record(r.lat, now.Sub(asked))
			r.countHops(batch)
			r.edges.Add(int64(len(batch.Row)))
		}
		asked = now
		batch.Release()
		r.made++
		r.request.First++
		r.env.progress("sampling", r.made, r.config.Ramp+r.config.Batches)
		if r.late() {
			return nil
		}
	}
	return nil
}

// countHops adds up what each hop of a batch brought.
func (r *sampleRun) countHops(b *engine.Batch) {
	if r.hops == nil {
		r.hops = make([]Hop, len(b.SampledEdges))
	}
	for i := range r.hops {
		r.hops[i].Edges += b.SampledEdges[i]
		r.hops[i].Nodes += b.SampledNodes[i+1]
	}
}

// state says what the cache held when the clock started.
func (r *sampleRun) state() string {
	switch {
	case r.config.Preload:
		return "preloaded"
	case r.config.Ramp > 0:
		return "steady"
	default:
		return "cold"
	}
}

// calibrate reads the graph at random as the run has, in depth, lanes and mean
// size of a read, so that there is something to compare with. It gives nil where
// that would say nothing: where the run read hardly, or through the page cache.
func calibrate(ctx context.Context, c SampleConfig, r *SampleResult) *DeviceResult {
	mean := int64(ratio(float64(r.ReadBytes), float64(r.Reads)))
	if c.Calibrate <= 0 || mean == 0 || !r.Info.Direct || ctx.Err() != nil {
		return nil
	}
	d, err := runDevice(ctx, DeviceConfig{
		Path: c.Graph, BlockBytes: pageUp(mean), Depth: r.Info.Depth, Lanes: r.Info.Lanes, Backend: r.Info.Backend,
		Ramp: c.Calibrate / 5, Runtime: c.Calibrate, Seed: c.Request.Seed, Log: c.Options.Log,
	}, env{})
	if err != nil || d.Reads == 0 {
		return nil // a file shorter than one such read, or an interrupt
	}
	return d
}
