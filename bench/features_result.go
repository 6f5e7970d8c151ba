package bench

import (
	"fmt"

	"github.com/aether-ooc/aether-ooc/internal/report"
)

// FeaturesResult is what was measured.
type FeaturesResult struct {
	Common
	Path           string  `json:"path"`
	FileBytes      int64   `json:"file_bytes"`
	FileRows       int64   `json:"file_rows"`
	RowBytes       int64   `json:"row_bytes"`
	DType          string  `json:"dtype"`
	IDs            string  `json:"ids"`
	State          string  `json:"state"` // of the cache when the clock started: "cold" or "steady"
	Direct         bool    `json:"direct"`
	Backend        string  `json:"backend"`
	Policy         string  `json:"cache_policy"`
	Lanes          int     `json:"lanes"`
	Depth          int     `json:"depth"`
	PageCacheBytes int64   `json:"page_cache_bytes"`
	BudgetBytes    int64   `json:"budget_bytes"`
	CacheSlots     int     `json:"cache_slots"`
	Gathers        int64   `json:"gathers"`
	Rows           int64   `json:"rows"`
	Blocks         int64   `json:"blocks"`
	Reads          int64   `json:"reads"`
	ReadBytes      int64   `json:"read_bytes"`
	UsedBytes      int64   `json:"used_bytes"`
	Syscalls       int64   `json:"syscalls"`
	RowsPerSecond  float64 `json:"rows_per_second"`
	BytesPerSecond float64 `json:"used_bytes_per_second"`

	Latency           Distribution `json:"gather_lat_ns"`
	HitRatio          float64      `json:"hit_ratio"`
	ReadIOPS          float64      `json:"read_iops"`
	ReadAmplification float64      `json:"read_amplification"`
	AchievedDepth     float64      `json:"achieved_depth"`
	Depths            []DepthShare `json:"depths"`
	ReadsPerSyscall   float64      `json:"reads_per_syscall"`
}

// result is the difference of the snapshots.
func (r *featuresRun) result(cut bool) *FeaturesResult {
	o := r.config.Options
	a, b := r.from.cache, r.to.cache
	ring := r.to.ring.Since(r.from.ring)
	res := &FeaturesResult{
		Path: r.config.Path, FileBytes: sizeOf(r.config.Path), FileRows: r.source.Rows(), RowBytes: r.source.RowBytes(), DType: r.source.DType(),
		IDs: r.config.IDs.Kind, State: map[bool]string{true: "steady", false: "cold"}[r.config.Ramp > 0],
		Direct: directly(r.config.Path, modeOf(o)), Backend: ring.Backend, Policy: o.Policy, Lanes: o.Lanes, Depth: o.Depth,
		BudgetBytes: o.Memory, CacheSlots: r.slots,
		Rows: r.to.rows - r.from.rows, Blocks: b.Asked() - a.Asked(), Reads: b.Reads - a.Reads, ReadBytes: b.BytesRead - a.BytesRead,
		Syscalls: ring.Syscalls, AchievedDepth: ring.MeanDepth() * float64(o.Lanes), Depths: depthShares(ring), ReadsPerSyscall: ring.ReadsPerSyscall(),
	}
	lat := newHistogram()
	for _, l := range r.lanes {
		lat.Merge(l.lat)
	}
	res.Gathers, res.Latency = lat.TotalCount(), distribution(lat)
	res.keep("gather", &res.Latency)
	res.took(r.from.usage, r.to.usage)
	res.CutShort, res.series, res.counted = cut, r.series, "rows"
	res.HitRatio = ratio(float64(res.Blocks-(b.Misses-a.Misses)), float64(res.Blocks))
	res.rates()
	res.Verdict = res.verdict()
	return res
}

