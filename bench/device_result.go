package bench

import (
	"time"

	"github.com/HdrHistogram/hdrhistogram-go"

	"github.com/aether-ooc/aether-ooc/uring"
)

// deviceResult adds the lanes up.
func deviceResult(c DeviceConfig, file *uring.File, lanes []*deviceLane, cut bool) *DeviceResult {
	r := &DeviceResult{
		Path: c.Path, FileBytes: file.Size(), BlockBytes: c.BlockBytes, Depth: c.Depth, Lanes: c.Lanes,
		Backend: lanes[0].to.Backend, Direct: file.Direct(), Seed: c.Seed,
		RampSeconds: c.Ramp.Seconds(), CutShort: cut, PeakRSSBytes: peakRSS(),
	}
	latency := hdrhistogram.New(1, maxLatency, 3)
	var wall, cpu time.Duration
	var bytes int64
	for _, l := range lanes {
		wall = max(wall, l.toTime.Sub(l.fromTime))
		cpu = max(cpu, l.toCPU-l.fromCPU) // of the whole process
		r.Reads += l.to.Reads - l.from.Reads
		r.Syscalls += l.to.Syscalls - l.from.Syscalls
		bytes += l.to.Bytes - l.from.Bytes
		latency.Merge(l.latency)
	}
	r.Seconds, r.CPUSeconds = wall.Seconds(), cpu.Seconds()
	r.IOPS = ratio(float64(r.Reads), r.Seconds)
	r.BytesPerSec = ratio(float64(bytes), r.Seconds)
	r.ReadsPerSyscall = ratio(float64(r.Reads), float64(r.Syscalls))
	r.Latency = percentiles(latency)
	r.AchievedDepth = r.IOPS * r.Latency.Mean / 1e9
	return r
}

// Text is the report for people.
func (r *DeviceResult) Text() string {
	var p page
	p.line("file", "%s (%s)", r.Path, memory(r.FileBytes))
	p.line("reads", "%s, %s each at random, %s, %s", count(r.Reads), memory(int64(r.BlockBytes)), r.Backend, r.state())
	p.line("IOPS", "%s (%s/s)", rate(r.IOPS), memory(int64(r.BytesPerSec)))
	p.line("latency", "%s", r.Latency.text())
	p.line("depth", "%.1f achieved of %d × %d lanes", r.AchievedDepth, r.Depth, r.Lanes)
	p.line("reads per syscall", "%.2f", r.ReadsPerSyscall)
	p.line("CPU", "%s of one core", share(ratio(r.CPUSeconds, r.Seconds)))
	p.line("time", "%.2f s measured after %.2f s of ramp, seed %d", r.Seconds, r.RampSeconds, r.Seed)
	p.line("peak memory", "%s", memory(r.PeakRSSBytes))
	if r.CutShort {
		p.line("CUT SHORT", "interrupted; the figures are of the part that ran")
	}
	return p.b.String()
}

func (r *DeviceResult) state() string {
	if r.Direct {
		return "past the page cache (O_DIRECT)"
	}
	return "through the page cache, in whatever state it was"
}
