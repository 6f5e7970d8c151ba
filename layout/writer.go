package layout

import (
	"errors"
	"fmt"
	"io"

	"github.com/aether-ooc/aether-ooc/internal/base"
	"github.com/aether-ooc/aether-ooc/internal/binfmt"
)

// WriterConfig is what a Writer must know before the first list.
type WriterConfig struct {
	Nodes      uint64
	InputEdges uint64 // rows of the input; every edge id is below it
	Direction  Direction
	EdgeIDs    EdgeIDMode
	Undirected bool // each edge comes twice, once in either end's list (a loop once)
	Dedup      bool
	NoLoops    bool
	Encoding   Encoding
	Original   Original // what is kept of the nodes' own ids
	NameSeed   uint64   // of their names' hashes
}

// indexShare is the part of a file that its index may take in memory: 1/200.
const indexShare = 200

// maxEdges is how many edges can come at most.
func (c WriterConfig) maxEdges() uint64 {
	if c.Undirected {
		return 2 * c.InputEdges
	}
	return c.InputEdges
}

// presenceBytes is the size of the presence bitmap, 0 where the file cannot
// become large enough for it: an edge takes less than 32 bytes in it.
func (c WriterConfig) presenceBytes() uint64 {
	n := (c.Nodes + 7) / 8
	if n > (c.maxEdges()*32+streamBytes)/indexShare {
		return 0
	}
	return n
}

// Writer writes graph.bin. Its calls come in the order List…, EdgeIDs…,
// OriginalIDs…, NameEnds…, Names…, Finish; the bytes go out in file order but for the superblock, which is written last.
// After an error a Writer is of no further use.
type Writer struct {
	c          WriterConfig
	out        *stream
	blocks     packer
	rows       rows
	presence   []byte
	fp         *Fingerprinter
	content    *ContentHasher
	node       base.NodeID // of the last list
	neighbour  base.NodeID // the last one in it
	edges, ids uint64
	ended      bool // the lists
	idsEnded   bool
	sb         Superblock
	table      Table
	idValues   *values
	original   *values     // the column of original ids that is being written
	originalID base.NodeID // the last one
	nameEnd    uint64      // of the last name
}

// rows are the index rows of the blocks so far; edges are kept as counts.
type rows struct {
	firstNode                []uint64
	entries, contIn, contOut []uint16
}

// NewWriter starts a file. w is written from block 1 on; block 0 comes last.
func NewWriter(w io.WriterAt, c WriterConfig) (*Writer, error) {
	if c.Nodes > MaxNodes || c.InputEdges > MaxNodes/2 {
		return nil, fmt.Errorf("layout: %d nodes and %d edges: more than 63 bits", c.Nodes, c.InputEdges)
	}
	if c.Encoding > Compact {
		return nil, fmt.Errorf("layout: %v is not known", c.Encoding)
	}
	out := &Writer{
		c: c, out: newStream(w, 1), presence: make([]byte, c.presenceBytes()),
		fp: NewFingerprinter(c.Direction), content: NewContentHasher(c.EdgeIDs),
	}
	out.blocks = newPacker(c, out.endBlock)
	return out, nil
}

// List adds v's list, or goes on with it when it was the last one. Nodes
// ascend, neighbours do not decrease; an empty list leaves no trace.
func (w *Writer) List(v base.NodeID, neighbours []base.NodeID) error {
	if len(neighbours) == 0 {
		return nil
	}
	if err := w.checkList(v, neighbours); err != nil {
		return err
	}
	w.fp.List(v, neighbours)
	w.node, w.neighbour = v, neighbours[len(neighbours)-1]
	w.edges += uint64(len(neighbours))
	if len(w.presence) > 0 {
		w.presence[v/8] |= 1 << (v % 8)
	}
	return w.blocks.list(uint64(v), neighbours)
}

