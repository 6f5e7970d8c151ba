package bench

import (
	"fmt"
	"strings"

	"github.com/HdrHistogram/hdrhistogram-go"

	"github.com/aether-ooc/aether-ooc/internal/report"
	"github.com/aether-ooc/aether-ooc/uring"
)

// DeviceResult is what was measured.
type DeviceResult struct {
	Common
	Path           string    `json:"path"`
	FileBytes      int64     `json:"file_bytes"`
	BlockBytes     int64     `json:"block_bytes"` // of a mix the largest
	Mix            []Portion `json:"mix,omitempty"`
	Pattern        string    `json:"pattern"` // "random" or "sequential"
	Depth          int       `json:"depth"`
	Lanes          int       `json:"lanes"`
	Backend        string    `json:"backend"`
	FixedBuffers   bool      `json:"fixed_buffers"`
	FixedFiles     bool      `json:"fixed_files"`
	Direct         bool      `json:"direct"`
	PageCacheBytes int64     `json:"page_cache_bytes"` // of the file, before the first read
	Seed           uint64    `json:"seed"`
	RampSeconds    float64   `json:"ramp_seconds"`
	Reads          int64     `json:"reads"`
	IOPS           float64   `json:"iops"`
	BytesPerSec    float64   `json:"bytes_per_second"`

	Latency Distribution `json:"lat_ns"`  // from being queued to being back
	Clat    Distribution `json:"clat_ns"` // from being sent to the kernel to being fetched from it
	Slat    Distribution `json:"slat_ns"` // what is left of each: waiting in our own ring, to be sent and to be looked at

	// AchievedDepth is the mean of the distribution Depths, of all lanes.
	AchievedDepth   float64      `json:"achieved_depth"`
	Depths          []DepthShare `json:"depths"`
	Syscalls        int64        `json:"syscalls"`
	ReadsPerSyscall float64      `json:"reads_per_syscall"`
}

// DepthShare is how often between From and To reads of a lane were in flight.
type DepthShare struct {
	From  int     `json:"from"`
	To    int     `json:"to"`
	Share float64 `json:"share"`
}

// depthShares are the buckets of a ring's histogram that are not empty.
func depthShares(s uring.Stats) []DepthShare {
	var total int64
	for _, n := range s.DepthHist {
		total += n
	}
	all := []DepthShare{}
	for b, n := range s.DepthHist {
		if n > 0 {
			all = append(all, DepthShare{1<<b/2 + 1, 1 << b, ratio(float64(n), float64(total))})
		}
	}
	return all
}

// depthText gives the shares for people, smallest depths first.
func depthText(all []DepthShare) string {
	var parts []string
	for _, d := range all {
		if d.Share < 0.0005 {
			continue
		}
		name := fmt.Sprint(d.To)
		if d.From < d.To {
			name = fmt.Sprintf("%d–%d", d.From, d.To)
		}
		parts = append(parts, fmt.Sprintf("%s: %s", name, share(d.Share)))
	}
	return strings.Join(parts, ", ")
}

// deviceResult adds the lanes up.
func deviceResult(c DeviceConfig, file *uring.File, lanes []*deviceLane, cut bool) *DeviceResult {
	r := &DeviceResult{
		Path: c.Path, FileBytes: file.Size(), BlockBytes: c.largest(), Mix: c.Mix, Pattern: pattern(c.Sequential), Depth: c.Depth, Lanes: c.Lanes,
		Backend: lanes[0].to.Backend, FixedBuffers: lanes[0].to.FixedBuffers, FixedFiles: lanes[0].to.FixedFiles,
		Direct: file.Direct(), Seed: c.Seed, RampSeconds: c.Ramp.Seconds(),
	}
	lat, clat, slat := newHistogram(), newHistogram(), newHistogram()
	from, to := lanes[0].fromUsage, lanes[0].toUsage
	var ring uring.Stats
	for _, l := range lanes {
		if l.fromUsage.at.Before(from.at) {
			from = l.fromUsage
		}
		if l.toUsage.at.After(to.at) {
			to = l.toUsage
		}
		ring = ring.Add(l.to.Since(l.from))
		lat.Merge(l.lat)
		clat.Merge(l.clat)
		slat.Merge(l.slat)
	}
	r.took(from, to)
	r.CutShort, r.counted = cut, "reads"
	r.count(ring)
	r.latencies(lat, clat, slat)
	r.Verdict = r.verdict()
	return r
}

