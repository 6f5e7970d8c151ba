package arrowbatch

import (
	"context"
	"fmt"
	"time"

	"github.com/zeebo/xxh3"

	"github.com/aether-ooc/aether-ooc/engine"
	"github.com/aether-ooc/aether-ooc/internal/host"
	"github.com/aether-ooc/aether-ooc/internal/report"
)

// ExportConfig says what batches to write where.
type ExportConfig struct {
	Engine   *engine.Engine
	Request  engine.Request
	Out      string // Arrow IPC file; "": the batches are made and counted only
	Progress func(phase string, done, total int64)
}

// ExportResult is what Export did.
type ExportResult struct {
	Out          string  `json:"out,omitempty"`
	OutBytes     int64   `json:"out_bytes"`
	Batches      int64   `json:"batches"`
	SampledNodes int64   `json:"sampled_nodes"`
	SampledEdges int64   `json:"sampled_edges"`
	Digest       string  `json:"digest"` // XXH3-128 of all columns of all batches: equal for equal batches
	Seconds      float64 `json:"seconds"`

	Reads             int64   `json:"reads"`
	ReadBytes         int64   `json:"read_bytes"`
	EdgeIDReads       int64   `json:"edge_id_reads"` // of Reads, what e_id cost
	EdgeIDReadBytes   int64   `json:"edge_id_read_bytes"`
	HitRatio          float64 `json:"hit_ratio"`
	ReadAmplification float64 `json:"read_amplification"`
	BudgetBytes       int64   `json:"budget_bytes"`
	PeakRSSBytes      int64   `json:"peak_rss_bytes"`
	Fingerprint       string  `json:"fingerprint"`
}

// Export makes all batches of a request, and writes them to a file that
// appears whole or not at all.
func Export(ctx context.Context, c ExportConfig) (*ExportResult, error) {
	total, err := c.Engine.NumBatches(c.Request)
	if err != nil {
		return nil, err
	}
	cols, err := columns(c.Engine.Info(), c.Request)
	if err != nil {
		return nil, err
	}
	res := &ExportResult{Out: c.Out, Fingerprint: c.Engine.Info().Fingerprint}
	start := time.Now()
	err = c.toFile(func(write func(*engine.Batch) error) error {
		return c.each(ctx, cols, res, total, write)
	}, res)
	if err != nil {
		return nil, err
	}
	res.Seconds = time.Since(start).Seconds()
	res.account(c.Engine)
	return res, nil
}

// toFile lets fill write into the file, if one is wanted, and completes it.
func (c ExportConfig) toFile(fill func(write func(*engine.Batch) error) error, res *ExportResult) error {
	if c.Out == "" {
		return fill(func(*engine.Batch) error { return nil })
	}
	f, err := Create(c.Out, c.Engine.Info(), c.Request)
	if err != nil {
		return err
	}
	defer f.Abort()
	if err := fill(f.Write); err != nil {
		return err
	}
	if err := f.Commit(); err != nil {
		return err
	}
	res.OutBytes = f.out.pos
	return nil
}

func (c ExportConfig) each(ctx context.Context, cols []column, res *ExportResult, total int64, write func(*engine.Batch) error) error {
	hash := xxh3.New()
	for b, err := range c.Engine.Batches(ctx, c.Request) {
		if err != nil {
			return err
		}
		digest(hash, cols, b)
		res.Batches++
		res.SampledNodes += int64(len(b.NID))
		res.SampledEdges += int64(len(b.Row))
		err = write(b)
		b.Release()
		if err != nil {
			return err
		}
		if c.Progress != nil {
			c.Progress("sampling", res.Batches, total)
		}
	}
	sum := hash.Sum128().Bytes()
	res.Digest = fmt.Sprintf("%x", sum)
	return nil
}

// digest adds every column of b, each behind its length.
func digest(h *xxh3.Hasher, cols []column, b *engine.Batch) {
	for _, col := range cols {
		v := newCell(col, b)
		fmt.Fprintf(h, "%s %d\n", col.name, v.bytes)
		for _, p := range v.pieces {
			_, _ = h.Write(p) // a hash's Write never fails
		}
	}
}

func (r *ExportResult) account(e *engine.Engine) {
	s := e.Stats()
	r.Reads, r.ReadBytes = s.Total.Reads, s.Total.ReadBytes
	r.EdgeIDReads, r.EdgeIDReadBytes = s.EdgeIDs.Reads, s.EdgeIDs.ReadBytes
	r.HitRatio, r.ReadAmplification = s.Total.HitRatio(), s.ReadAmplification()
	r.BudgetBytes = e.Info().Budget.Memory
	if peak, err := host.PeakRSS(); err == nil {
		r.PeakRSSBytes = peak
	}
}

// Text is the report for people.
func (r *ExportResult) Text() string {
	var p report.Page
	if r.Out != "" {
		p.Line("file", "%s (%s)", r.Out, report.Bytes(r.OutBytes))
	}
	p.Line("batches", "%s in %.2f s", report.Count(r.Batches), r.Seconds)
	p.Line("sampled", "%s edges, %s nodes", report.Count(r.SampledEdges), report.Count(r.SampledNodes))
	p.Line("reads", "%s (%s), hit ratio %s, %.1f bytes read for each used", report.Count(r.Reads), report.Bytes(r.ReadBytes), report.Percent(r.HitRatio), r.ReadAmplification)
	if r.EdgeIDReads > 0 {
		p.Line("", "%s of them (%s) for edge ids", report.Count(r.EdgeIDReads), report.Bytes(r.EdgeIDReadBytes))
	}
	p.Line("memory", "peak %s with a budget of %s", report.Bytes(r.PeakRSSBytes), report.Bytes(r.BudgetBytes))
	p.Line("digest", "%s", r.Digest)
	return p.String()
}
