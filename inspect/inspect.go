package inspect

import (
	"context"

	"github.com/aether-ooc/aether-ooc/internal/base"
	"github.com/aether-ooc/aether-ooc/internal/report"
	"github.com/aether-ooc/aether-ooc/layout"
)

// Result is what a graph is, and how it is packed.
type Result struct {
	Path          string `json:"path"`
	FormatVersion uint32 `json:"format_version"`
	FileBytes     uint64 `json:"file_bytes"`
	Nodes         uint64 `json:"nodes"`
	Edges         uint64 `json:"edges"`
	InputEdges    uint64 `json:"input_edges"`
	Direction     string `json:"direction"` // in: lists are in-neighbours
	EdgeIDs       string `json:"edge_ids"`  // input, canonical or stored
	Undirected    bool   `json:"undirected"`
	Dedup         bool   `json:"dedup"`
	NoLoops       bool   `json:"self_loops_dropped"`
	Fingerprint   string `json:"fingerprint"`
	ContentID     string `json:"content_id"`

	Degrees     Degrees      `json:"degrees"`
	Adjacency   Adjacency    `json:"adjacency"`
	Index       Index        `json:"index"`
	Sections    []Section    `json:"sections"`
	Attachments []Attachment `json:"attachments"`
}

// Degrees are of the lists as stored: in-degrees with direction in.
type Degrees struct {
	Max           uint64  `json:"max"`
	MaxNode       uint64  `json:"max_node"`
	Mean          float64 `json:"mean"`           // over all nodes
	EmptyLists    uint64  `json:"empty_lists"`    // nodes that an edge may still name as a neighbour
	SpanningLists uint64  `json:"spanning_lists"` // that lie in more than one block
	Hubs          uint64  `json:"hubs"`           // that one block could not hold
	HubEdges      uint64  `json:"hub_edges"`
	SelfLoops     uint64  `json:"self_loops"`
	ParallelEdges uint64  `json:"parallel_edges"` // beyond the first of each pair of nodes

	Histogram []DegreeRange `json:"histogram,omitempty"` // with Config.Degrees
}

// Adjacency is the packing of the lists.
type Adjacency struct {
	Encoding       string  `json:"encoding"`
	EntryBits      int     `json:"entry_bits"` // of a neighbour that is written out in full
	Blocks         uint64  `json:"blocks"`
	Bytes          uint64  `json:"bytes"`
	BitsPerEdge    float64 `json:"bits_per_edge"`   // all bytes of the section, shared by the edges
	EntryBytes     uint64  `json:"entry_bytes"`     // of all neighbours
	DirectoryBytes uint64  `json:"directory_bytes"` // headers of blocks included
	SealBytes      uint64  `json:"seal_bytes"`
	PaddingBytes   uint64  `json:"padding_bytes"`
	PaddingShare   float64 `json:"padding_share"` // of the section

	EliasFanoLists   uint64 `json:"elias_fano_lists"` // pieces of lists, one for each block
	EliasFanoEntries uint64 `json:"elias_fano_entries"`
}

// Index is what a reader holds in memory, and what it is read from.
type Index struct {
	MemoryBytes    int64   `json:"memory_bytes"`
	MemoryShare    float64 `json:"memory_share"` // of the file
	FileBytes      uint64  `json:"file_bytes"`
	FileShare      float64 `json:"file_share"`
	PresenceBitmap bool    `json:"presence_bitmap"` // nodes without a list are known without a read
}

// Section is one entry of the section table.
type Section struct {
	Name       string       `json:"name"`
	FirstBlock base.BlockNo `json:"first_block"`
	Blocks     uint64       `json:"blocks"`
	Bytes      uint64       `json:"bytes"`
	Values     uint64       `json:"values"`
	ValueBytes uint8        `json:"value_bytes"` // 0: not of fixed width
}

// Attachment is a file beside the graph.
type Attachment struct {
	Path string `json:"path"`
	layout.Attachment
}

// Run reads the adjacency once and tells what the graph is.
func Run(ctx context.Context, c Config) (*Result, error) {
	j, err := openJob(ctx, c)
	if err != nil {
		return nil, err
	}
	defer j.close()
	r := j.describe()
	j.total = int64(r.Adjacency.Bytes)
	n := census{r: r, degrees: c.Degrees, isHub: j.Superblock.IsHub}
	if err := j.Adjacency(n.block); err != nil {
		return nil, err
	}
	n.finish()
	return r, nil
}

