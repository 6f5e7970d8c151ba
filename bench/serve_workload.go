package bench

import "context"

var serveWorkload = Workload{
	Name: "serve", Target: "GRAPH", Short: "Measure serving of mini-batches to clients",
	Long: `Serve a graph over a unix socket and take batches from it with --clients clients,
each a rank of its own, as fast as they come. Reports batches and bytes a second and
how long a client waits for a batch. Server and clients run in this process, and
share its CPUs and memory.`,
	Example: `  aether-ooc bench serve graph.bin --clients 2 --memory 256MiB
  aether-ooc bench serve graph.bin --with-features --batches 200 --json`,
	prepare: func(s *Settings) (runner, error) {
		request, accept, err := engineRequest(s)
		if err != nil {
			return nil, err
		}
		options, err := engineOptions(s)
		c := ServeConfig{
			Graph: s.text("target"), Options: options, Request: request, Accept: accept, Clients: s.int("clients"),
			Batches: s.int64("batches"), Ramp: s.int64("ramp"), Runtime: s.duration("runtime"),
		}
		return func(ctx context.Context, e env) (Result, error) {
			c.Options.Log = e.Log
			return result(runServe(ctx, c, e))
		}, err
	},
}
