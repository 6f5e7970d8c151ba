//go:build linux

package ingest

import (
	"context"
	"errors"
	"math"
	"os"
	"slices"
	"time"

	"github.com/aether-ooc/aether-ooc/internal/base"
	"github.com/aether-ooc/aether-ooc/internal/host"
)

// Run builds a graph. On an error, or when ctx ends, what was at the target
// before is still there.
func Run(ctx context.Context, c Config) (*Result, error) {
	c, err := c.withDefaults()
	if err != nil {
		return nil, err
	}
	b := &build{c: c, start: time.Now()}
	defer b.close()
	if err := b.open(); err != nil {
		return nil, err
	}
	if err := b.gather(ctx); err != nil {
		return nil, err
	}
	if b.g.wide != nil {
		err = finish(ctx, b, b.g.wide)
	} else {
		err = finish(ctx, b, b.g.narrow)
	}
	if err != nil {
		return nil, err
	}
	return b.result()
}

// build is one Run.
type build struct {
	c     Config
	start time.Time
	in    *input
	att   []*attachment
	stage *stage
	g     *gatherer
	res   Result
}

func (b *build) close() {
	if b.in != nil {
		b.in.Close()
	}
	closeAll(b.att)
	if b.stage != nil {
		b.stage.close()
	}
	if b.g != nil {
		b.g.free()
	}
}

// open opens everything, so that what is missing or unfit is known before the
// work begins.
func (b *build) open() (err error) {
	if b.in, err = openInput(b.c, base.NodeID(b.c.maxID())); err != nil {
		return err
	}
	if err := host.CheckTarget(b.c.Out, b.c.inputs()...); err != nil {
		return option("%v", err)
	}
	if b.att, err = openAttachments(b.c); err != nil {
		return err
	}
	if b.c.NumNodes > 0 {
		if err := b.checkRows(uint64(b.c.NumNodes)); err != nil {
			return err
		}
	}
	b.stage, err = openStage(b.c.Out)
	return err
}

func (b *build) checkRows(nodes uint64) error {
	for _, a := range b.att {
		if err := a.checkRows(nodes); err != nil {
			return err
		}
	}
	return nil
}

// gather reads the input into a pile of edges.
func (b *build) gather(ctx context.Context) error {
	bound, err := b.boundEdges()
	if err != nil {
		return err
	}
	if b.g, err = newGatherer(b.c, bound); err != nil {
		return err
	}
	t := b.ticker(ctx, "read", b.in.bytes)
	err = b.in.each(ctx, func(batch *batch) error {
		if err := t.step(b.in.position()); err != nil {
			return err
		}
		return b.g.add(batch)
	})
	if err != nil {
		return err
	}
	if err := b.g.check(); err != nil {
		return err
	}
	b.res.ReadNs = time.Since(b.start)
	return b.checkRows(b.g.nodes())
}

// boundEdges is how many edges can come at most; more than fit are refused
// here where the input tells its length.
func (b *build) boundEdges() (int64, error) {
	most, room := b.in.most(), capacity[uint32](b.c)
	if most <= room/b.c.perRow() {
		return most * b.c.perRow(), nil
	}
	rows, err := b.in.rows()
	if err != nil {
		return 0, err
	}
	if rows > room/b.c.perRow() {
		return 0, overBudget[uint32](b.c, rows*b.c.perRow())
	}
	return math.MaxInt64, nil
}

// finish sorts the edges of p and writes the graph.
func finish[T word](ctx context.Context, b *build, p *pile[T]) error {
	started := time.Now()
	scratch, err := newPile[T](int64(len(p.edges)))
	if err != nil {
		return err
	}
	defer p.free()
	defer scratch.free()
	nodes := b.g.nodes()
	sorted, spare, err := sortEdges(ctx, p, scratch, uint64(b.g.max)+1, b.c.Workers, b.c.Progress)
	if err != nil {
		return err
	}
	settle(b, sorted)
	b.res.IsolatedNodes = int64(nodes - countTouched(sorted.edges, spare, nodes))
	spare.free()
	b.res.SortNs = time.Since(started)
	started = time.Now()
	err = write(ctx, b, sorted.edges)
	b.res.WriteNs = time.Since(started)
	return err
}

// sameEnds tells whether two edges join the same nodes in the same way.
func sameEnds[T word](a, b edge[T]) bool { return a.list == b.list && a.nbr == b.nbr }

// settle counts duplicates and drops them if asked to: the first of a run has
// the lowest row.
func settle[T word](b *build, p *pile[T]) {
	before := len(p.edges)
	if b.c.Dedup {
		p.edges = slices.CompactFunc(p.edges, sameEnds)
		b.res.Duplicates = int64(before - len(p.edges))
		return
	}
	for i := 1; i < before; i++ {
		if sameEnds(p.edges[i-1], p.edges[i]) {
			b.res.Duplicates++
		}
	}
}

// countTouched is how many nodes have an edge, of either direction. It uses
// the memory of spare, which is as large as the edges: for a bitmap where one
// fits, else for a list of all ends (two words per edge, and there are three).
func countTouched[T word](edges []edge[T], spare *pile[T], nodes uint64) (n uint64) {
	if need := nodes/64 + 1; need > uint64(len(spare.mem)/8) {
		return countDistinct(edges, spare.words()[:0])
	}
	seen := bitmap(spare.mem.uint64s())
	clear(seen)
	for _, e := range edges {
		n += seen.add(uint64(e.list)) + seen.add(uint64(e.nbr))
	}
	return n
}

type bitmap []uint64

// add gives 1 when i was not there yet.
func (m bitmap) add(i uint64) uint64 {
	bit := uint64(1) << (i % 64)
	if m[i/64]&bit != 0 {
		return 0
	}
	m[i/64] |= bit
	return 1
}

func countDistinct[T word](edges []edge[T], ends []T) uint64 {
	for _, e := range edges {
		ends = append(ends, e.list, e.nbr)
	}
	slices.Sort(ends)
	return uint64(len(slices.Compact(ends)))
}

func (b *build) result() (*Result, error) {
	peak, err := host.PeakRSS()
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		return nil, err
	}
	r, g := &b.res, b.g
	r.Input, r.Format, r.Graph = b.c.Input, b.in.format, b.c.Out
	r.InputBytes = b.in.bytes
	r.Lines, r.SkippedLines, r.InputRows, r.SelfLoops = g.lines, g.skipped, g.rows, g.loops
	r.Direction = b.c.Direction.String()
	r.Undirected, r.Dedup, r.NoLoops = b.c.Undirected, b.c.Dedup, b.c.DropSelfLoops
	r.TotalNs = time.Since(b.start)
	r.BudgetBytes, r.PeakRSSBytes, r.Workers = b.c.Memory, peak, b.c.Workers
	return r, nil
}