// checkList refuses what would not be canonical order.
func (w *Writer) checkList(v base.NodeID, neighbours []base.NodeID) error {
	last := base.NodeID(0)
	switch {
	case w.ended:
		return errors.New("layout: a list after the last one")
	case uint64(v) >= w.c.Nodes:
		return fmt.Errorf("layout: list of node %d in a graph of %d nodes", v, w.c.Nodes)
	case w.edges > 0 && v < w.node:
		return fmt.Errorf("layout: list of node %d after that of %d", v, w.node)
	case w.edges > 0 && v == w.node:
		last = w.neighbour
	}
	for _, n := range neighbours {
		if n < last || uint64(n) >= w.c.Nodes {
			return fmt.Errorf("layout: neighbour %d of node %d after %d, in a graph of %d nodes", n, v, last, w.c.Nodes)
		}
		last = n
	}
	return nil
}

// endBlock sends the block on its way; after: its last list goes on.
func (w *Writer) endBlock(after bool) error {
	b, err := w.out.begin()
	if err != nil {
		return err
	}
	w.blocks.put(b, after)
	row := w.blocks.row(after)
	w.rows.firstNode = append(w.rows.firstNode, row.firstNode)
	w.rows.entries = append(w.rows.entries, row.entries)
	w.rows.contIn = append(w.rows.contIn, row.contIn)
	w.rows.contOut = append(w.rows.contOut, row.contOut)
	w.blocks.reset(after)
	return nil
}

// endLists closes the adjacency section and begins that of the edge ids.
func (w *Writer) endLists() error {
	if w.ended {
		return nil
	}
	w.ended = true
	if err := w.blocks.end(); err != nil {
		return err
	}
	if err := w.checkCounts(); err != nil {
		return err
	}
	w.sb = Superblock{
		Version: FormatVersion, Incompat: w.c.Encoding.features(), Nodes: w.c.Nodes, Edges: w.edges, Blocks: uint64(len(w.rows.entries)), InputEdges: w.c.InputEdges,
		Direction: w.c.Direction, EdgeIDs: w.c.EdgeIDs, Undirected: w.c.Undirected, Dedup: w.c.Dedup, NoLoops: w.c.NoLoops,
		Fingerprint: w.fp.Sum(w.c.Nodes),
	}
	w.table = Table{{Kind: KindAdjacency, First: 1, Blocks: w.sb.Blocks, Values: w.edges}}
	w.idValues = w.out.values(KindEdgeIDs, 0, int(columnWidth(w.c.InputEdges)))
	return nil
}

func (w *Writer) checkCounts() error {
	switch {
	case w.edges > w.c.maxEdges():
		return fmt.Errorf("layout: %d edges from %d rows", w.edges, w.c.InputEdges)
	case w.c.EdgeIDs == EdgeIDsCanonical && w.edges != w.c.InputEdges:
		return fmt.Errorf("layout: %d edges from %d rows cannot be the rows in order", w.edges, w.c.InputEdges)
	}
	return nil
}

// Fingerprint ends the lists and gives the graph's fingerprint, which the sums
// of attachments carry.
func (w *Writer) Fingerprint() (base.Fingerprint, error) {
	err := w.endLists()
	return w.sb.Fingerprint, err
}

// EdgeIDs adds the ids of the next edges in canonical order. With
// EdgeIDsInput all edges must get theirs before Finish; else none.
func (w *Writer) EdgeIDs(ids []base.EdgeID) error {
	if err := w.endLists(); err != nil {
		return err
	}
	if w.ids += uint64(len(ids)); w.c.EdgeIDs != EdgeIDsInput || w.ids > w.edges {
		return fmt.Errorf("layout: %d edge ids for %d edges, mode %v", w.ids, w.edges, w.c.EdgeIDs)
	}
	for _, id := range ids {
		if uint64(id) >= w.c.InputEdges {
			return fmt.Errorf("layout: edge id %d of an input of %d rows", id, w.c.InputEdges)
		}
	}
	putWords(&w.content.ids, ids)
	return putValues(w.idValues, ids)
}

