package main

import (
	"time"

	"github.com/spf13/cobra"

	"github.com/aether-ooc/aether-ooc/engine"
	"github.com/aether-ooc/aether-ooc/serve"
)

func newServe() *cobra.Command {
	var (
		eng     engineFlags
		cfg     serve.Config
		uploads = byteSize(serve.DefaultUploadBytes)
	)
	c := &cobra.Command{
		Use:   "serve GRAPH --listen unix:///PATH",
		Short: "Serve mini-batches to the trainers of this machine",
		Long: `Open the graph once and serve mini-batches to any number of clients over Arrow
Flight on a unix socket (docs/PROTOCOL.md). All clients share one cache and one
budget; beside it the server holds a few encoded batches for each stream, and the
seed lists that clients upload, within --uploads. The Python package starts this
command by itself.

It ends on SIGINT or SIGTERM, giving running streams a few seconds, or when no
client has asked for anything for --idle-timeout.`,
		Example: `  aether-ooc serve graph.bin --listen unix:///tmp/a.sock --memory 2GiB`,
		Args:    exactly(1, "one graph"),
		RunE: func(c *cobra.Command, args []string) error {
			log := newLogger(c)
			if err := serve.CheckListen(cfg.Listen); err != nil {
				return usageError{err}
			}
			options, err := eng.options(c)
			if err != nil {
				return err
			}
			return withEngine(c, args[0], options, func(e *engine.Engine) error {
				i := e.Info()
				limitHeapBeside(i, int64(uploads))
				cfg.Engine, cfg.Version, cfg.Log, cfg.UploadBytes = e, version, log, int64(uploads)
				cfg.Ready = func() {
					log.Info("serving", "graph", i.Path, "fingerprint", i.Fingerprint, "listen", cfg.Listen, "io", i.Backend, "direct", i.Direct, "lanes", i.Lanes, "budget_bytes", i.Budget.Memory)
				}
				res, err := serve.Run(c.Context(), cfg)
				if err != nil {
					return err
				}
				log.Info("ended", "why", res.Why, "streams", res.Streams, "batches", res.Batches, "bytes", res.Bytes)
				return nil
			})
		},
		DisableAutoGenTag: true,
	}
	f := c.Flags()
	eng.bind(f)
	f.StringVar(&cfg.Listen, "listen", "", "where to listen: unix:///path (required)")
	f.DurationVar(&cfg.IdleTimeout, "idle-timeout", 0, "end when nobody has asked for anything for this long; 0 never")
	f.Var(&uploads, "uploads", "most bytes of seed lists that clients have uploaded, beside --memory")
	f.DurationVar(&cfg.Grace, "grace", 5*time.Second, "how long running streams may go on after SIGTERM")
	return c
}
