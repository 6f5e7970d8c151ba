package inspect

import (
	"fmt"
	"strings"
	"text/tabwriter"

	"github.com/dustin/go-humanize"
)

// page builds a page of aligned lines.
type page struct {
	s strings.Builder
	w *tabwriter.Writer
}

func newPage() *page {
	p := &page{}
	p.w = tabwriter.NewWriter(&p.s, 0, 0, 2, ' ', 0)
	return p
}

func (p *page) line(label, format string, args ...any) {
	fmt.Fprintf(p.w, "%s\t%s\n", label, fmt.Sprintf(format, args...))
}

func (p *page) String() string {
	p.w.Flush()
	return p.s.String()
}

func count(n uint64) string { return humanize.Comma(int64(n)) }

func ibytes(n uint64) string { return humanize.IBytes(n) }

func percent(x float64) string { return fmt.Sprintf("%.2f %%", 100*x) }

// idWords say what e_id is, in each mode.
var idWords = map[string]string{
	"input":     "the edge's row in the input (in a section of their own)",
	"canonical": "the edge's row in the input (which is in canonical order: nothing is stored)",
	"stored":    "the edge's position in canonical order, NOT its row in the input (built with --edge-ids=stored)",
}

// Text is the result for people.
func (r *Result) Text() string {
	p := newPage()
	p.line("graph", "%s, format %d, %s", r.Path, r.FormatVersion, ibytes(r.FileBytes))
	p.line("nodes", "%s, of them %s without %s-neighbours", count(r.Nodes), count(r.Degrees.EmptyLists), r.Direction)
	p.line("edges", "%s from %s rows of input%s", count(r.Edges), count(r.InputEdges), r.options())
	p.line("direction", "%s: a node's list holds its %s-neighbours", r.Direction, r.Direction)
	p.line("edge ids", "%s: %s", r.EdgeIDs, idWords[r.EdgeIDs])
	r.packing(p)
	p.line("fingerprint", "%s", r.Fingerprint)
	p.line("content id", "%s", r.ContentID)
	for _, s := range r.Sections {
		p.line("section", "%s: %s from block %d, %s values", s.Name, ibytes(s.Bytes), s.FirstBlock, count(s.Values))
	}
	for _, a := range r.Attachments {
		p.line("attachment", "%s %s: %s %v, %s, %s", a.Role, a.Name, a.DType, a.Shape, ibytes(a.Bytes), a.Path)
	}
	return p.String()
}

func (r *Result) packing(p *page) {
	d, a, x := r.Degrees, r.Adjacency, r.Index
	p.line("degrees", "mean %.2f, max %s (node %d)", d.Mean, count(d.Max), d.MaxNode)
	p.line("", "%s self loops, %s parallel edges", count(d.SelfLoops), count(d.ParallelEdges))
	p.line("spanning lists", "%s lie in more than one block, %s of them hubs with %s edges", count(d.SpanningLists), count(d.Hubs), count(d.HubEdges))
	p.line("encoding", "%s, %d bytes an entry, %.2f bits per edge", a.Encoding, a.EntryBytes, a.BitsPerEdge)
	p.line("adjacency", "%s blocks, %s, padding %s", count(a.Blocks), ibytes(a.Bytes), percent(a.PaddingShare))
	p.line("index", "%s in memory (%s of the file), %s in the file (%s)%s", ibytes(uint64(x.MemoryBytes)), percent(x.MemoryShare),
		ibytes(x.FileBytes), percent(x.FileShare), map[bool]string{true: ", with a presence bitmap"}[x.PresenceBitmap])
}

func (r *Result) options() string {
	var s string
	for _, o := range []struct {
		set  bool
		word string
	}{{r.Undirected, "undirected"}, {r.Dedup, "parallel edges merged"}, {r.NoLoops, "self loops dropped"}} {
		if o.set {
			s += ", " + o.word
		}
	}
	return s
}

// Text is the result for people.
func (r *VerifyResult) Text() string {
	p := newPage()
	p.line("graph", "%s: whole", r.Path)
	p.line("checked", "%s bytes of the graph, %s bytes beside it", count(r.GraphBytes), count(r.BesideBytes))
	for _, c := range r.Checks {
		p.line("", "%s", c)
	}
	for _, c := range r.Unchecked {
		p.line("NOT checked", "%s", c)
	}
	p.line("fingerprint", "%s", r.Fingerprint)
	p.line("content id", "%s", r.ContentID)
	return p.String()
}
