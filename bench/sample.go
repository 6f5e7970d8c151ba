package bench

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"syscall"
	"time"

	"github.com/aether-ooc/aether-ooc/engine"
	"github.com/aether-ooc/aether-ooc/internal/host"
)

// SampleConfig says what to sample, and how.
type SampleConfig struct {
	Graph   string
	Options engine.Options
	Request engine.Request // First, Count, Rank and WorldSize are the benchmark's own
	Batches int64          // measured; epochs follow one another until there are enough
	Ramp    int64          // made, but not measured, before them
	Preload bool           // bring the adjacency into the cache first, as far as it fits

	// Opened, when set, is told what was opened, before the first batch; its
	// error ends the run.
	Opened func(engine.Info) error

	// Progress hears how many of all batches are made.
	Progress func(phase string, done, total int64)
}

// Check says what is wrong with the configuration, the request aside.
func (c SampleConfig) Check() error {
	if c.Batches < 1 || c.Ramp < 0 {
		return fmt.Errorf("bench: %d batches, ramp %d: at least one batch must be measured, and the ramp cannot be negative", c.Batches, c.Ramp)
	}
	return nil
}

// Sample opens the graph, makes batches and measures the making. When ctx ends
// early the result holds what was measured until then.
func Sample(ctx context.Context, c SampleConfig) (res *SampleResult, err error) {
	if err := c.Check(); err != nil {
		return nil, err
	}
	if c.Progress == nil {
		c.Progress = func(string, int64, int64) {}
	}
	e, err := engine.Open(c.Graph, c.Options)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, e.Close()) }()
	if c.Opened != nil {
		if err := c.Opened(e.Info()); err != nil {
			return nil, err
		}
	}
	if c.Preload {
		if err := e.Preload(ctx); err != nil {
			return nil, err
		}
	}
	run := &sampleRun{config: c, engine: e}
	if err := run.batches(ctx); err != nil && ctx.Err() == nil {
		return nil, err
	}
	return run.result(ctx.Err() != nil), nil
}

// snapshot is all counters at one moment.
type snapshot struct {
	at    time.Time
	stats engine.Stats
	cpu   time.Duration
	mem   runtime.MemStats
}

func take(e *engine.Engine) *snapshot {
	s := &snapshot{at: time.Now(), stats: e.Stats(), cpu: cpuTime(syscall.RUSAGE_SELF)}
	runtime.ReadMemStats(&s.mem)
	return s
}

// sampleRun is one run under way.
type sampleRun struct {
	config   SampleConfig
	engine   *engine.Engine
	made     int64
	from, to *snapshot
}

// batches makes the ramp, then the measured batches, epoch after epoch.
func (r *sampleRun) batches(ctx context.Context) error {
	if r.config.Ramp == 0 {
		r.from = take(r.engine)
	}
	total := r.config.Ramp + r.config.Batches
	for request := r.config.Request; r.made < total; request.Epoch++ {
		request.Count = total - r.made
		before := r.made
		if err := r.epoch(ctx, request, total); err != nil {
			return err
		}
		if r.made == before {
			return errors.New("bench: an epoch without a batch: the graph or the input nodes are empty, or fewer than a batch with the last one dropped")
		}
	}
	r.to = take(r.engine)
	return nil
}

func (r *sampleRun) epoch(ctx context.Context, request engine.Request, total int64) error {
	for batch, err := range r.engine.Batches(ctx, request) {
		if err != nil {
			return err
		}
		batch.Release()
		r.made++
		r.config.Progress("sampling", r.made, total)
		if r.made == r.config.Ramp {
			r.from = take(r.engine)
		}
	}
	return nil
}

// result is the difference of the snapshots.
func (r *sampleRun) result(cut bool) *SampleResult {
	if r.to == nil {
		r.to = take(r.engine)
	}
	if r.from == nil {
		r.from = r.to
	}
	a, b := r.from, r.to
	info := r.engine.Info()
	seconds := b.at.Sub(a.at).Seconds()
	edges := float64(b.stats.SampledEdges - a.stats.SampledEdges)
	asked := b.stats.Total.Asked - a.stats.Total.Asked
	misses := b.stats.Total.Misses - a.stats.Total.Misses
	reads := float64(b.stats.Total.Reads - a.stats.Total.Reads)
	ring := b.stats.Ring.Since(a.stats.Ring)
	res := &SampleResult{
		Info: info, State: r.state(), RampBatches: r.config.Ramp, Request: requestOf(r.config.Request), CutShort: cut,
		Seconds:           seconds,
		Batches:           b.stats.Batches - a.stats.Batches,
		SampledEdges:      int64(edges),
		SampledNodes:      b.stats.SampledNodes - a.stats.SampledNodes,
		Blocks:            asked,
		Reads:             int64(reads),
		ReadBytes:         b.stats.Total.ReadBytes - a.stats.Total.ReadBytes,
		UsedBytes:         b.stats.UsedBytes - a.stats.UsedBytes,
		EdgesPerSecond:    ratio(edges, seconds),
		BlocksPerEdge:     ratio(float64(asked), edges),
		ReadsPerEdge:      ratio(reads, edges),
		HitRatio:          ratio(float64(asked-misses), float64(asked)),
		ReadIOPS:          ratio(reads, seconds),
		AchievedDepth:     ring.MeanDepth() * float64(info.Lanes),
		ReadsPerSyscall:   ring.ReadsPerSyscall(),
		Syscalls:          ring.Syscalls,
		CPUSeconds:        (b.cpu - a.cpu).Seconds(),
		AllocsPerBatch:    ratio(float64(b.mem.Mallocs-a.mem.Mallocs), float64(b.stats.Batches-a.stats.Batches)),
		GCCPUShare:        b.mem.GCCPUFraction,
		BudgetBytes:       info.Budget.Memory,
		PeakRSSBytes:      peakRSS(),
		LargestBatchBytes: b.stats.LargestMem,
	}
	res.BatchesPerSecond = ratio(float64(res.Batches), seconds)
	res.ReadAmplification = ratio(float64(res.ReadBytes), float64(res.UsedBytes))
	if peak, err := host.CgroupPeak(); err == nil {
		res.CgroupPeakBytes = peak
	}
	return res
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
