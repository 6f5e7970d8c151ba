package bench

import (
	"fmt"
	"strings"

	"github.com/aether-ooc/aether-ooc/engine"
	"github.com/aether-ooc/aether-ooc/internal/report"
)

// SampleResult is what was measured.
type SampleResult struct {
	Common
	Info    engine.Info   `json:"engine"`
	Request SampleRequest `json:"request"`

	// State is what the cache held when the clock started: "cold" (nothing),
	// "steady" (what RampBatches had left) or "preloaded" (the adjacency, as
	// far as it fits). Where Info.Direct is false, the page cache comes on top,
	// with PageCacheBytes of the graph when it was opened.
	State          string `json:"state"`
	Mode           string `json:"mode"` // of drawing, at the end: "cached", "loading" or "resident", see engine.ModeCached
	RampBatches    int64  `json:"ramp_batches"`
	PageCacheBytes int64  `json:"page_cache_bytes"`

	Batches      int64 `json:"batches"`
	SampledEdges int64 `json:"sampled_edges"`
	SampledNodes int64 `json:"sampled_nodes"`
	Blocks       int64 `json:"blocks"` // asked of the cache: adjacency, edge ids, features
	Reads        int64 `json:"reads"`
	ReadBytes    int64 `json:"read_bytes"`
	SunkBytes    int64 `json:"sunk_bytes"` // of them, of blocks that nobody had asked for
	UsedBytes    int64 `json:"used_bytes"`
	Syscalls     int64 `json:"syscalls"`

	// ReadSizes counts the reads by their blocks, ReadCost what they cost the
	// device, in reads of 4 KiB: see engine.IO.
	ReadSizes []int64 `json:"reads_by_blocks"`
	ReadCost  float64 `json:"read_cost"`

	Hops []Hop `json:"hops"` // of the measured batches

	EdgesPerSecond    float64      `json:"edges_per_second"`
	BatchesPerSecond  float64      `json:"batches_per_second"`
	Latency           Distribution `json:"batch_lat_ns"` // from asking for the next batch to having it
	BlocksPerEdge     float64      `json:"blocks_per_edge"`
	ReadsPerEdge      float64      `json:"reads_per_edge"`
	ReadCostPerEdge   float64      `json:"read_cost_per_edge"`
	ReadCostPerSecond float64      `json:"read_cost_per_second"`
	HitRatio          float64      `json:"hit_ratio"`
	ReadIOPS          float64      `json:"read_iops"`
	ReadAmplification float64      `json:"read_amplification"` // bytes read ÷ bytes used
	AchievedDepth     float64      `json:"achieved_depth"`     // reads in flight, of all lanes
	Depths            []DepthShare `json:"depths"`             // of one lane
	ReadsPerSyscall   float64      `json:"reads_per_syscall"`

	CPUPerMillionEdges float64 `json:"cpu_seconds_per_million_edges"`
	AllocsPerBatch     float64 `json:"allocs_per_batch"`
	BudgetBytes        int64   `json:"budget_bytes"`
	BudgetShare        float64 `json:"budget_share"` // of the adjacency as plain 32-bit ids, 4 bytes for each edge
	LargestBatchBytes  int64   `json:"largest_batch_bytes"`

	// Device is what the device gives to random reads of the same mean size, at
	// the same depth, from the same file, measured right after; nil: not asked.
	Device *DeviceResult `json:"device,omitempty"`
}

// Hop is what one hop of the batches brought, and what it asked for its lists. It
// asks for nothing where they are drawn from memory.
type Hop struct {
	Edges     int64 `json:"sampled_edges"`
	Nodes     int64 `json:"new_nodes"`
	Blocks    int64 `json:"blocks"`
	Reads     int64 `json:"reads"`
	ReadBytes int64 `json:"read_bytes"`
}

