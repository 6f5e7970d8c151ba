//go:build linux

package ingest

import (
	"math"

	"github.com/aether-ooc/aether-ooc/internal/base"
	"github.com/aether-ooc/aether-ooc/layout"
)

// gatherer transforms batches of edges and piles them up. It begins with
// narrow edges and widens them all when an id or a row calls for it. When the
// pile may grow no more it goes on counting, so that the refusal can name the
// memory that would do.
type gatherer struct {
	c      Config
	bound  int64 // edges that can come at most
	narrow *pile[uint32]
	wide   *pile[uint64] // in place of narrow, once there is one
	full   bool          // the budget is used up; edges are only counted

	rows, loops, edges int64
	lines, skipped     int64
	max                base.NodeID
}

// newGatherer makes room for bound edges, or for as many as the budget allows.
func newGatherer(c Config, bound int64) (*gatherer, error) {
	g := &gatherer{c: c, bound: bound}
	var err error
	g.narrow, err = newPile[uint32](min(bound, capacity[uint32](c)))
	return g, err
}

func (g *gatherer) free() {
	g.narrow.free()
	g.wide.free()
}

// add takes a batch: it counts, and piles up what is to be stored.
func (g *gatherer) add(b *batch) error {
	first := g.rows
	g.rows += int64(len(b.src))
	g.lines += b.lines
	g.skipped += b.skipped
	g.max = max(g.max, b.max)
	if g.wide == nil && (!fitsNarrow(b.max) || g.rows > math.MaxUint32) {
		if err := g.widen(); err != nil {
			return err
		}
	}
	if g.wide != nil {
		gather(g, g.wide, b, first)
	} else {
		gather(g, g.narrow, b, first)
	}
	return nil
}

func (g *gatherer) widen() (err error) {
	room := min(g.bound, capacity[uint64](g.c))
	if g.full = g.full || int64(len(g.narrow.edges)) > room; g.full {
		g.narrow.free()
		g.wide = &pile[uint64]{}
		return nil
	}
	g.wide, err = widen(g.narrow, room)
	return err
}

// gather appends the batch's edges, whose first has row first, to p.
func gather[T word](g *gatherer, p *pile[T], b *batch, first int64) {
	for i, src := range b.src {
		e := edge[T]{list: T(b.dst[i]), nbr: T(src), row: T(first + int64(i))}
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
		put(g, p, e)
		if g.c.Undirected && !loop {
			put(g, p, edge[T]{e.nbr, e.list, e.row})
		}
	}
}

func put[T word](g *gatherer, p *pile[T], e edge[T]) {
	g.edges++
	if p.room() == 0 {
		g.full = true
		return
	}
	p.edges = append(p.edges, e)
}

// check refuses to sort what did not fit.
func (g *gatherer) check() error {
	switch {
	case !g.full:
		return nil
	case g.wide != nil:
		return overBudget[uint64](g.c, g.edges)
	}
	return overBudget[uint32](g.c, g.edges)
}

// nodes is the number of nodes of the graph.
func (g *gatherer) nodes() uint64 {
	switch {
	case g.c.NumNodes > 0:
		return uint64(g.c.NumNodes)
	case g.rows == 0:
		return 0
	}
	return uint64(g.max) + 1
}
