package inspect

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"strconv"

	"github.com/aether-ooc/aether-ooc/internal/base"
	"github.com/aether-ooc/aether-ooc/layout"
)

// ExtractConfig is what Extract is asked.
type ExtractConfig struct {
	Path    string
	Nodes   []base.NodeID // whose lists to print, in this order
	EdgeIDs bool          // with e_id of each edge
	JSON    bool          // one JSON object for each node, in place of text
	Out     io.Writer
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
	for i, v := range c.Nodes {
		if n := j.Superblock.Nodes; uint64(v) >= n {
			return option("node %d (the %d. of the list): the graph has %d nodes, give ids below that", v, i+1, n)
		}
	}
	x := &extractor{job: j, c: c, block: make([]byte, base.BlockSize), list: list{Neighbours: []base.NodeID{}}}
	out := buffered(c.Out)
	for _, v := range c.Nodes {
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
		return json.NewEncoder(w).Encode(x.list)
	}
	line := fmt.Appendf(nil, "%d\t%d\t", x.list.Node, x.list.Degree)
	line = appendNumbers(line, x.list.Neighbours)
	if x.c.EdgeIDs {
		line = appendNumbers(append(line, '\t'), x.list.EdgeIDs)
	}
	_, err := w.Write(append(line, '\n'))
	return err
}

func appendNumbers[T base.NodeID | base.EdgeID](line []byte, xs []T) []byte {
	for i, x := range xs {
		if i > 0 {
			line = append(line, ' ')
		}
		line = strconv.AppendUint(line, uint64(x), 10)
	}
	return line
}