// describe tells what is known without reading the lists.
func (j *job) describe() *Result {
	s := j.Superblock
	r := &Result{
		Path: j.c.Path, FormatVersion: s.Version, FileBytes: s.FileLength, Nodes: s.Nodes, Edges: s.Edges, InputEdges: s.InputEdges,
		Direction: s.Direction.String(), EdgeIDs: s.EdgeIDs.String(), Undirected: s.Undirected, Dedup: s.Dedup, NoLoops: s.NoLoops,
		Fingerprint: s.Fingerprint.String(), ContentID: s.ContentID.String(),
		Adjacency:   Adjacency{Encoding: s.Encoding().String(), Blocks: s.Blocks, Bytes: s.Blocks * base.BlockSize, SealBytes: s.Blocks * 4},
		Sections:    []Section{}, // an empty list in JSON, not null
		Attachments: []Attachment{},
	}
	for _, x := range j.Table {
		r.Sections = append(r.Sections, Section{x.String(), x.First, x.Blocks, x.Bytes(), x.Values, x.Width})
		if x.Kind == layout.KindIndex || x.Kind == layout.KindPresence {
			r.Index.FileBytes += x.Bytes()
		}
	}
	for _, a := range j.Attachments {
		r.Attachments = append(r.Attachments, Attachment{a.Path(j.c.Path), a})
	}
	r.Index.MemoryBytes, r.Index.PresenceBitmap = j.Index.Bytes(), j.Index.Presence() != nil
	r.Index.MemoryShare = report.Ratio(uint64(r.Index.MemoryBytes), s.FileLength)
	r.Index.FileShare = report.Ratio(r.Index.FileBytes, s.FileLength)
	return r
}

// census counts lists, block by block.
type census struct {
	r        *Result
	degrees  bool
	isHub    func(degree uint64, first, last base.NodeID) bool
	lists    uint64
	node     base.NodeID // of the list being counted
	first    base.NodeID // its first neighbour
	degree   uint64      // so far
	spanning bool
	last     base.NodeID // the neighbour before

	histogram histogram
}

func (c *census) block(_ base.BlockNo, k layout.Block) error {
	a := &c.r.Adjacency
	a.EntryBits = k.EntryBits()
	a.EntryBytes += uint64(k.EntryBytes())
	a.PaddingBytes += uint64(k.Padding())
	a.DirectoryBytes += uint64(base.BlockSize - 4 - k.Padding() - k.EntryBytes())
	for i := range k.Lists() {
		if i > 0 || k.ContIn() == 0 {
			c.endList()
			c.node = k.Node(i)
		} else {
			c.spanning = true
		}
		c.count(k.List(i))
	}
	return nil
}

func (c *census) count(l layout.List) {
	if l.EliasFano() {
		c.r.Adjacency.EliasFanoLists++
		c.r.Adjacency.EliasFanoEntries += uint64(l.Len())
	}
	for i := range l.Len() {
		v := l.At(i)
		if c.degree == 0 {
			c.first = v
		}
		if v == c.node {
			c.r.Degrees.SelfLoops++
		}
		if v == c.last && c.degree > 0 {
			c.r.Degrees.ParallelEdges++
		}
		c.last = v
		c.degree++
	}
}

func (c *census) endList() {
	if c.degree == 0 {
		return
	}
	d := &c.r.Degrees
	c.lists++
	c.histogram.add(c.degree)
	if c.degree > d.Max {
		d.Max, d.MaxNode = c.degree, uint64(c.node)
	}
	if c.spanning {
		d.SpanningLists++
	}
	if c.isHub(c.degree, c.first, c.last) {
		d.Hubs++
		d.HubEdges += c.degree
	}
	c.degree, c.spanning = 0, false
}

func (c *census) finish() {
	c.endList()
	r := c.r
	r.Degrees.EmptyLists = r.Nodes - c.lists
	if c.degrees {
		r.Degrees.Histogram = c.histogram.ranges(r.Degrees.EmptyLists)
	}
	r.Degrees.Mean = report.Ratio(r.Edges, r.Nodes)
	r.Adjacency.BitsPerEdge = 8 * report.Ratio(r.Adjacency.Bytes, r.Edges)
	r.Adjacency.PaddingShare = report.Ratio(r.Adjacency.PaddingBytes, r.Adjacency.Bytes)
}
