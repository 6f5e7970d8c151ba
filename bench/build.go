package bench

import (
	"bufio"
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/aether-ooc/aether-ooc/ingest"
	"github.com/aether-ooc/aether-ooc/internal/report"
)

var buildWorkload = Workload{
	Name: "build", Target: "EDGES", Short: "Measure building a graph file",
	Long: `Build a graph from an edge list, in a temporary folder that is removed again, and
report edges a second, the phases, the bytes read and written, and peak memory
against the budget. The edge list's pages are dropped from the page cache first,
unless --page-cache keep is given.`,
	Example: `  aether-ooc bench build edges.npy --memory 2GiB
  aether-ooc bench build edges.npy --dir /mnt/nvme --repeat 3 --json`,
	prepare: func(s *Settings) (runner, error) {
		c := BuildConfig{Ingest: ingest.Config{Input: s.text("target"), Memory: s.int64("memory"), Workers: s.int("workers"), Undirected: s.on("undirected")}, Dir: s.text("dir")}
		return func(ctx context.Context, e env) (Result, error) { return result(runBuild(ctx, c, e)) }, nil
	},
}

// BuildConfig says what to build.
type BuildConfig struct {
	Ingest ingest.Config // all but Out
	Dir    string        // where the graph is built, and removed; "": beside the input
}

// BuildResult is what was measured. A build that is interrupted leaves nothing
// to report but that.
type BuildResult struct {
	Common
	Build          *ingest.Result `json:"build"`
	PageCacheBytes int64          `json:"page_cache_bytes"` // of the input, before the build
	EdgesPerSecond float64        `json:"edges_per_second"`
	ReadBytes      int64          `json:"read_bytes"`        // by system calls
	WrittenBytes   int64          `json:"written_bytes"`     //
	DeviceRead     int64          `json:"device_read_bytes"` // from the device; 0 where the kernel does not say
	DeviceWritten  int64          `json:"device_written_bytes"`
	CPUPerMillion  float64        `json:"cpu_seconds_per_million_edges"`
}

// runBuild builds a graph and measures it.
func runBuild(ctx context.Context, c BuildConfig, e env) (res *BuildResult, err error) {
	parent := c.Dir
	if parent == "" {
		parent = filepath.Dir(c.Ingest.Input)
	}
	dir, err := os.MkdirTemp(parent, "aether-ooc-bench-*")
	if err != nil {
		return nil, fmt.Errorf("bench: %w", err)
	}
	defer os.RemoveAll(dir)
	c.Ingest.Out, c.Ingest.Progress = filepath.Join(dir, "graph.bin"), e.progress
	r := &BuildResult{PageCacheBytes: pageCacheOf(c.Ingest.Input)}
	from, io := takeUsage(), takeIO()
	r.Build, err = ingest.Run(ctx, c.Ingest)
	if err != nil && ctx.Err() == nil {
		return nil, err
	}
	r.took(from, takeUsage())
	r.CutShort = r.Build == nil
	r.count(takeIO().since(io))
	return r, nil
}

func (r *BuildResult) count(io processIO) {
	r.ReadBytes, r.WrittenBytes, r.DeviceRead, r.DeviceWritten = io["rchar"], io["wchar"], io["read_bytes"], io["write_bytes"]
	if r.Build == nil {
		r.Build = &ingest.Result{}
		r.Verdict = "interrupted: nothing was built"
		return
	}
	r.EdgesPerSecond = ratio(float64(r.Build.Edges), r.Seconds)
	r.CPUPerMillion = ratio(r.CPUSeconds*1e6, float64(r.Build.Edges))
	r.Verdict = r.verdict()
}

func (r *BuildResult) verdict() string {
	moved := report.Bytes(int64(ratio(float64(r.ReadBytes+r.WrittenBytes), r.Seconds)))
	if r.CPUShare >= busy {
		return fmt.Sprintf("compute-bound: %s of its CPUs; %s/s read and written", share(r.CPUShare), moved)
	}
	return fmt.Sprintf("waiting, for the device or between phases, with %s of its CPUs; %s/s read and written", share(r.CPUShare), moved)
}

// Metrics implements Result.
func (r *BuildResult) Metrics() []Metric {
	return []Metric{
		{"edges_per_second", r.EdgesPerSecond, Higher}, {"seconds", r.Seconds, Lower},
		{"read_ns", float64(r.Build.ReadNs), Lower}, {"sort_ns", float64(r.Build.SortNs), Lower}, {"write_ns", float64(r.Build.WriteNs), Lower},
		{"read_bytes", float64(r.ReadBytes), Lower}, {"written_bytes", float64(r.WrittenBytes), Lower},
		{"cpu_seconds_per_million_edges", r.CPUPerMillion, Lower}, {"peak_rss_bytes", float64(r.PeakRSSBytes), Lower},
	}
}

// Text is the report for people.
func (r *BuildResult) Text() string {
	var p report.Page
	b := r.Build
	p.Line("verdict", "%s", r.Verdict)
	p.Line("input", "%s (%s, %s), page cache held %s of it", b.Input, b.Format, report.Bytes(b.InputBytes), report.Bytes(r.PageCacheBytes))
	p.Line("edges", "%s/s (%s in %.2f s)", rate(r.EdgesPerSecond), report.Count(b.Edges), r.Seconds)
	p.Line("phases", "read %v, sort %v, write %v", b.ReadNs, b.SortNs, b.WriteNs)
	p.Line("graph", "%s, %s nodes, %d workers", report.Bytes(b.GraphBytes), report.Count(b.Nodes), b.Workers)
	p.Line("read", "%s by system calls, %s from the device", report.Bytes(r.ReadBytes), report.Bytes(r.DeviceRead))
	p.Line("written", "%s by system calls, %s to the device", report.Bytes(r.WrittenBytes), report.Bytes(r.DeviceWritten))
	p.Line("CPU", "%.3f s per million edges, %s of its CPUs, garbage collector %s of it", r.CPUPerMillion, share(r.CPUShare), share(r.GCCPUShare))
	p.Line("memory", "peak %s with a budget of %s", report.Bytes(r.PeakRSSBytes), report.Bytes(b.BudgetBytes))
	r.closing(&p)
	return p.String()
}

// processIO is /proc/self/io.
type processIO map[string]int64

func takeIO() processIO {
	io := processIO{}
	f, err := os.Open("/proc/self/io")
	if err != nil {
		return io
	}
	defer f.Close()
	for lines := bufio.NewScanner(f); lines.Scan(); {
		name, value, _ := strings.Cut(lines.Text(), ": ")
		io[name], _ = strconv.ParseInt(value, 10, 64)
	}
	return io
}

func (a processIO) since(b processIO) processIO {
	d := processIO{}
	for k, v := range a {
		d[k] = v - b[k]
	}
	return d
}
