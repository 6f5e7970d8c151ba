package main

import (
	"errors"

	"github.com/spf13/cobra"

	"github.com/aether-ooc/aether-ooc/arrowbatch"
	"github.com/aether-ooc/aether-ooc/engine"
	"github.com/aether-ooc/aether-ooc/internal/host"
)

func newSample() *cobra.Command {
	var (
		eng     engineFlags
		req     requestFlags
		path    string
		shuffle bool
		out     printer
	)
	c := &cobra.Command{
		Use:   "sample GRAPH",
		Short: "Sample mini-batches into an Arrow file",
		Long: `Sample an epoch of mini-batches and write them to an Arrow IPC file, one row for
each mini-batch; without --out they are made and counted only. Features and node
attributes that build was given come along.

The batches depend on the graph, --seed, --epoch and their number alone. The
report's digest is over every byte of them: equal digests, equal batches, on any
machine and with any budget.`,
		Example: `  aether-ooc sample graph.bin --fanouts 25,10 --memory 512MiB --out batches.arrow
  aether-ooc sample graph.bin --fanouts -1,-1 --input-nodes nodes.npy --out batches.arrow`,
		Args: exactly(1, "one graph"),
		RunE: func(c *cobra.Command, args []string) error {
			request, err := req.request()
			if err != nil {
				return err
			}
			if err := checkOut(path, req.nodes); err != nil {
				return err
			}
			request.Shuffle, request.Features = shuffle, true
			return withEngine(c, args[0], eng.options(c), func(e *engine.Engine) error {
				if err := req.fits(e.Info()); err != nil {
					return err
				}
				for _, a := range e.Info().Attrs {
					request.Attrs = append(request.Attrs, a.Name)
				}
				bar := newProgress(c, "batches")
				res, err := arrowbatch.Export(c.Context(), arrowbatch.ExportConfig{Engine: e, Request: request, Out: path, Progress: bar.step})
				bar.finish()
				if err != nil {
					return err
				}
				return out.print(c, res)
			})
		},
		DisableAutoGenTag: true,
	}
	f := c.Flags()
	eng.bind(f)
	req.bind(f)
	f.StringVarP(&path, "out", "o", "", "Arrow IPC file to write")
	f.BoolVar(&shuffle, "shuffle", false, "permute the epoch's seeds")
	out.bind(f)
	return c
}

// checkOut refuses to write over the list of seeds.
func checkOut(path, nodes string) error {
	if err := host.CheckTarget(path, nodes); err != nil {
		return usagef("--out: %w", err)
	}
	return nil
}

// withEngine opens the graph for the time of fn.
func withEngine(c *cobra.Command, path string, o engine.Options, fn func(*engine.Engine) error) error {
	e, err := engine.Open(path, o)
	if err != nil {
		return markedRequest(err)
	}
	limitHeap(e.Info())
	return markedRequest(errors.Join(fn(e), e.Close()))
}

// markedRequest gives a mistake in a request, in the engine's options or in the
// file to write the exit code of a mistake in a flag.
func markedRequest(err error) error {
	var bad *engine.RequestError
	if errors.As(err, &bad) || errors.Is(err, engine.ErrOption) || errors.Is(err, host.ErrTarget) {
		return usageError{err}
	}
	return err
}
