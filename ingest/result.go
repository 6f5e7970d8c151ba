//go:build linux

package ingest

import (
	"fmt"
	"strings"
	"time"

	"github.com/dustin/go-humanize"
)

// Result is what a build did. It marshals to JSON; Text is for people.
type Result struct {
	Input  string `json:"input"`
	Format Format `json:"format"`
	Graph  string `json:"graph"`

	InputBytes   int64 `json:"input_bytes"`
	Lines        int64 `json:"lines"`         // of a text
	SkippedLines int64 `json:"skipped_lines"` // comments and blank lines
	InputRows    int64 `json:"input_rows"`    // edges in the input

	Nodes         int64 `json:"nodes"`
	Edges         int64 `json:"edges"`          // entries of all lists, reverses included
	SelfLoops     int64 `json:"self_loops"`     // in the input, dropped or not
	Duplicates    int64 `json:"duplicates"`     // entries with the list and neighbour of an earlier one, dropped or not
	IsolatedNodes int64 `json:"isolated_nodes"` // no edge of the graph touches them

	Direction  string `json:"direction"`
	Undirected bool   `json:"undirected"`
	Dedup      bool   `json:"dedup"`
	NoLoops    bool   `json:"drop_self_loops"`
	EdgeIDs    string `json:"edge_ids"`

	GraphBytes      int64  `json:"graph_bytes"`
	AttachmentBytes int64  `json:"attachment_bytes"`
	Fingerprint     string `json:"fingerprint"`
	ContentID       string `json:"content_id"`

	ReadNs       time.Duration `json:"read_ns"`
	SortNs       time.Duration `json:"sort_ns"`
	WriteNs      time.Duration `json:"write_ns"`
	TotalNs      time.Duration `json:"total_ns"`
	BudgetBytes  int64         `json:"budget_bytes"`
	PeakRSSBytes int64         `json:"peak_rss_bytes"` // of the whole process
	Workers      int           `json:"workers"`
}

// Text is the report for people.
func (r *Result) Text() string {
	var b strings.Builder
	line := func(name, format string, args ...any) {
		fmt.Fprintf(&b, "%-16s%s\n", name, fmt.Sprintf(format, args...))
	}
	line("graph", "%s (%s)", r.Graph, bytesText(r.GraphBytes))
	line("input", "%s (%s, %s)", r.Input, r.Format, bytesText(r.InputBytes))
	if r.Lines > 0 {
		line("lines", "%s, %s skipped (comments, blank)", comma(r.Lines), comma(r.SkippedLines))
	}
	line("input rows", "%s", comma(r.InputRows))
	line("nodes", "%s, %s isolated", comma(r.Nodes), comma(r.IsolatedNodes))
	line("edges", "%s, direction %s%s", comma(r.Edges), r.Direction, ifText(r.Undirected, ", undirected"))
	line("self loops", "%s%s", comma(r.SelfLoops), ifText(r.NoLoops, ", dropped"))
	line("duplicates", "%s%s", comma(r.Duplicates), ifText(r.Dedup, ", dropped"))
	line("edge ids", "%s", r.EdgeIDs)
	if r.AttachmentBytes > 0 {
		line("attachments", "%s", bytesText(r.AttachmentBytes))
	}
	line("fingerprint", "%s", r.Fingerprint)
	line("content id", "%s", r.ContentID)
	line("time", "%s (read %s, sort %s, write %s)", round(r.TotalNs), round(r.ReadNs), round(r.SortNs), round(r.WriteNs))
	line("memory", "peak %s of a budget of %s", bytesText(r.PeakRSSBytes), bytesText(r.BudgetBytes))
	return b.String()
}

func comma(n int64) string            { return humanize.Comma(n) }
func bytesText(n int64) string        { return humanize.IBytes(uint64(n)) }
func round(d time.Duration) string    { return d.Round(time.Millisecond).String() }
func ifText(on bool, s string) string { return map[bool]string{true: s}[on] }

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
		r.Path, comma(r.Edges), comma(r.Nodes), bytesText(r.Bytes), ifText(r.DType != "", " of "+r.DType), round(r.TotalNs))
}
