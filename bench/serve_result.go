package bench

import (
	"fmt"

	"github.com/aether-ooc/aether-ooc/engine"
	"github.com/aether-ooc/aether-ooc/internal/report"
)

// ServeResult is what was measured. Server and clients share the process, and
// so CPU and memory.
type ServeResult struct {
	Common
	Info        engine.Info   `json:"engine"`
	Request     SampleRequest `json:"request"`
	Clients     int           `json:"clients"`
	RampBatches int64         `json:"ramp_batches"`

	Batches           int64        `json:"batches"` // that clients have got
	SampledEdges      int64        `json:"sampled_edges"`
	Bytes             int64        `json:"bytes"` // of the batches' columns
	SentBytes         int64        `json:"sent_bytes"`
	BatchesPerSecond  float64      `json:"batches_per_second"`
	BytesPerSecond    float64      `json:"bytes_per_second"`
	EdgesPerSecond    float64      `json:"edges_per_second"`
	Latency           Distribution `json:"batch_lat_ns"` // from a client's asking for the next batch to having it
	HitRatio          float64      `json:"hit_ratio"`
	ReadsPerEdge      float64      `json:"reads_per_edge"`
	CPUPerMillion     float64      `json:"cpu_seconds_per_million_edges"`
	WaitingShare      float64      `json:"waiting_share"` // of the clients' time: waiting for the server
	BudgetBytes       int64        `json:"budget_bytes"`
	AllocatedPerBatch float64      `json:"allocs_per_batch"`
}

func (r *serveRun) result(cut bool) *ServeResult {
	a, b := r.from, r.to
	res := &ServeResult{
		Info: r.engine.Info(), Request: requestOf(r.config.Request), Clients: r.config.Clients, RampBatches: r.config.Ramp,
		SampledEdges: b.engine.SampledEdges - a.engine.SampledEdges, Bytes: b.bytes - a.bytes, SentBytes: b.server.Bytes - a.server.Bytes,
	}
	lat := newHistogram()
	for _, c := range r.clients {
		lat.Merge(c.lat)
	}
	res.Batches, res.Latency = lat.TotalCount(), distribution(lat)
	res.keep("batch", &res.Latency)
	res.took(a.usage, b.usage)
	res.CutShort, res.series, res.counted = cut, r.series, "batches"
	res.BudgetBytes = res.Info.Budget.Memory
	asked, misses := b.engine.Total.Asked-a.engine.Total.Asked, b.engine.Total.Misses-a.engine.Total.Misses
	res.HitRatio = ratio(float64(asked-misses), float64(asked))
	res.ReadsPerEdge = ratio(float64(b.engine.Total.Reads-a.engine.Total.Reads), float64(res.SampledEdges))
	res.BatchesPerSecond = ratio(float64(res.Batches), res.Seconds)
	res.BytesPerSecond = ratio(float64(res.Bytes), res.Seconds)
	res.EdgesPerSecond = ratio(float64(res.SampledEdges), res.Seconds)
	res.CPUPerMillion = ratio(res.CPUSeconds*1e6, float64(res.SampledEdges))
	res.AllocatedPerBatch = ratio(float64(res.Allocs), float64(res.Batches))
	res.WaitingShare = min(1, ratio(res.Latency.Mean*float64(res.Batches)/1e9, res.Seconds*float64(res.Clients)))
	res.Verdict = res.verdict()
	return res
}

func (r *ServeResult) verdict() string {
	switch {
	case r.CPUShare >= busy:
		return fmt.Sprintf("compute-bound: %s of its CPUs, shared by server and clients", share(r.CPUShare))
	case r.WaitingShare < 0.5:
		return fmt.Sprintf("waiting for the client: it waits for the server %s of its time only", share(r.WaitingShare))
	default:
		return fmt.Sprintf("waiting for the server, which has %s of its CPUs: see bench sample for what it waits for", share(r.CPUShare))
	}
}

// Metrics implements Result.
func (r *ServeResult) Metrics() []Metric {
	return []Metric{
		{"batches_per_second", r.BatchesPerSecond, Higher}, {"bytes_per_second", r.BytesPerSecond, Higher}, {"edges_per_second", r.EdgesPerSecond, Higher},
		{"batch_lat_ns.p50", float64(r.Latency.P50), Lower}, {"batch_lat_ns.p99", float64(r.Latency.P99), Lower},
		{"hit_ratio", r.HitRatio, Higher}, {"cpu_seconds_per_million_edges", r.CPUPerMillion, Lower}, {"allocs_per_batch", r.AllocatedPerBatch, Lower},
		{"waiting_share", r.WaitingShare, Neither}, {"peak_rss_bytes", float64(r.PeakRSSBytes), Lower},
	}
}

// Text is the report for people.
func (r *ServeResult) Text() string {
	var p report.Page
	q := r.Request
	p.Line("verdict", "%s", r.Verdict)
	p.Line("graph", "%s: %s nodes, %s edges", r.Info.Path, report.Count(int64(r.Info.Nodes)), report.Count(int64(r.Info.Edges)))
	p.Line("request", "fanouts %v, %s seeds a batch, edge ids %s, features %s, seed %d", q.Fanouts, report.Count(int64(q.BatchSize)), onOff(q.EdgeIDs), onOff(q.Features), q.Seed)
	p.Line("engine", "%s, %d lanes of depth %d, %s cache, direct %s", r.Info.Backend, r.Info.Lanes, r.Info.Depth, r.Info.Policy, onOff(r.Info.Direct))
	p.Line("clients", "%d, over a unix socket, in this process", r.Clients)
	p.Line("batches", "%.1f/s (%s in %.2f s after %s of ramp)", r.BatchesPerSecond, report.Count(r.Batches), r.Seconds, report.Count(r.RampBatches))
	p.Line("  latency", "%s", r.Latency.text())
	p.Line("bytes", "%s/s, %s a batch", report.Bytes(int64(r.BytesPerSecond)), report.Bytes(int64(ratio(float64(r.Bytes), float64(r.Batches)))))
	p.Line("edges", "%s/s, hit ratio %s, %.4f reads per edge", rate(r.EdgesPerSecond), share(r.HitRatio), r.ReadsPerEdge)
	p.Line("waiting", "%s of the clients' time, for the server", share(r.WaitingShare))
	p.Line("CPU", "%.2f s per million edges, %s of its CPUs, garbage collector %s of it", r.CPUPerMillion, share(r.CPUShare), share(r.GCCPUShare))
	p.Line("memory", "peak %s with a budget of %s, the clients' share included", report.Bytes(r.PeakRSSBytes), report.Bytes(r.BudgetBytes))
	r.closing(&p)
	return p.String()
}
