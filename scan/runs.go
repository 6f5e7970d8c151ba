package scan

import (
	"errors"
	"io"

	"github.com/aether-ooc/aether-ooc/internal/base"
	"github.com/aether-ooc/aether-ooc/layout"
)

// Run is a part of one node's list that lies in one block. Its slices are valid
// until the next run.
type Run struct {
	Node       base.NodeID
	Neighbours []base.NodeID
	IDs        []base.EdgeID // e_id of each; nil where they were not asked for
}

// Ends gives the k-th edge of the run as source and target.
func (r Run) Ends(d layout.Direction, k int) (src, dst base.NodeID) {
	if d == layout.Out {
		return r.Node, r.Neighbours[k]
	}
	return r.Neighbours[k], r.Node
}

// Runs gives all edges in canonical order.
type Runs struct {
	g      *Graph
	blocks *Blocks
	block  layout.Block
	next   int // list of the block
	lists  int // of the block
	ids    *IDs
	run    Run
}

// Runs begins with the first edge.
func (g *Graph) Runs(ids bool) *Runs {
	r := &Runs{g: g, blocks: g.adjacency()}
	if ids {
		r.ids = g.IDs()
	}
	return r
}

// EachRun calls fn for all edges.
func (g *Graph) EachRun(ids bool, fn func(Run) error) error {
	for runs := g.Runs(ids); ; {
		run, err := runs.Next()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err == nil {
			err = fn(run)
		}
		if err != nil {
			return err
		}
	}
}

// Next gives the next run; io.EOF after the last.
func (r *Runs) Next() (Run, error) {
	if r.next == r.lists {
		if err := r.load(); err != nil {
			return Run{}, err
		}
	}
	list := r.block.List(r.next)
	r.run.Node = r.block.Node(r.next)
	r.next++
	r.run.Neighbours = r.run.Neighbours[:0]
	for e := range list.Len() {
		r.run.Neighbours = append(r.run.Neighbours, list.At(e))
	}
	return r.run, r.takeIDs(list.Len())
}

func (r *Runs) load() error {
	no, b, err := r.blocks.Next()
	if err != nil {
		return err
	}
	if r.block, err = r.g.view(no, b); err != nil {
		return err
	}
	r.next, r.lists = 0, r.block.Lists()
	return nil
}

func (r *Runs) takeIDs(n int) error {
	if r.ids == nil {
		return nil
	}
	r.run.IDs = r.run.IDs[:0]
	for range n {
		id, err := r.ids.Next()
		if err != nil {
			return err
		}
		r.run.IDs = append(r.run.IDs, id)
	}
	return nil
}

// IDs gives the edge ids in canonical order. Where the file has none they are the
// numbers of the edges themselves.
type IDs struct {
	g    *Graph
	in   *Blocks      // nil: counted
	last base.BlockNo // the block of the last id
	b    []byte
	p    base.EdgeIdx // the next edge
}

// IDs begins with the first edge's.
func (g *Graph) IDs() *IDs {
	d := &IDs{g: g}
	if s, ok := g.Table.Find(layout.KindEdgeIDs, 0, 0); ok {
		d.in = g.Section(s)
	}
	return d
}

// Next gives the next edge's id. To ask for more than there are edges is an error
// where the file has ids.
func (d *IDs) Next() (base.EdgeID, error) {
	if d.in == nil {
		d.p++
		return base.EdgeID(d.p - 1), nil
	}
	no, slot := d.g.EdgeIDBlock(d.p)
	if slot == 0 {
		if err := d.load(); err != nil {
			return 0, err
		}
	}
	d.last = no
	d.p++
	return d.g.EdgeIDAt(d.b, slot), nil
}

// Edge is how many ids were given; Block the block that the last one lay in.
func (d *IDs) Edge() base.EdgeIdx  { return d.p }
func (d *IDs) Block() base.BlockNo { return d.last }

func (d *IDs) load() error {
	no, b, err := d.in.Next()
	if errors.Is(err, io.EOF) {
		return d.g.Damage(d.last, "fewer edge ids than edges", d.g.Superblock.Edges, uint64(d.p))
	}
	if err != nil {
		return err
	}
	d.b = b
	return d.g.CheckPadding(no, b)
}
