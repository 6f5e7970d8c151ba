//go:build linux

package ingest

import (
	"context"
	"math"

	"github.com/aether-ooc/aether-ooc/ingest/source"
	"github.com/aether-ooc/aether-ooc/internal/base"
	"github.com/aether-ooc/aether-ooc/layout"
)

// gatherer transforms batches of edges and piles them up. It begins with
// narrow edges and goes on with wide ones when an id or a row calls for it. A
// pile that is full goes to disk, and from then on the pile is where a batch's
// edges wait to be dealt out.
type gatherer struct {
	c      Config
	bound  int64 // edges that can come at most
	narrow *pile[uint32]
	wide   *pile[uint64] // in place of narrow, once there is one
	ext    *external     // nil while all edges are in the pile
	begin  func(sample []uint64, edges, size int64) (*external, error)

	first          int64 // the row of the first edge
	rows, loops    int64
	lines, skipped int64
	max            base.NodeID
	declared       uint64 // nodes that the input speaks of
}

// newGatherer makes room for bound edges, or for as many as the budget allows.
func newGatherer(c Config, bound int64) (*gatherer, error) {
	g := &gatherer{c: c, bound: bound}
	var err error
	g.narrow, err = newPile[uint32](min(bound, capacity[uint32](c)))
	return g, err
}

// forget gives the piles back.
func (g *gatherer) forget() {
	g.narrow.free()
	g.wide.free()
}

// close gives everything back.
func (g *gatherer) close() {
	g.forget()
	if g.ext != nil {
		_ = g.ext.close() // of a file that goes away
	}
}

// add takes a batch: it counts, and piles up what is to be stored.
func (g *gatherer) add(ctx context.Context, b *source.Batch) error {
	first := g.end()
	g.rows += int64(len(b.Src))
	g.lines += b.Lines
	g.skipped += b.Skipped
	g.max = max(g.max, b.Max)
	if g.wide == nil && (!fitsNarrow(b.Max) || g.end() > math.MaxUint32) {
		if err := g.widen(ctx); err != nil {
			return err
		}
	}
	if g.wide != nil {
		return gather(ctx, g, g.wide, b, first)
	}
	return gather(ctx, g, g.narrow, b, first)
}

// end is the row behind the last edge.
func (g *gatherer) end() int64 { return g.first + g.rows }

// widen makes the pile one of wide edges. Half as many of them fit.
func (g *gatherer) widen(ctx context.Context) (err error) {
	room := min(g.bound, capacity[uint64](g.c))
	if g.ext == nil && int64(len(g.narrow.edges)) > room {
		if err := overflow(ctx, g, g.narrow); err != nil {
			return err
		}
	}
	if g.ext != nil {
		if err := g.ext.widen(); err != nil {
			return err
		}
	}
	g.wide, err = widen(g.narrow, room)
	return err
}

// gather adds the batch's edges, whose first has row first, to p, as many at a
// time as there is room for.
func gather[T word](ctx context.Context, g *gatherer, p *pile[T], b *source.Batch, first int64) error {
	for at := 0; at < len(b.Src); {
		n := min(len(b.Src)-at, int(p.room()/g.c.perRow()))
		transform(g, p, b.Src[at:at+n], b.Dst[at:at+n], first+int64(at))
		if at += n; n == 0 || g.ext != nil {
			if err := overflow(ctx, g, p); err != nil {
				return err
			}
		}
	}
	return nil
}

func transform[T word](g *gatherer, p *pile[T], src, dst []base.NodeID, first int64) {
	for i, from := range src {
		e := edge[T]{list: T(dst[i]), nbr: T(from), row: T(first + int64(i))}
		loop := e.list == e.nbr
		if loop {
			g.loops++
			if g.c.DropSelfLoops {
				continue
			}
		}
		if g.c.Direction == layout.Out {
			e.list, e.nbr = e.nbr, e.list
		}
		p.edges = append(p.edges, e)
		if g.c.Undirected && !loop {
			p.edges = append(p.edges, edge[T]{e.nbr, e.list, e.row})
		}
	}
}

// overflow sends the pile's edges to disk and empties it. The first time, most
// of its memory is given back: a batch needs little.
func overflow[T word](ctx context.Context, g *gatherer, p *pile[T]) (err error) {
	first := g.ext == nil
	if first {
		if g.ext, err = g.begin(sampleLists(p.edges), int64(len(p.edges)), edgeBytes[T]()); err != nil {
			return err
		}
	}
	if err := deal(ctx, g.ext, p.edges); err != nil {
		return err
	}
	p.edges = p.edges[:0]
	if first {
		p.mem.forget()
	}
	return nil
}

// nodes is the number of nodes of the graph.
func (g *gatherer) nodes() uint64 {
	switch {
	case g.c.NumNodes > 0:
		return uint64(g.c.NumNodes)
	case g.rows == 0:
		return g.declared
	}
	return max(g.declared, uint64(g.max)+1)
}