// Finish writes index, attachments, table and superblock.
func (w *Writer) Finish(list []Attachment) (Superblock, error) {
	if err := w.endLists(); err != nil {
		return Superblock{}, err
	}
	attachments, err := encodeAttachments(list)
	if err != nil {
		return Superblock{}, err
	}
	for _, end := range []func() error{w.endEdgeIDs, w.endOriginal} {
		if err := end(); err != nil {
			return Superblock{}, err
		}
	}
	if err := w.putIndex(); err != nil {
		return Superblock{}, err
	}
	if err := w.putPresence(uint64(len(attachments))); err != nil {
		return Superblock{}, err
	}
	if len(attachments) > 0 {
		if err := w.putBytes(KindAttachments, attachments); err != nil {
			return Superblock{}, err
		}
	}
	if err := w.putTable(); err != nil {
		return Superblock{}, err
	}
	w.sb.ContentID = w.content.Sum(w.sb.Fingerprint, attachments)
	w.sb.FileLength = w.out.next * base.BlockSize
	_, err = w.out.w.WriteAt(w.sb.Encode(), 0)
	return w.sb, err
}

func (w *Writer) endEdgeIDs() error {
	if w.c.EdgeIDs != EdgeIDsInput || w.idsEnded {
		return nil
	}
	w.idsEnded = true
	if w.ids != w.edges {
		return fmt.Errorf("layout: %d edge ids for %d edges", w.ids, w.edges)
	}
	w.table = append(w.table, w.idValues.sec)
	return nil
}

// putIndex writes the four columns.
func (w *Writer) putIndex() error {
	edge := uint64(0)
	firstEdge := func(i int) uint64 { e := edge; edge += uint64(w.rows.entries[i]); return e }
	for _, c := range []struct {
		column uint16
		width  uint8
		at     func(i int) uint64
	}{
		{ColFirstNode, columnWidth(w.c.Nodes), func(i int) uint64 { return w.rows.firstNode[i] }},
		{ColFirstEdge, columnWidth(w.edges), firstEdge},
		{ColContIn, 2, func(i int) uint64 { return uint64(w.rows.contIn[i]) }},
		{ColContOut, 2, func(i int) uint64 { return uint64(w.rows.contOut[i]) }},
	} {
		v := w.out.values(KindIndex, c.column, int(c.width))
		for i := range w.rows.entries {
			if err := v.put(c.at(i)); err != nil {
				return err
			}
		}
		w.table = append(w.table, v.sec)
	}
	return nil
}

// putPresence writes the bitmap where the index stays within its share of the
// file; what else will be in the file is known by now.
func (w *Writer) putPresence(attachments uint64) error {
	after := w.out.next + binfmt.BlocksFor(attachments, 1) + 1 // 1: the table
	n := uint64(len(w.presence))
	index := uint64(indexBytes(w.c.Nodes, w.edges, w.sb.Blocks)) + n
	if n == 0 || index > (after+binfmt.BlocksFor(n, 1))*base.BlockSize/indexShare {
		return nil
	}
	return w.putBytes(KindPresence, w.presence)
}

func (w *Writer) putBytes(k Kind, b []byte) error {
	v := w.out.values(k, 0, 1)
	err := v.putBytes(b)
	w.table = append(w.table, v.sec)
	return err
}

func (w *Writer) putTable() error {
	w.sb.TableFirst, w.sb.TableEntries = base.BlockNo(w.out.next), uint64(len(w.table))
	w.sb.TableBlocks = (w.sb.TableEntries + tablePerBlock - 1) / tablePerBlock
	for at := 0; at < len(w.table); at += tablePerBlock {
		b, err := w.out.begin()
		if err != nil {
			return err
		}
		for i, s := range w.table[at:min(at+tablePerBlock, len(w.table))] {
			s.put(b[i*tableEntryBytes:])
		}
	}
	return w.out.flush()
}
