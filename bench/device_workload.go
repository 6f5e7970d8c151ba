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
			sweep := SweepConfig{Device: c, Sizes: value[[]int64](s, "sweep-sizes"), Depths: value[[]int64](s, "sweep-depths"), Profile: s.text("profile")}
			return sweepRunner{s, sweep}, sweep.Check()
		}
		if s.text("profile") != "" {
			return nil, optionf("profile: a device profile comes of a sweep: add sweep")
		}
		return deviceRunner{s, c}, c.Check()
	},
}

func deviceConfig(s *Settings) DeviceConfig {
	return DeviceConfig{
		Path: s.text("target"), BlockBytes: s.int64("block-size"), Mix: value[[]Portion](s, "mix"), Sequential: s.text("pattern") == "sequential",
		Depth: s.int("depth"), Lanes: s.int("lanes"), Backend: s.text("io"), Buffered: s.on("buffered"), Plain: s.text("buffers") == "plain",
		Ramp: s.duration("ramp"), Runtime: s.duration("runtime"), Seed: s.uint64("randseed"),
	}
}

type deviceRunner struct {
	settings *Settings
	config   DeviceConfig
}

func (r deviceRunner) run(ctx context.Context, e env) (Result, error) {
	preparePages(r.settings)
	r.config.Log = e.Log
	res, err := runDevice(ctx, r.config, e)
	if err != nil {
		return nil, err
	}
	return res, nil
}

type sweepRunner struct {
	settings *Settings
	config   SweepConfig
}

func (r sweepRunner) run(ctx context.Context, e env) (Result, error) {
	preparePages(r.settings)
	r.config.Device.Log = e.Log
	res, err := Sweep(ctx, r.config, e.Hooks)
	if err != nil {
		return nil, err
	}
	return res, nil
}
