package main

import (
	"time"

	"github.com/spf13/cobra"

	"github.com/aether-ooc/aether-ooc/bench"
	"github.com/aether-ooc/aether-ooc/engine"
)

func newBench() *cobra.Command {
	return group("bench", "Measure the device and the sampling", newBenchDevice(), newBenchSample())
}

func newBenchDevice() *cobra.Command {
	var (
		cfg   bench.DeviceConfig
		block = byteSize(4096)
		out   printer
	)
	c := &cobra.Command{
		Use:   "device FILE",
		Short: "Measure random reads of a file",
		Long: `Read blocks of a file at random, keeping a fixed number of reads in flight, and
report IOPS, latency percentiles, the depth that was reached and the reads that a
system call carried. The same question as fio's

  fio --name=r --filename=FILE --readonly --rw=randread --bs=4k --iodepth=128 --ioengine=io_uring --direct=1 --time_based --runtime=10

Nothing is written. Reads go past the page cache unless --buffered is given.`,
		Example: `  aether-ooc bench device graph.bin --depth 128 --runtime 10s
  aether-ooc bench device graph.bin --block-size 64KiB --depth 32 --json`,
		Args: exactly(1, "one file"),
		RunE: func(c *cobra.Command, args []string) error {
			cfg.Path, cfg.BlockBytes, cfg.Log = args[0], int(block), newLogger(c)
			if err := cfg.Check(); err != nil {
				return usageError{err}
			}
			res, err := bench.Device(c.Context(), cfg)
			if err != nil {
				return err
			}
			return out.print(c, res)
		},
		DisableAutoGenTag: true,
	}
	f := c.Flags()
	f.VarP(&block, "block-size", "b", "bytes of a read")
	f.IntVar(&cfg.Depth, "depth", 128, "reads in flight of each lane")
	f.IntVar(&cfg.Lanes, "lanes", 1, "threads, each with a ring of its own")
	f.StringVar(&cfg.Backend, "io", "auto", "how to read: auto, uring or pread")
	f.BoolVar(&cfg.Buffered, "buffered", false, "read through the page cache")
	f.DurationVar(&cfg.Runtime, "runtime", 5*time.Second, "time to measure")
	f.DurationVar(&cfg.Ramp, "ramp", 500*time.Millisecond, "time to read before measuring")
	f.Uint64Var(&cfg.Seed, "seed", 1, "seed of the places that are read")
	out.bind(f)
	return c
}

func newBenchSample() *cobra.Command {
	var (
		cfg     bench.SampleConfig
		eng     engineFlags
		req     requestFlags
		inOrder bool
		out     printer
	)
	c := &cobra.Command{
		Use:   "sample GRAPH",
		Short: "Measure sampling of mini-batches",
		Long: `Make mini-batches in this process and report batches and sampled edges a second,
blocks and reads per edge, hit ratio, IOPS and peak memory.

The seeds are shuffled unless --in-order is given. With --ramp 0 the clock starts
with an empty cache ("cold"), after a ramp in a "steady" state, with --preload with
the adjacency in the cache as far as it fits; the report says which.`,
		Example: `  aether-ooc bench sample graph.bin --fanouts 25,10 --memory 256MiB
  aether-ooc bench sample graph.bin --ramp 0 --batches 50 --merge 1 --edge-ids=false   # cold, unmerged
  aether-ooc bench sample graph.bin --preload --memory 4GiB --edge-ids=false --json`,
		Args: exactly(1, "one graph"),
		RunE: func(c *cobra.Command, args []string) error {
			if err := cfg.Check(); err != nil {
				return usageError{err}
			}
			request, err := req.request()
			if err != nil {
				return err
			}
			request.Shuffle = !inOrder
			bar := newProgress(c, "batches")
			cfg.Graph, cfg.Options, cfg.Request = args[0], eng.options(c), request
			cfg.Progress, cfg.Opened = bar.step, func(i engine.Info) error {
				limitHeap(i)
				return req.fits(i)
			}
			res, err := bench.Sample(c.Context(), cfg)
			bar.finish()
			if err != nil {
				return markedRequest(err)
			}
			return out.print(c, res)
		},
		DisableAutoGenTag: true,
	}
	f := c.Flags()
	eng.bind(f)
	req.bind(f)
	f.BoolVar(&req.req.Features, "with-features", false, "fetch the feature rows too")
	f.Int64Var(&cfg.Batches, "batches", 100, "batches to measure")
	f.Int64Var(&cfg.Ramp, "ramp", 16, "batches to make before measuring")
	f.BoolVar(&cfg.Preload, "preload", false, "bring the adjacency into the cache first")
	f.BoolVar(&inOrder, "in-order", false, "take the seeds in order, not shuffled")
	out.bind(f)
	return c
}