// rates are the figures that follow from others.
func (r *FeaturesResult) rates() {
	r.UsedBytes = r.Rows * r.RowBytes
	r.RowsPerSecond = ratio(float64(r.Rows), r.Seconds)
	r.BytesPerSecond = ratio(float64(r.UsedBytes), r.Seconds)
	r.ReadIOPS = ratio(float64(r.Reads), r.Seconds)
	r.ReadAmplification = ratio(float64(r.ReadBytes), float64(r.UsedBytes))
}

func (r *FeaturesResult) verdict() string {
	cpu := share(r.CPUShare) + " of its CPUs"
	switch {
	case r.Reads == 0:
		return "compute-bound: nothing was read; " + cpu
	case r.CPUShare >= busy:
		return "compute-bound: " + cpu
	default:
		return fmt.Sprintf("waiting for reads: %.1f of %d in flight, %s", r.AchievedDepth, r.Depth*r.Lanes, cpu)
	}
}

// Metrics implements Result.
func (r *FeaturesResult) Metrics() []Metric {
	return []Metric{
		{"rows_per_second", r.RowsPerSecond, Higher}, {"used_bytes_per_second", r.BytesPerSecond, Higher},
		{"gather_lat_ns.p50", float64(r.Latency.P50), Lower}, {"gather_lat_ns.p99", float64(r.Latency.P99), Lower},
		{"hit_ratio", r.HitRatio, Higher}, {"read_amplification", r.ReadAmplification, Lower}, {"read_iops", r.ReadIOPS, Neither},
		{"achieved_depth", r.AchievedDepth, Neither}, {"cpu_seconds_per_million_rows", ratio(r.CPUSeconds*1e6, float64(r.Rows)), Lower},
		{"peak_rss_bytes", float64(r.PeakRSSBytes), Lower},
	}
}

// Text is the report for people.
func (r *FeaturesResult) Text() string {
	var p report.Page
	p.Line("verdict", "%s", r.Verdict)
	p.Line("rows", "%s: %s of %s (%s), %s in all", r.Path, report.Count(r.FileRows), report.Bytes(r.RowBytes), r.DType, report.Bytes(r.FileBytes))
	p.Line("which", "%s, %s a gather", r.IDs, report.Count(int64(ratio(float64(r.Rows), float64(r.Gathers)))))
	p.Line("engine", "%s, %d lanes of depth %d, %s cache of %s blocks, direct %s", r.Backend, r.Lanes, r.Depth, r.Policy, report.Count(int64(r.CacheSlots)), onOff(r.Direct))
	p.Line("cache", "%s", r.State)
	if !r.Direct {
		p.Line("page cache", "held %s of the file at first", report.Bytes(r.PageCacheBytes))
	}
	p.Line("gathered", "%s rows/s, %s/s (%s rows in %.2f s)", rate(r.RowsPerSecond), report.Bytes(int64(r.BytesPerSecond)), report.Count(r.Rows), r.Seconds)
	p.Line("  latency", "%s", r.Latency.text())
	p.Line("blocks", "%.3f per row, hit ratio %s", ratio(float64(r.Blocks), float64(r.Rows)), share(r.HitRatio))
	p.Line("reads", "%s IOPS, %s/s", rate(r.ReadIOPS), report.Bytes(int64(ratio(float64(r.ReadBytes), r.Seconds))))
	p.Line("depth", "%.1f achieved, %.1f reads per syscall (%s)", r.AchievedDepth, r.ReadsPerSyscall, depthText(r.Depths))
	p.Line("read ÷ used", "%.2f (%s read, %s used)", r.ReadAmplification, report.Bytes(r.ReadBytes), report.Bytes(r.UsedBytes))
	p.Line("CPU", "%s of its CPUs, garbage collector %s of it", share(r.CPUShare), share(r.GCCPUShare))
	p.Line("memory", "peak %s, of which the cache may take %s", report.Bytes(r.PeakRSSBytes), report.Bytes(r.BudgetBytes))
	r.closing(&p)
	return p.String()
}

func (r *FeaturesResult) charts() []chart { return []chart{depthChart(r.Depths)} }