// asked adds what each hop asked for between two snapshots.
func asked(hops []Hop, from, to []engine.HopIO) []Hop {
	for i := range min(len(hops), len(to)) {
		h, a := &hops[i], engine.HopIO{}
		if i < len(from) {
			a = from[i]
		}
		h.Blocks, h.Reads, h.ReadBytes = to[i].Blocks-a.Blocks, to[i].Reads-a.Reads, to[i].ReadBytes-a.ReadBytes
	}
	return hops
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

// result is the difference of the snapshots.
func (r *sampleRun) result(cut bool) *SampleResult {
	a, b := r.from.stats, r.to.stats
	res := &SampleResult{
		Info: r.engine.Info(), Request: requestOf(r.config.Request), State: r.state(), Mode: b.Mode, RampBatches: r.config.Ramp,
		Batches:      b.Batches - a.Batches,
		SampledEdges: b.SampledEdges - a.SampledEdges,
		SampledNodes: b.SampledNodes - a.SampledNodes,
		Blocks:       b.Total.Asked - a.Total.Asked,
		Reads:        b.Total.Reads - a.Total.Reads,
		ReadBytes:    b.Total.ReadBytes - a.Total.ReadBytes,
		SunkBytes:    b.Total.SunkBytes - a.Total.SunkBytes,
		ReadCost:     b.Total.ReadCost - a.Total.ReadCost,
		UsedBytes:    b.UsedBytes - a.UsedBytes,
		Hops:         asked(r.hops, a.Hops, b.Hops), Latency: distribution(r.lat), LargestBatchBytes: b.LargestMem,
	}
	res.took(r.from.usage, r.to.usage)
	res.CutShort, res.series, res.counted = cut, r.series, "edges"
	res.BudgetBytes = res.Info.Budget.Memory
	res.BudgetShare = ratio(float64(res.BudgetBytes), plainBytes(res.Info.Edges))
	res.keep("batch", &res.Latency)
	for i, n := range b.Total.ReadSizes {
		res.ReadSizes = append(res.ReadSizes, n-a.Total.ReadSizes[i])
	}
	misses := b.Total.Misses - a.Total.Misses
	res.HitRatio = ratio(float64(res.Blocks-misses), float64(res.Blocks))
	ring := b.Ring.Since(a.Ring)
	res.Syscalls, res.ReadsPerSyscall, res.Depths = ring.Syscalls, ring.ReadsPerSyscall(), depthShares(ring)
	res.AchievedDepth = ring.MeanDepth() * float64(res.Info.Lanes)
	res.rates()
	return res
}

// rates are the figures that follow from others.
func (r *SampleResult) rates() {
	edges, batches := float64(r.SampledEdges), float64(r.Batches)
	r.EdgesPerSecond = ratio(edges, r.Seconds)
	r.BatchesPerSecond = ratio(batches, r.Seconds)
	r.BlocksPerEdge = ratio(float64(r.Blocks), edges)
	r.ReadsPerEdge = ratio(float64(r.Reads), edges)
	r.ReadCostPerEdge = ratio(r.ReadCost, edges)
	r.ReadCostPerSecond = ratio(r.ReadCost, r.Seconds)
	r.ReadIOPS = ratio(float64(r.Reads), r.Seconds)
	r.ReadAmplification = ratio(float64(r.ReadBytes), float64(r.UsedBytes))
	r.CPUPerMillionEdges = ratio(r.CPUSeconds*1e6, edges)
	r.AllocsPerBatch = ratio(float64(r.Allocs), batches)
}

// verdict says in one line what the run was waiting for.
func (r *SampleResult) verdict() string {
	cpu := share(r.CPUShare) + " of its CPUs"
	if r.Info.Lanes < r.CPUs {
		cpu = fmt.Sprintf("%s of %d lanes' cores", share(ratio(r.CPUSeconds, r.Seconds*float64(r.Info.Lanes))), r.Info.Lanes)
	}
	computing := r.CPUSeconds >= busy*r.Seconds*float64(min(r.Info.Lanes, r.CPUs))
	switch of := r.deviceShare(); {
	case r.Reads == 0 && computing:
		return "compute-bound: nothing was read; " + cpu
	case r.Reads == 0:
		return "waiting for a processor: nothing was read, and it had but " + cpu
	case of >= busy:
		return fmt.Sprintf("device-bound: %s of its IOPS for reads of %s; %s", share(of), r.meanRead(), cpu)
	case computing && r.Device != nil:
		return fmt.Sprintf("compute-bound: %s, %s of the device's IOPS", cpu, share(of))
	case computing:
		return "compute-bound: " + cpu
	case r.Device != nil:
		return fmt.Sprintf("neither: %s of the device's IOPS for reads of %s, %s: waiting for single reads; more lanes or larger batches may help", share(of), r.meanRead(), cpu)
	default:
		return fmt.Sprintf("waiting for reads, with %s; what the device can do was not measured", cpu)
	}
}

// deviceShare is the part of the device's IOPS that the run reached.
func (r *SampleResult) deviceShare() float64 {
	if r.Device == nil {
		return 0
	}
	return ratio(r.ReadIOPS, r.Device.IOPS)
}

func (r *SampleResult) meanRead() string {
	return report.Bytes(int64(ratio(float64(r.ReadBytes), float64(r.Reads))))
}

// Metrics implements Result.
func (r *SampleResult) Metrics() []Metric {
	return []Metric{
		{"edges_per_second", r.EdgesPerSecond, Higher}, {"batches_per_second", r.BatchesPerSecond, Higher},
		{"batch_lat_ns.p50", float64(r.Latency.P50), Lower}, {"batch_lat_ns.p99", float64(r.Latency.P99), Lower},
		{"reads_per_edge", r.ReadsPerEdge, Lower}, {"read_cost_per_edge", r.ReadCostPerEdge, Lower}, {"read_cost_per_second", r.ReadCostPerSecond, Neither},
		{"blocks_per_edge", r.BlocksPerEdge, Lower}, {"hit_ratio", r.HitRatio, Higher},
		{"read_iops", r.ReadIOPS, Neither}, {"read_amplification", r.ReadAmplification, Lower}, {"achieved_depth", r.AchievedDepth, Neither},
		{"cpu_seconds_per_million_edges", r.CPUPerMillionEdges, Lower}, {"allocs_per_batch", r.AllocsPerBatch, Lower},
		{"peak_rss_bytes", float64(r.PeakRSSBytes), Lower}, {"device_share", r.deviceShare(), Neither},
	}
}

// Text is the report for people.
func (r *SampleResult) Text() string {
	var p report.Page
	q := r.Request
	p.Line("verdict", "%s", r.Verdict)
	p.Line("graph", "%s: %s nodes, %s edges", r.Info.Path, report.Count(int64(r.Info.Nodes)), report.Count(int64(r.Info.Edges)))
	p.Line("request", "fanouts %v, %s seeds a batch, edge ids %s, features %s, seed %d", q.Fanouts, report.Count(int64(q.BatchSize)), onOff(q.EdgeIDs), onOff(q.Features), q.Seed)
	p.Line("engine", "%s, %s, %d lanes of depth %d, up to %d batches in lockstep, %s cache", r.Info.Backend, r.direct(), r.Info.Lanes, r.Info.Depth, r.Info.Lockstep, r.Info.Policy)
	p.Line("cache", "%s", r.start())
	p.Line("lists", "%s", r.drawn())
	p.Line("edges", "%s/s (%s in %.2f s)", rate(r.EdgesPerSecond), report.Count(r.SampledEdges), r.Seconds)
	p.Line("  per hop", "%s", hopText(r.Hops))
	p.Line("batches", "%.1f/s (%s)", r.BatchesPerSecond, report.Count(r.Batches))
	p.Line("  latency", "%s", r.Latency.text())
	p.Line("blocks", "%.4f per edge, hit ratio %s", r.BlocksPerEdge, share(r.HitRatio))
	p.Line("reads", "%.4f per edge, %s IOPS, %s/s, %s each", r.ReadsPerEdge, rate(r.ReadIOPS), report.Bytes(int64(ratio(float64(r.ReadBytes), r.Seconds))), r.meanRead())
	p.Line("  by blocks", "%s", sizesText(r.ReadSizes))
	p.Line("  cost", "%.4f per edge, %s a second, in reads of 4 KiB; %s of the bytes lay between wanted blocks", r.ReadCostPerEdge, rate(r.ReadCostPerSecond), share(ratio(float64(r.SunkBytes), float64(r.ReadBytes))))
	p.Line("depth", "%.1f achieved, %.1f reads per syscall (%s)", r.AchievedDepth, r.ReadsPerSyscall, depthText(r.Depths))
	p.Line("read ÷ used", "%.1f (%s read, %s used)", r.ReadAmplification, report.Bytes(r.ReadBytes), report.Bytes(r.UsedBytes))
	if r.Device != nil {
		p.Line("device", "%s IOPS of that size and depth, measured right after for %.1f s", rate(r.Device.IOPS), r.Device.Seconds)
	}
	p.Line("CPU", "%.2f s per million edges, garbage collector %s of it, %.0f allocations a batch", r.CPUPerMillionEdges, share(r.GCCPUShare), r.AllocsPerBatch)
	p.Line("memory", "peak %s with a budget of %s (cache %s)", report.Bytes(r.PeakRSSBytes), report.Bytes(r.BudgetBytes), report.Bytes(r.Info.Budget.Cache))
	p.Line("  which is", "%s of the adjacency as plain 32-bit ids, 4 B × %s edges", share(r.BudgetShare), report.Count(int64(r.Info.Edges)))
	r.closing(&p)
	return p.String()
}

func (r *SampleResult) direct() string {
	if r.Info.Direct {
		return "past the page cache"
	}
	return fmt.Sprintf("through the page cache, which held %s of the graph at first", share(ratio(float64(r.PageCacheBytes), float64(r.Info.Bytes))))
}

// drawn says what lists were drawn from in the end.
func (r *SampleResult) drawn() string {
	if b := r.Info.Budget; r.Mode == engine.ModeResident {
		return fmt.Sprintf("resident, %s: %s", b.Form, report.Bytes(b.Resident))
	}
	return r.Mode
}

func (r *SampleResult) start() string {
	switch r.State {
	case "steady":
		return fmt.Sprintf("steady: as %s batches left it", report.Count(r.RampBatches))
	case "preloaded":
		return "preloaded with the adjacency, as far as it fits"
	default:
		return "cold: empty when the clock started"
	}
}

// sizesText gives the shares of reads by their blocks.
func sizesText(sizes []int64) string {
	var shares []DepthShare
	total := int64(0)
	for _, n := range sizes {
		total += n
	}
	for b, n := range sizes {
		if n > 0 {
			shares = append(shares, DepthShare{1<<b/2 + 1, 1 << b, ratio(float64(n), float64(total))})
		}
	}
	if shares == nil {
		return "none"
	}
	return depthText(shares)
}

// hopText gives each hop's edges, the nodes that were new with them, and the reads
// for its lists.
func hopText(hops []Hop) string {
	parts := make([]string, len(hops))
	for i, h := range hops {
		parts[i] = fmt.Sprintf("%s edges to %s new nodes with %s reads", report.Count(h.Edges), report.Count(h.Nodes), report.Count(h.Reads))
	}
	return strings.Join(parts, ", ")
}

func (r *SampleResult) charts() []chart {
	hops := chart{Title: "Edges and new nodes of each hop", X: "hop", Y: "in all batches"}
	reads := chart{Title: "Blocks and reads of each hop", X: "hop", Y: "in all batches"}
	var edges, nodes, blocks, requests []float64
	for i, h := range r.Hops {
		hops.Names = append(hops.Names, fmt.Sprint(i+1))
		edges, nodes = append(edges, float64(h.Edges)), append(nodes, float64(h.Nodes))
		blocks, requests = append(blocks, float64(h.Blocks)), append(requests, float64(h.Reads))
	}
	hops.Bars = []bars{{"edges", edges}, {"new nodes", nodes}}
	reads.Names, reads.Bars = hops.Names, []bars{{"blocks asked for", blocks}, {"reads", requests}}
	return []chart{depthChart(r.Depths), hops, reads}
}
