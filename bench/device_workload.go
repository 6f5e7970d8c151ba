package bench

import "context"

var deviceWorkload = Workload{
	Name: "device", Target: "FILE", Short: "Measure reads of a file",
	Long: `Read parts of a file, at random or in order, keeping a fixed number of reads in
flight, and report IOPS, latency percentiles, the depth that was reached and the
reads that a system call carried. The same question as fio's

  fio --name=r --filename=FILE --readonly --rw=randread --bs=4k --iodepth=128 --ioengine=io_uring --direct=1 --time_based --runtime=10

With --sweep every size is measured at every depth, which gives a table, and with
--profile a file that says what a read of each size costs.

Nothing else is written. Reads go past the page cache unless --buffered is given.`,
	Example: `  aether-ooc bench device graph.bin --depth 128 --runtime 10s
  aether-ooc bench device graph.bin --block-size 64KiB --depth 32 --json
  aether-ooc bench device graph.bin --mix 4k/70:64k/30 --lanes 2
  aether-ooc bench device graph.bin --sweep --runtime 2s --profile device.json --report sweep.html`,
	prepare: func(s *Settings) (runner, error) {
		c := deviceConfig(s)
		if s.on("sweep") {
			return prepareSweep(s, c)
		}
		if s.text("profile") != "" {
			return nil, optionf("profile: a device profile comes of a sweep: add sweep")
		}
		return func(ctx context.Context, e env) (Result, error) {
			c.Log = e.Log
			return result(runDevice(ctx, c, e))
		}, c.Check()
	},
}

func prepareSweep(s *Settings, d DeviceConfig) (runner, error) {
	c := SweepConfig{Device: d, Sizes: value[[]int64](s, "sweep-sizes"), Depths: value[[]int64](s, "sweep-depths"), Profile: s.text("profile")}
	return func(ctx context.Context, e env) (Result, error) {
		c.Device.Log = e.Log
		return result(runSweep(ctx, c, e))
	}, c.Check()
}

func deviceConfig(s *Settings) DeviceConfig {
	return DeviceConfig{
		Path: s.text("target"), BlockBytes: s.int64("block-size"), Mix: value[[]Portion](s, "mix"), Sequential: s.text("pattern") == "sequential",
		Depth: s.int("depth"), Lanes: s.int("lanes"), Backend: s.text("io"), Buffered: s.on("buffered"), Plain: s.text("buffers") == "plain",
		Ramp: s.duration("ramp"), Runtime: s.duration("runtime"), Seed: s.uint64("randseed"),
	}
}
