package bench

import "context"

var sampleWorkload = Workload{
	Name: "sample", Target: "GRAPH", Short: "Measure sampling of mini-batches",
	Long: `Make mini-batches in this process and report batches and sampled edges a second,
blocks and reads per edge, hit ratio, IOPS and peak memory, and what bounds them:
right after, the device is asked for --calibrate what it gives to such reads.

The seeds are shuffled unless --in-order is given. With --ramp 0 the clock starts
with an empty cache ("cold"), after a ramp in a "steady" state, with --preload with
the adjacency in the cache as far as it fits; the report says which.`,
	Example: `  aether-ooc bench sample graph.bin --fanouts 25,10 --memory 256MiB
  aether-ooc bench sample graph.bin --ramp 0 --batches 50 --merge 1 --edge-ids=false   # cold, unmerged
  aether-ooc bench sample graph.bin --preload --memory 4GiB --edge-ids=false --json`,
	prepare: func(s *Settings) (runner, error) {
		c, err := sampleConfig(s)
		if err != nil {
			return nil, err
		}
		return func(ctx context.Context, e env) (Result, error) {
			c.Options.Log = e.Log
			return result(runSample(ctx, c, e))
		}, c.Check()
	},
}

func sampleConfig(s *Settings) (SampleConfig, error) {
	request, accept, err := engineRequest(s)
	if err != nil {
		return SampleConfig{}, err
	}
	options, err := engineOptions(s)
	return SampleConfig{
		Graph: s.text("target"), Options: options, Request: request, Accept: accept, Batches: s.int64("batches"), Ramp: s.int64("ramp"),
		Runtime: s.duration("runtime"), Preload: s.on("preload"), Calibrate: s.duration("calibrate"),
	}, err
}
