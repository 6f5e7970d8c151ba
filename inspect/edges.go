package inspect

import (
	"errors"
	"io"

	"github.com/aether-ooc/aether-ooc/internal/base"
	"github.com/aether-ooc/aether-ooc/layout"
)

// run is a part of one node's list that lies in one block. Its slices are valid
// until the callback that got it returns.
type run struct {
	node       base.NodeID
	neighbours []base.NodeID
	ids        []base.EdgeID // e_id of each; nil where they were not asked for
}

// ends gives the k-th edge of the run as source and target.
func (r run) ends(d layout.Direction, k int) (src, dst base.NodeID) {
	if d == layout.Out {
		return r.node, r.neighbours[k]
	}
	return r.neighbours[k], r.node
}

// eachRun calls fn for all edges in canonical order.
func (j *job) eachRun(ids bool, fn func(run) error) error {
	w := runner{j: j, fn: fn}
	if ids {
		w.ids = newIDStream(j)
	}
	return j.adjacency(w.block)
}

// runner makes runs of blocks.
type runner struct {
	j   *job
	ids *idStream
	fn  func(run) error
	run run
}

func (w *runner) block(_ base.BlockNo, k layout.Block) error {
	for i := range k.Lists() {
		list := k.List(i)
		w.run.node = k.Node(i)
		w.run.neighbours = w.run.neighbours[:0]
		for e := range list.Len() {
			w.run.neighbours = append(w.run.neighbours, list.At(e))
		}
		if err := w.takeIDs(list.Len()); err != nil {
			return err
		}
		if err := w.fn(w.run); err != nil {
			return err
		}
	}
	return nil
}

func (w *runner) takeIDs(n int) error {
	if w.ids == nil {
		return nil
	}
	w.run.ids = w.run.ids[:0]
	for range n {
		id, err := w.ids.next()
		if err != nil {
			return err
		}
		w.run.ids = append(w.run.ids, id)
	}
	return nil
}

// idStream gives the edge ids in canonical order. Where the file has none they
// are the numbers of the edges themselves.
type idStream struct {
	j  *job
	in *blocks      // nil: counted
	no base.BlockNo // the block of the last id
	b  []byte
	p  base.EdgeIdx // the next edge
}

func newIDStream(j *job) *idStream {
	d := &idStream{j: j}
	if s, ok := j.g.Table.Find(layout.KindEdgeIDs, 0, 0); ok {
		d.in = j.section(s)
	}
	return d
}

func (d *idStream) next() (base.EdgeID, error) {
	if d.in == nil {
		d.p++
		return base.EdgeID(d.p - 1), nil
	}
	no, slot := d.j.g.EdgeIDBlock(d.p)
	if slot == 0 {
		if err := d.load(); err != nil {
			return 0, err
		}
	}
	d.no = no
	d.p++
	return d.j.g.EdgeIDAt(d.b, slot), nil
}

func (d *idStream) load() error {
	no, b, err := d.in.read()
	if errors.Is(err, io.EOF) {
		return d.j.damage(d.no, "fewer edge ids than edges", d.j.g.Superblock.Edges, uint64(d.p))
	}
	if err != nil {
		return err
	}
	d.b = b
	return d.j.g.CheckPadding(no, b)
}
