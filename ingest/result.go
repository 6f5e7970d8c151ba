//go:build linux

package ingest

import (
	"cmp"
	"fmt"
	"strings"
	"time"

	"github.com/aether-ooc/aether-ooc/internal/report"
	"github.com/aether-ooc/aether-ooc/layout"
)

// Way is where the edges were sorted.
type Way string

// The ways of a build.
const (
	InMemory Way = "in memory"
	External Way = "external" // through a temporary file
)

// uncounted stands for a number that nobody knows.
const uncounted = -1

// Result is what a build or a merge did. It marshals to JSON; Text is for people.
type Result struct {
	Input  string `json:"input"`
	Format Format `json:"format"`
	Graph  string `json:"graph"`

	Base      string `json:"base,omitempty"` // the graph that the input was merged with; what is said of the input does not include it
	BaseRows  int64  `json:"base_rows,omitempty"`
	BaseEdges int64  `json:"base_edges,omitempty"`

	InputBytes   int64 `json:"input_bytes"`
	Lines        int64 `json:"lines"`         // of a text
	SkippedLines int64 `json:"skipped_lines"` // comments and blank lines
	InputRows    int64 `json:"input_rows"`    // edges in the input

	Nodes         int64 `json:"nodes"`
	Edges         int64 `json:"edges"`          // entries of all lists, reverses included
	SelfLoops     int64 `json:"self_loops"`     // in the input, dropped or not
	Duplicates    int64 `json:"duplicates"`     // entries with the list and neighbour of an earlier one, dropped or not
	IsolatedNodes int64 `json:"isolated_nodes"` // no edge of the graph touches them; -1: not counted, for want of memory or in a merge

	Direction  string `json:"direction"`
	Undirected bool   `json:"undirected"`
	Dedup      bool   `json:"dedup"`
	NoLoops    bool   `json:"drop_self_loops"`
	EdgeIDs    string `json:"edge_ids"`
	Original   string `json:"original_ids"` // none, ids or names: what the graph keeps of the nodes' own

	GraphBytes      int64  `json:"graph_bytes"`
	AttachmentBytes int64  `json:"attachment_bytes"`
	Fingerprint     string `json:"fingerprint"`
	ContentID       string `json:"content_id"`

	Way         Way   `json:"way"`
	Partitions  int64 `json:"partitions"`         // of an external build: that were sorted
	Recuts      int64 `json:"recut_partitions"`   // that did not fit in memory and were cut again
	TempWritten int64 `json:"temp_written_bytes"` // to the temporary file, edge ids included
	TempRead    int64 `json:"temp_read_bytes"`
	TempPeak    int64 `json:"temp_peak_bytes"` // the most that it held at once

	RelabelWritten int64 `json:"relabel_written_bytes"` // to a temporary file of its own
	RelabelRead    int64 `json:"relabel_read_bytes"`
	RelabelPeak    int64 `json:"relabel_peak_bytes"`

	ReadNs       time.Duration `json:"read_ns"` // of an external build: until all edges are on disk
	SortNs       time.Duration `json:"sort_ns"` // 0 for an external build, which sorts while it writes
	WriteNs      time.Duration `json:"write_ns"`
	TotalNs      time.Duration `json:"total_ns"`
	BudgetBytes  int64         `json:"budget_bytes"`
	PeakRSSBytes int64         `json:"peak_rss_bytes"` // of the whole process
	Workers      int           `json:"workers"`
}

// Text is the report for people.
func (r *Result) Text() string {
	var p report.Page
	p.Line("graph", "%s (%s)", r.Graph, report.Bytes(r.GraphBytes))
	if r.Base != "" {
		p.Line("merged with", "%s (%s edges of %s rows)", r.Base, report.Count(r.BaseEdges), report.Count(r.BaseRows))
	}
	p.Line("input", "%s (%s, %s)", r.Input, cmp.Or(r.Format, "several formats"), report.Bytes(r.InputBytes))
	if r.Lines > 0 {
		p.Line("lines", "%s, %s skipped (comments, blank)", report.Count(r.Lines), report.Count(r.SkippedLines))
	}
	p.Line("input rows", "%s", report.Count(r.InputRows))
	p.Line("nodes", "%s, %s isolated", report.Count(r.Nodes), r.isolated())
	p.Line("edges", "%s, direction %s%s", report.Count(r.Edges), r.Direction, report.If(r.Undirected, ", undirected"))
	p.Line("self loops", "%s%s", report.Count(r.SelfLoops), report.If(r.NoLoops, ", dropped"))
	p.Line("duplicates", "%s%s", report.Count(r.Duplicates), report.If(r.Dedup, ", dropped"))
	p.Line("edge ids", "%s", r.EdgeIDs)
	if r.Original != layout.NoOriginal.String() {
		p.Line("original ids", "%s; temporary file %s written, %s read, %s at most", r.Original,
			report.Bytes(r.RelabelWritten), report.Bytes(r.RelabelRead), report.Bytes(r.RelabelPeak))
	}
	if r.AttachmentBytes > 0 {
		p.Line("attachments", "%s", report.Bytes(r.AttachmentBytes))
	}
	p.Line("fingerprint", "%s", r.Fingerprint)
	p.Line("content id", "%s", r.ContentID)
	p.Line("sorted", "%s", r.way())
	p.Line("time", "%s (read %s, sort %s, write %s)", round(r.TotalNs), round(r.ReadNs), round(r.SortNs), round(r.WriteNs))
	p.Line("memory", "peak %s of a budget of %s", report.Bytes(r.PeakRSSBytes), report.Bytes(r.BudgetBytes))
	return p.String()
}

// listed names the first of many files.
func listed(files []string) string {
	const most = 3
	if len(files) <= most {
		return strings.Join(files, ", ")
	}
	return fmt.Sprintf("%s and %d more", strings.Join(files[:most], ", "), len(files)-most)
}

func (r *Result) isolated() string {
	if r.IsolatedNodes < 0 {
		return "uncounted"
	}
	return report.Count(r.IsolatedNodes)
}

func (r *Result) way() string {
	if r.Way != External {
		return string(r.Way)
	}
	return fmt.Sprintf("%s, in %s partitions (%s cut again); temporary file %s written, %s read, %s at most",
		r.Way, report.Count(r.Partitions), report.Count(r.Recuts), report.Bytes(r.TempWritten), report.Bytes(r.TempRead), report.Bytes(r.TempPeak))
}

func round(d time.Duration) string { return d.Round(time.Millisecond).String() }

// RMATResult is what RMAT did.
type RMATResult struct {
	Path    string        `json:"path"`
	Format  Format        `json:"format"`
	DType   string        `json:"dtype,omitempty"`
	Scale   int           `json:"scale"`
	Seed    uint64        `json:"seed"`
	Nodes   int64         `json:"nodes"`
	Edges   int64         `json:"edges"`
	Bytes   int64         `json:"bytes"`
	TotalNs time.Duration `json:"total_ns"`
}

// Text is the report for people.
func (r *RMATResult) Text() string {
	return fmt.Sprintf("%s: %s edges between %s nodes, %s%s, in %s\n",
		r.Path, report.Count(r.Edges), report.Count(r.Nodes), report.Bytes(r.Bytes), report.If(r.DType != "", " of "+r.DType), round(r.TotalNs))
}
