package inspect

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"strings"

	"github.com/aether-ooc/aether-ooc/internal/base"
	"github.com/aether-ooc/aether-ooc/layout"
)

// ExtractConfig is what Extract is asked.
type ExtractConfig struct {
	Path     string
	Words    []string      // nodes whose lists to print, in this order
	Nodes    []base.NodeID // likewise, after them
	Original bool          // nodes are given, and printed, by their own ids or names
	EdgeIDs  bool          // with e_id of each edge
	JSON     bool          // one JSON object for each node, in place of text
	Out      io.Writer
}

// list is a node's list as Extract prints it.
type list struct {
	Node       base.NodeID   `json:"node"`
	Degree     int           `json:"degree"`
	Neighbours []base.NodeID `json:"neighbours"`
	EdgeIDs    []base.EdgeID `json:"edge_ids,omitempty"`
}

// Extract prints the lists of nodes in canonical order, a line for each node:
// node, tab, degree, tab, the neighbours, and with EdgeIDs tab, their edge ids.
// Only the blocks that hold them are read.
func Extract(ctx context.Context, c ExtractConfig) error {
	j, err := openJob(ctx, Config{Path: c.Path})
	if err != nil {
		return err
	}
	defer j.close()
	label, err := j.labels(c.Original)
	if err != nil {
		return err
	}
	nodes, err := label.find(c.Words, c.Nodes)
	if err != nil {
		return err
	}
	for i, v := range nodes {
		if n := j.Superblock.Nodes; uint64(v) >= n {
			return option("node %d (the %d. of the list): the graph has %d nodes, give ids below that", v, i+1, n)
		}
	}
	x := &extractor{job: j, c: c, label: label, block: make([]byte, base.BlockSize), list: list{Neighbours: []base.NodeID{}}}
	out := buffered(c.Out)
	for _, v := range nodes {
		if err := context.Cause(ctx); err != nil {
			return err
		}
		if err := x.find(v); err != nil {
			return err
		}
		if err := x.print(out); err != nil {
			return err
		}
	}
	return out.Flush()
}

type extractor struct {
	*job
	c     ExtractConfig
	label *labels
	block []byte
	list  list
}

// find reads the list of v.
func (x *extractor) find(v base.NodeID) error {
	x.list = list{Node: v, Neighbours: x.list.Neighbours[:0], EdgeIDs: x.list.EdgeIDs[:0]}
	span := x.Index.Locate(v)
	if span.Where == layout.Absent {
		return nil
	}
	for no := span.First; no <= span.Last; no++ {
		if err := x.piece(v, no); err != nil {
			return err
		}
	}
	x.list.Degree = len(x.list.Neighbours)
	return nil
}

// piece takes the part of v's list that lies in a block.
func (x *extractor) piece(v base.NodeID, no base.BlockNo) error {
	if err := x.read(no); err != nil {
		return err
	}
	k, err := layout.ViewBlock(x.block)
	if err != nil {
		return x.Place(no, err)
	}
	l := k.Find(v)
	for i := range l.Len() {
		x.list.Neighbours = append(x.list.Neighbours, l.At(i))
	}
	if !x.c.EdgeIDs {
		return nil
	}
	return x.ids(x.Index.FirstEdge(no)+base.EdgeIdx(l.Pos()), l.Len())
}

// ids takes the ids of n edges from p on.
func (x *extractor) ids(p base.EdgeIdx, n int) error {
	loaded, have := base.BlockNo(0), false
	for end := p + base.EdgeIdx(n); p < end; p++ {
		if !x.HasEdgeIDs() {
			x.list.EdgeIDs = append(x.list.EdgeIDs, base.EdgeID(p))
			continue
		}
		no, slot := x.EdgeIDBlock(p)
		if !have || no != loaded {
			if err := x.read(no); err != nil {
				return err
			}
			loaded, have = no, true
		}
		x.list.EdgeIDs = append(x.list.EdgeIDs, x.EdgeIDAt(x.block, slot))
	}
	return nil
}

func (x *extractor) read(no base.BlockNo) error {
	return x.Block(no, x.block)
}

func (x *extractor) print(w io.Writer) error {
	if x.c.JSON {
		return x.printJSON(json.NewEncoder(w))
	}
	line, err := x.label.append(nil, x.list.Node)
	if err != nil {
		return err
	}
	line = fmt.Appendf(line, "\t%d\t", x.list.Degree)
	for i, v := range x.list.Neighbours {
		if i > 0 {
			line = append(line, ' ')
		}
		if line, err = x.label.append(line, v); err != nil {
			return err
		}
	}
	if x.c.EdgeIDs {
		line = append(append(line, '\t'), strings.Trim(fmt.Sprint(x.list.EdgeIDs), "[]")...)
	}
	_, err = w.Write(append(line, '\n'))
	return err
}

// namedList is a list of nodes with names.
type namedList struct {
	Node       string        `json:"node"`
	Degree     int           `json:"degree"`
	Neighbours []string      `json:"neighbours"`
	EdgeIDs    []base.EdgeID `json:"edge_ids,omitempty"`
}

func (x *extractor) printJSON(out *json.Encoder) error {
	l := &x.list
	if x.label.named() {
		return x.printNamed(out)
	}
	var err error
	if l.Node, err = x.label.id(l.Node); err != nil {
		return err
	}
	for i, v := range l.Neighbours {
		if l.Neighbours[i], err = x.label.id(v); err != nil {
			return err
		}
	}
	return out.Encode(l)
}

func (x *extractor) printNamed(out *json.Encoder) error {
	n := namedList{Degree: x.list.Degree, Neighbours: []string{}, EdgeIDs: x.list.EdgeIDs}
	for i, v := range append([]base.NodeID{x.list.Node}, x.list.Neighbours...) {
		name, err := x.label.name(v)
		switch {
		case err != nil:
			return err
		case i == 0:
			n.Node = string(name)
		default:
			n.Neighbours = append(n.Neighbours, string(name))
		}
	}
	return out.Encode(n)
}
