package bench

import (
	"context"

	"github.com/aether-ooc/aether-ooc/blockcache"
	"github.com/aether-ooc/aether-ooc/engine"
	"github.com/aether-ooc/aether-ooc/internal/host"
	"github.com/aether-ooc/aether-ooc/uring"
)

var featuresWorkload = Workload{
	Name: "features", Target: "FILE", Short: "Measure gathering of feature rows",
	Long: `Gather rows of a .npy array, as batches do, through a cache of its own, and report
rows and bytes a second, latency of a gather, hit ratio and read amplification.

Which rows: uniform, zipf (few are wanted often), or the nodes of a graph's real
batches. Where FILE does not exist and --rows is given, it is made first, of --dim
values of --dtype a row.`,
	Example: `  aether-ooc bench features x.npy --ids zipf --memory 256MiB
  aether-ooc bench features /data/x.npy --rows 1000000 --dim 128 --dtype float32 --memory 64MiB
  aether-ooc bench features x.npy --ids batches --graph graph.bin --fanouts 25,10`,
	prepare: func(s *Settings) (runner, error) {
		c, err := featuresConfig(s)
		if err != nil {
			return nil, err
		}
		return func(ctx context.Context, e env) (Result, error) {
			c.Options.Log = e.Log
			return result(runFeatures(ctx, c, e))
		}, c.IDs.Check()
	},
}

func featuresConfig(s *Settings) (FeaturesConfig, error) {
	c := FeaturesConfig{
		Path: s.text("target"), Options: featuresOptions(s), Rows: s.int("gather"), Batches: s.int64("batches"), Ramp: s.int64("ramp"), Runtime: s.duration("runtime"),
		IDs: IDs{Kind: s.text("ids"), Zipf: value[float64](s, "zipf"), Seed: s.uint64("randseed"), Graph: s.text("graph"), Request: engine.Request{
			Fanouts: value[[]int](s, "fanouts"), BatchSize: s.int("batch-size"), Seed: s.uint64("randseed"), Shuffle: true,
		}},
	}
	if rows := s.int64("rows"); rows > 0 {
		c.Layout = &LayoutConfig{Rows: rows, Dim: s.int64("dim"), DType: s.text("dtype"), Seed: s.uint64("randseed")}
	}
	if c.Options.Memory > 0 {
		return c, nil
	}
	limit, err := host.MemoryLimit()
	c.Options.Memory = limit / 4
	return c, err
}

// featuresOptions are an engine's options with the defaults filled in, since the
// cache is used without an engine here.
func featuresOptions(s *Settings) engine.Options {
	o := cacheOptions(s)
	o.Memory = s.int64("memory")
	if o.Lanes == 0 {
		o.Lanes = host.CPUs()
	}
	if o.Depth == 0 {
		o.Depth = uring.DefaultDepth
	}
	if o.Policy == "" {
		o.Policy = blockcache.DefaultPolicy
	}
	return o
}
