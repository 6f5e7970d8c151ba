package inspect

import "github.com/aether-ooc/aether-ooc/internal/report"

// idWords say what e_id is, in each mode.
var idWords = map[string]string{
	"input":     "the edge's row in the input (in a section of their own)",
	"canonical": "the edge's row in the input (which is in canonical order: nothing is stored)",
	"stored":    "the edge's position in canonical order, NOT its row in the input (built with --edge-ids=stored)",
}

// Text is the result for people.
func (r *Result) Text() string {
	p := &report.Page{}
	p.Line("graph", "%s, format %d, %s", r.Path, r.FormatVersion, report.Bytes(r.FileBytes))
	p.Line("nodes", "%s, of them %s without %s-neighbours", report.Count(r.Nodes), report.Count(r.Degrees.EmptyLists), r.Direction)
	p.Line("edges", "%s from %s rows of input%s", report.Count(r.Edges), report.Count(r.InputEdges), r.options())
	p.Line("direction", "%s: a node's list holds its %s-neighbours", r.Direction, r.Direction)
	p.Line("edge ids", "%s: %s", r.EdgeIDs, idWords[r.EdgeIDs])
	r.packing(p)
	r.histogramLines(p)
	p.Line("fingerprint", "%s", r.Fingerprint)
	p.Line("content id", "%s", r.ContentID)
	for _, s := range r.Sections {
		p.Line("section", "%s: %s from block %d, %s values", s.Name, report.Bytes(s.Bytes), s.FirstBlock, report.Count(s.Values))
	}
	for _, a := range r.Attachments {
		p.Line("attachment", "%s %s: %s %v, %s, %s", a.Role, a.Name, a.DType, a.Shape, report.Bytes(a.Bytes), a.Path)
	}
	return p.String()
}

func (r *Result) packing(p *report.Page) {
	d, a, x := r.Degrees, r.Adjacency, r.Index
	p.Line("degrees", "mean %.2f, max %s (node %d)", d.Mean, report.Count(d.Max), d.MaxNode)
	p.Line("", "%s self loops, %s parallel edges", report.Count(d.SelfLoops), report.Count(d.ParallelEdges))
	p.Line("spanning lists", "%s lie in more than one block, %s of them hubs with %s edges", report.Count(d.SpanningLists), report.Count(d.Hubs), report.Count(d.HubEdges))
	p.Line("encoding", "%s, %d bits an entry, %.2f bits per edge", a.Encoding, a.EntryBits, a.BitsPerEdge)
	if a.EliasFanoLists > 0 {
		p.Line("", "%s entries (%s) in %s lists in Elias-Fano", report.Count(a.EliasFanoEntries), report.Percent(report.Ratio(a.EliasFanoEntries, r.Edges)), report.Count(a.EliasFanoLists))
	}
	p.Line("adjacency", "%s blocks, %s, padding %s", report.Count(a.Blocks), report.Bytes(a.Bytes), report.Percent(a.PaddingShare))
	p.Line("index", "%s in memory (%s of the file), %s in the file (%s)%s", report.Bytes(x.MemoryBytes), report.Percent(x.MemoryShare),
		report.Bytes(x.FileBytes), report.Percent(x.FileShare), report.If(x.PresenceBitmap, ", with a presence bitmap"))
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
	p := &report.Page{}
	p.Line("graph", "%s: whole", r.Path)
	p.Line("checked", "%s bytes of the graph, %s bytes beside it", report.Count(r.GraphBytes), report.Count(r.BesideBytes))
	for _, c := range r.Checks {
		p.Line("", "%s", c)
	}
	for _, c := range r.Unchecked {
		p.Line("NOT checked", "%s", c)
	}
	p.Line("fingerprint", "%s", r.Fingerprint)
	p.Line("content id", "%s", r.ContentID)
	return p.String()
}
