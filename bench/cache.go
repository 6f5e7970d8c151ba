package bench

import (
	"context"
	"fmt"
	"strings"
	"text/tabwriter"

	"github.com/aether-ooc/aether-ooc/blockcache"
	"github.com/aether-ooc/aether-ooc/engine"
	"github.com/aether-ooc/aether-ooc/internal/report"
)

var cacheWorkload = Workload{
	Name: "cache", Target: "GRAPH", Short: "Measure what the cache's policies keep",
	Long: `Make batches and record which blocks they ask for; then replay the record through
every policy, with as many blocks as --memory gave to the cache, and through models:
SIEVE, S3-FIFO, a fixed choice of the blocks asked for most often, and Belady's optimum, which
no policy can beat. Reports hit ratio, time per block, and memory beside the blocks.

A replay of a policy goes through the real cache with one lane, and with reads that
take no time: a policy that decides in the background, as ristretto does, has less
time to decide than it would have.`,
	Example: `  aether-ooc bench cache graph.bin --memory 256MiB --batches 50
  aether-ooc bench cache graph.bin --memory 64MiB --fanouts 20,15,10 --json`,
	prepare: func(s *Settings) (runner, error) {
		c, err := sampleConfig(s)
		if err != nil {
			return nil, err
		}
		return func(ctx context.Context, e env) (Result, error) {
			c.Options.Log = e.Log
			return result(Cache(ctx, c, e.Hooks))
		}, c.Check()
	},
}

// CacheResult is what was measured.
type CacheResult struct {
	Common
	Info         engine.Info    `json:"engine"`
	Request      SampleRequest  `json:"request"`
	RampBatches  int64          `json:"ramp_batches"`
	Batches      int64          `json:"batches"`
	TraceBlocks  int            `json:"trace_blocks"`
	TraceVisits  int            `json:"trace_visits"`
	DistinctSpan int            `json:"trace_span_blocks"` // blocks of the files, as far as they were asked for
	Slots        int            `json:"cache_slots"`
	Policies     []PolicyResult `json:"policies"`
}

// Cache records a run and replays it through every policy. When ctx ends early,
// policies are missing.
func Cache(ctx context.Context, c SampleConfig, h Hooks) (*CacheResult, error) {
	r := &CacheResult{Request: requestOf(c.Request), RampBatches: c.Ramp, Batches: c.Batches, Policies: []PolicyResult{}}
	from := takeUsage()
	t, info, err := Record(ctx, c, h)
	if err != nil && ctx.Err() == nil {
		return nil, err
	}
	r.Info = info
	if t != nil {
		r.TraceBlocks, r.TraceVisits, r.DistinctSpan, r.Slots = len(t.Blocks), len(t.Ends), t.Span, t.Slots
		if err := r.replay(ctx, t, h); err != nil && ctx.Err() == nil {
			return nil, err
		}
	}
	r.took(from, takeUsage())
	r.CutShort = ctx.Err() != nil
	r.Verdict = r.verdict()
	return r, nil
}

// replay gives the trace to every policy, then to every model.
func (r *CacheResult) replay(ctx context.Context, t *Trace, h Hooks) error {
	total := int64(len(blockcache.Policies()) + len(models))
	for _, name := range blockcache.Policies() {
		p, err := replayPolicy(ctx, name, t)
		if err != nil {
			return err
		}
		r.Policies = append(r.Policies, p)
		h.progress("replay", int64(len(r.Policies)), total)
	}
	for _, k := range models {
		if ctx.Err() != nil {
			return ctx.Err()
		}
		r.Policies = append(r.Policies, replayModel(k, t))
		h.progress("replay", int64(len(r.Policies)), total)
	}
	return nil
}

// verdict names the best that is no model, and how near it is to the optimum.
func (r *CacheResult) verdict() string {
	var best, optimum PolicyResult
	for _, p := range r.Policies {
		if !p.Model && p.HitRatio >= best.HitRatio {
			best = p
		}
		if p.Name == "belady" {
			optimum = p
		}
	}
	if optimum.Name == "" {
		return "interrupted: policies are missing"
	}
	return fmt.Sprintf("of the policies %s hits most, %s; the optimum would be %s", best.Name, share(best.HitRatio), share(optimum.HitRatio))
}

// Metrics implements Result.
func (r *CacheResult) Metrics() []Metric {
	all := []Metric{}
	for _, p := range r.Policies {
		all = append(all, Metric{"hit_ratio." + p.Name, p.HitRatio, Higher})
	}
	for _, p := range r.Policies {
		all = append(all, Metric{"ns_per_block." + p.Name, p.NsPerAsk, Lower})
	}
	return append(all, Metric{"trace_blocks", float64(r.TraceBlocks), Neither})
}

// Text is the report for people.
func (r *CacheResult) Text() string {
	var p report.Page
	p.Line("verdict", "%s", r.Verdict)
	p.Line("graph", "%s: %s nodes, %s edges", r.Info.Path, report.Count(int64(r.Info.Nodes)), report.Count(int64(r.Info.Edges)))
	p.Line("request", "fanouts %v, %s seeds a batch, edge ids %s, seed %d", r.Request.Fanouts, report.Count(int64(r.Request.BatchSize)), onOff(r.Request.EdgeIDs), r.Request.Seed)
	p.Line("trace", "%s blocks asked for in %s visits, of %s batches after %s of ramp, %d lanes", report.Count(int64(r.TraceBlocks)), report.Count(int64(r.TraceVisits)), report.Count(r.Batches), report.Count(r.RampBatches), r.Info.Lanes)
	p.Line("cache", "%s blocks, for %s that could be asked for", report.Count(int64(r.Slots)), report.Count(int64(r.DistinctSpan)))
	b := new(strings.Builder)
	b.WriteByte('\n')
	w := tabwriter.NewWriter(b, 0, 0, 2, ' ', tabwriter.AlignRight)
	fmt.Fprintln(w, "policy\thit ratio\tns per block\tmemory beside the blocks\tdeclined\t")
	for _, x := range r.Policies {
		name := x.Name
		if x.Model {
			name += " (model)"
		}
		fmt.Fprintf(w, "%s\t%s\t%.0f\t%s\t%s\t\n", name, share(x.HitRatio), x.NsPerAsk, report.Bytes(x.Bytes), report.Count(x.Rejected))
	}
	w.Flush()
	b.WriteByte('\n')
	p.Text(b.String())
	r.closing(&p)
	return p.String()
}

func (r *CacheResult) charts() []chart {
	c := chart{Title: "Hit ratio", X: "policy", Y: "% of the blocks asked for"}
	var hits []float64
	for _, p := range r.Policies {
		c.Names = append(c.Names, p.Name)
		hits = append(hits, 100*p.HitRatio)
	}
	if hits != nil {
		c.Bars = []bars{{"hits", hits}}
	}
	return []chart{c}
}
