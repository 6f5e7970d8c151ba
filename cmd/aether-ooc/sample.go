package main

import (
	"errors"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/aether-ooc/aether-ooc/arrowbatch"
	"github.com/aether-ooc/aether-ooc/engine"
	"github.com/aether-ooc/aether-ooc/internal/host"
)

func newSample() *cobra.Command {
	var s sampleFlags
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
		Args:              exactly(1, "one graph"),
		RunE:              func(c *cobra.Command, args []string) error { return s.run(c, args[0]) },
		DisableAutoGenTag: true,
	}
	s.bind(c.Flags())
	return c
}

// sampleFlags holds the flags of sample.
type sampleFlags struct {
	engine  engineFlags
	request requestFlags
	path    string
	shuffle bool
	out     printer
}

func (s *sampleFlags) bind(f *pflag.FlagSet) {
	s.engine.bind(f)
	s.request.bind(f)
	f.StringVarP(&s.path, "out", "o", "", "Arrow IPC file to write")
	f.BoolVar(&s.shuffle, "shuffle", false, "permute the epoch's seeds")
	s.out.bind(f)
}

func (s *sampleFlags) run(c *cobra.Command, graph string) error {
	request, err := s.request.request()
	if err != nil {
		return err
	}
	if err := checkOut(s.path, s.request.nodes); err != nil {
		return err
	}
	options, err := s.engine.options(c)
	if err != nil {
		return err
	}
	return withEngine(c, graph, options, func(e *engine.Engine) error {
		info := e.Info()
		if err := s.request.fits(info); err != nil {
			return err
		}
		if err := s.request.resolve(c, e, &request); err != nil {
			return err
		}
		limitHeap(info)
		request.Shuffle, request.Features = s.shuffle, true
		for _, a := range info.Attrs {
			request.Attrs = append(request.Attrs, a.Name)
		}
		bar := newProgress(c, "batches")
		res, err := arrowbatch.Export(c.Context(), arrowbatch.ExportConfig{Engine: e, Request: request, Out: s.path, Progress: bar.step})
		bar.finish()
		if err != nil {
			return err
		}
		return s.out.print(c, res)
	})
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