func pattern(sequential bool) string {
	return map[bool]string{false: "random", true: "sequential"}[sequential]
}

// count fills in what comes from the rings.
func (r *DeviceResult) count(ring uring.Stats) {
	r.Reads, r.Syscalls = ring.Reads, ring.Syscalls
	r.IOPS = ratio(float64(ring.Reads), r.Seconds)
	r.BytesPerSec = ratio(float64(ring.Bytes), r.Seconds)
	r.ReadsPerSyscall = ring.ReadsPerSyscall()
	r.AchievedDepth = ring.MeanDepth() * float64(r.Lanes)
	r.Depths = depthShares(ring)
}

// latencies fills in what comes from the histograms.
func (r *DeviceResult) latencies(lat, clat, slat *hdrhistogram.Histogram) {
	r.Latency, r.Clat, r.Slat = distribution(lat), distribution(clat), distribution(slat)
	r.keep("whole", &r.Latency)
	r.keep("in the kernel", &r.Clat)
	r.keep("in our ring", &r.Slat)
}

// busy is the part of a lane's core, about, from which it is that which limits.
const busy = 0.85

func (r *DeviceResult) verdict() string {
	cores := ratio(r.CPUSeconds, r.Seconds)
	if cores >= busy*float64(r.Lanes) {
		return fmt.Sprintf("compute-bound: the lanes use %s of their cores; the device may give more to more lanes", share(cores/float64(r.Lanes)))
	}
	return fmt.Sprintf("device-bound: at this depth it gives %s reads a second, for %s of one core", rate(r.IOPS), share(cores))
}

// Metrics implements Result.
func (r *DeviceResult) Metrics() []Metric {
	return []Metric{
		{"iops", r.IOPS, Higher}, {"bytes_per_second", r.BytesPerSec, Higher},
		{"lat_ns.p50", float64(r.Latency.P50), Lower}, {"lat_ns.p99", float64(r.Latency.P99), Lower},
		{"cpu_seconds_per_million_reads", ratio(r.CPUSeconds*1e6, float64(r.Reads)), Lower},
		{"reads_per_syscall", r.ReadsPerSyscall, Higher}, {"achieved_depth", r.AchievedDepth, Neither},
	}
}

// Text is the report for people.
func (r *DeviceResult) Text() string {
	var p report.Page
	p.Line("verdict", "%s", r.Verdict)
	p.Line("file", "%s (%s)", r.Path, report.Bytes(r.FileBytes))
	p.Line("reads", "%s %s, %s each, %s, %s", report.Count(r.Reads), r.Pattern, r.sizes(), r.Backend, r.state())
	p.Line("IOPS", "%s (%s/s)", rate(r.IOPS), report.Bytes(int64(r.BytesPerSec)))
	p.Line("latency", "%s", r.Latency.text())
	p.Line("  in the kernel", "%s", r.Clat.text())
	p.Line("  in our ring", "%s", r.Slat.text())
	p.Line("depth", "%.1f achieved of %d × %d lanes (%s)", r.AchievedDepth, r.Depth, r.Lanes, depthText(r.Depths))
	p.Line("reads per syscall", "%.2f, %s buffers", r.ReadsPerSyscall, map[bool]string{true: "registered", false: "plain"}[r.FixedBuffers])
	p.Line("CPU", "%s of one core", share(ratio(r.CPUSeconds, r.Seconds)))
	p.Line("time", "%.2f s measured after %.2f s of ramp, seed %d", r.Seconds, r.RampSeconds, r.Seed)
	p.Line("peak memory", "%s", report.Bytes(r.PeakRSSBytes))
	r.closing(&p)
	return p.String()
}

func (r *DeviceResult) sizes() string {
	if r.Mix == nil {
		return report.Bytes(r.BlockBytes)
	}
	var parts []string
	for _, m := range r.Mix {
		parts = append(parts, fmt.Sprintf("%s (%d)", report.Bytes(m.Bytes), m.Weight))
	}
	return "a mix of " + strings.Join(parts, ", ")
}

func (r *DeviceResult) state() string {
	if r.Direct {
		return "past the page cache (O_DIRECT)"
	}
	return fmt.Sprintf("through the page cache, which held %s of the file at first", share(ratio(float64(r.PageCacheBytes), float64(r.FileBytes))))
}

func (r *DeviceResult) charts() []chart { return []chart{depthChart(r.Depths)} }
