package bench

import (
	"fmt"

	"github.com/aether-ooc/aether-ooc/engine"
)

// SampleResult is what was measured.
type SampleResult struct {
	Info    engine.Info   `json:"engine"`
	Request SampleRequest `json:"request"`

	// State is what the cache held when the clock started: "cold" (nothing),
	// "steady" (what RampBatches had left) or "preloaded" (the adjacency, as
	// far as it fits). Where Info.Direct is false the page cache, whose state
	// is not known, comes on top.
	State       string  `json:"state"`
	RampBatches int64   `json:"ramp_batches"`
	Seconds     float64 `json:"seconds"`
	CutShort    bool    `json:"cut_short"`

	Batches      int64 `json:"batches"`
	SampledEdges int64 `json:"sampled_edges"`
	SampledNodes int64 `json:"sampled_nodes"`
	Blocks       int64 `json:"blocks"` // asked of the cache: adjacency, edge ids, features
	Reads        int64 `json:"reads"`
	ReadBytes    int64 `json:"read_bytes"`
	UsedBytes    int64 `json:"used_bytes"`
	Syscalls     int64 `json:"syscalls"`

	EdgesPerSecond    float64 `json:"edges_per_second"`
	BatchesPerSecond  float64 `json:"batches_per_second"`
	BlocksPerEdge     float64 `json:"blocks_per_edge"`
	ReadsPerEdge      float64 `json:"reads_per_edge"`
	HitRatio          float64 `json:"hit_ratio"`
	ReadIOPS          float64 `json:"read_iops"`
	ReadAmplification float64 `json:"read_amplification"` // bytes read ÷ bytes used
	AchievedDepth     float64 `json:"achieved_depth"`     // reads in flight, of all lanes
	ReadsPerSyscall   float64 `json:"reads_per_syscall"`

	CPUSeconds        float64 `json:"cpu_seconds"`
	AllocsPerBatch    float64 `json:"allocs_per_batch"`
	GCCPUShare        float64 `json:"gc_cpu_share"` // since the process began
	BudgetBytes       int64   `json:"budget_bytes"`
	PeakRSSBytes      int64   `json:"peak_rss_bytes"`
	CgroupPeakBytes   int64   `json:"cgroup_peak_bytes"` // of the process's control group, 0 where not known
	LargestBatchBytes int64   `json:"largest_batch_bytes"`
}

// SampleRequest is the part of the request that a figure depends on.
type SampleRequest struct {
	Fanouts    []int  `json:"fanouts"`
	BatchSize  int    `json:"batch_size"`
	Replace    bool   `json:"replace"`
	EdgeIDs    bool   `json:"edge_ids"`
	Features   bool   `json:"features"`
	Shuffle    bool   `json:"shuffle"`
	Seed       uint64 `json:"seed"`
	InputNodes int    `json:"input_nodes"` // 0: all
}

func requestOf(r engine.Request) SampleRequest {
	return SampleRequest{r.Fanouts, r.BatchSize, r.Replace, r.EdgeIDs, r.Features, r.Shuffle, r.Seed, len(r.Nodes)}
}

// Text is the report for people.
func (r *SampleResult) Text() string {
	var p page
	q := r.Request
	p.line("graph", "%s: %s nodes, %s edges", r.Info.Path, count(int64(r.Info.Nodes)), count(int64(r.Info.Edges)))
	p.line("request", "fanouts %v, %s seeds a batch, edge ids %s, features %s, seed %d", q.Fanouts, count(int64(q.BatchSize)), onOff(q.EdgeIDs), onOff(q.Features), q.Seed)
	p.line("engine", "%s, %s, %d lanes of depth %d, %s cache", r.Info.Backend, r.direct(), r.Info.Lanes, r.Info.Depth, r.Info.Policy)
	p.line("cache", "%s", r.start())
	p.line("edges", "%s/s (%s in %.2f s)", rate(r.EdgesPerSecond), count(r.SampledEdges), r.Seconds)
	p.line("batches", "%.1f/s (%s)", r.BatchesPerSecond, count(r.Batches))
	p.line("blocks", "%.4f per edge, hit ratio %s", r.BlocksPerEdge, share(r.HitRatio))
	p.line("reads", "%.4f per edge, %s IOPS, %s/s", r.ReadsPerEdge, rate(r.ReadIOPS), memory(int64(ratio(float64(r.ReadBytes), r.Seconds))))
	p.line("depth", "%.1f achieved, %.1f reads per syscall", r.AchievedDepth, r.ReadsPerSyscall)
	p.line("read ÷ used", "%.1f (%s read, %s used)", r.ReadAmplification, memory(r.ReadBytes), memory(r.UsedBytes))
	p.line("CPU", "%.2f s per million edges, garbage collector %s, %.0f allocations a batch", ratio(r.CPUSeconds*1e6, float64(r.SampledEdges)), share(r.GCCPUShare), r.AllocsPerBatch)
	p.line("memory", "peak %s with a budget of %s (cache %s)", memory(r.PeakRSSBytes), memory(r.BudgetBytes), memory(r.Info.Budget.Cache))
	if r.CutShort {
		p.line("CUT SHORT", "interrupted; the figures are of the part that ran")
	}
	return p.b.String()
}

func (r *SampleResult) direct() string {
	if r.Info.Direct {
		return "past the page cache"
	}
	return "through the page cache, in whatever state it was"
}

func (r *SampleResult) start() string {
	switch r.State {
	case "steady":
		return fmt.Sprintf("steady: as %s batches left it", count(r.RampBatches))
	case "preloaded":
		return "preloaded with the adjacency, as far as it fits"
	default:
		return "cold: empty when the clock started"
	}
}
