//go:build linux

package ingest

import (
	"context"
	"errors"
	"fmt"
	"math"
	"os"
	"slices"
	"syscall"
	"time"

	"github.com/aether-ooc/aether-ooc/ingest/relabel"
	"github.com/aether-ooc/aether-ooc/ingest/source"
	"github.com/aether-ooc/aether-ooc/internal/host"
	"github.com/aether-ooc/aether-ooc/internal/spill"
	"github.com/aether-ooc/aether-ooc/layout"
)

// Run builds a graph. On an error, or when ctx ends, what was at the target
// before is still there.
func Run(ctx context.Context, c Config) (*Result, error) {
	c, err := c.withDefaults()
	if err != nil {
		return nil, err
	}
	return (&build{c: c}).run(ctx)
}

func (b *build) run(ctx context.Context) (*Result, error) {
	b.start = time.Now()
	defer b.close()
	if err := b.open(); err != nil {
		return nil, err
	}
	err := b.work(ctx)
	if errors.Is(err, syscall.ENOSPC) {
		err = fmt.Errorf("%w; make room there, or name another folder (--tmp for the temporary file, --out for the rest)", err)
	}
	if err != nil {
		return nil, err
	}
	return b.result()
}

// work does what takes time.
func (b *build) work(ctx context.Context) error {
	if err := b.gather(ctx); err != nil {
		return err
	}
	switch {
	case b.g.ext != nil:
		return b.finishExternal(ctx)
	case b.g.wide != nil:
		return finish(ctx, b, b.g.wide)
	}
	return finish(ctx, b, b.g.narrow)
}

// build is one Run, or one Merge.
type build struct {
	c       Config
	under   *under // what the edges are merged with; nil: nothing
	start   time.Time
	in      *source.Source
	att     []*attachment
	stage   *stage
	g       *gatherer
	out     *spill.Output
	rel     *relabel.Relabeler // nil: ids are the input's
	known   int64              // edges to come, -1 where that is not known
	ids     layout.EdgeIDMode  // of the graph
	res     Result
	columns []*edgeColumn // by edgeColumns; nil where not asked for
}

func (b *build) close() {
	b.closeColumns()
	if b.in != nil {
		b.in.Close()
	}
	closeAll(b.att)
	if b.g != nil {
		b.g.close()
	}
	if b.rel != nil {
		_ = b.rel.Close() // of a file that goes away
	}
	if b.out != nil {
		_ = b.out.Close() // what failed is known by now
	}
	if b.stage != nil {
		b.stage.close()
	}
}

// open opens everything, so that what is missing or unfit is known before the
// work begins.
func (b *build) open() (err error) {
	if b.in, err = source.Open(b.c.source()); err != nil {
		return err
	}
	if err := host.CheckTarget(b.c.Out, slices.Concat(b.in.Files(), b.c.others(), b.under.files())...); err != nil {
		return option("%v", err)
	}
	if b.att, err = openAttachments(b.c); err == nil {
		b.att, err = b.under.addAttachments(b.att, b.c.drop)
	}
	if err != nil {
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
	if err := b.under.checkRows(b.att, nodes); err != nil {
		return err
	}
	for _, a := range b.att {
		if err := a.checkRows(nodes); err != nil {
			return err
		}
	}
	return nil
}

// gather reads the input into a pile of edges, or to disk.
func (b *build) gather(ctx context.Context) error {
	gather := b.gatherAsTheyAre
	if b.c.Relabel != layout.NoOriginal {
		gather = b.gatherRelabelled
	}
	if err := b.openColumns(); err != nil {
		return err
	}
	if err := gather(ctx); err != nil {
		return err
	}
	b.res.ReadNs = time.Since(b.start)
	if err := b.checkRows(b.g.nodes()); err != nil {
		return err
	}
	return b.attachColumns()
}

// openGatherer makes room for so many rows, at most.
func (b *build) openGatherer(most int64) (err error) {
	bound := int64(math.MaxInt64)
	if most < bound/b.c.perRow() {
		bound = most * b.c.perRow()
	}
	c := b.c
	c.Memory -= c.relabelShare()
	if b.g, err = newGatherer(c, bound); err == nil {
		b.g.begin = b.goExternal
	}
	return err
}

func (b *build) gatherAsTheyAre(ctx context.Context) error {
	b.known = b.in.Known()
	if err := b.openGatherer(b.in.Most()); err != nil {
		return err
	}
	b.g.first, b.g.declared = b.under.rows(), max(uint64(b.in.Nodes()), b.under.nodes())
	t := b.ticker(ctx, "read", b.in.Bytes())
	return b.in.Each(ctx, func(batch *source.Batch) error {
		if err := t.step(b.in.Position()); err != nil {
			return err
		}
		if err := b.keepColumns(batch); err != nil {
			return err
		}
		return b.g.add(ctx, batch)
	})
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
	if err := sortEdges(ctx, p, scratch, uint64(b.g.max)+1, b.c.Workers, b.c.Progress); err != nil {
		return err
	}
	p.edges, b.res.Duplicates = dropTwins(p.edges, b.c.Dedup)
	if b.under != nil {
		scratch.free()
		b.res.SortNs, b.res.IsolatedNodes = time.Since(started), uncounted
		return merge(ctx, b, p.edges)
	}
	touched, err := countTouched(ctx, p.edges, scratch, nodes, b.c.Workers)
	if err != nil {
		return err
	}
	b.res.IsolatedNodes = int64(nodes - touched)
	scratch.free()
	b.res.SortNs = time.Since(started)
	started = time.Now()
	err = write(ctx, b, p.edges)
	b.res.WriteNs = time.Since(started)
	return err
}

// sameEnds tells whether two edges join the same nodes in the same way.
func sameEnds[T word](a, b edge[T]) bool { return a.list == b.list && a.nbr == b.nbr }

// dropTwins counts edges with the ends of the one before, and drops them if
// asked to: the first of a run has the lowest row.
func dropTwins[T word](edges []edge[T], drop bool) (left []edge[T], twins int64) {
	if drop {
		left = slices.CompactFunc(edges, sameEnds)
		return left, int64(len(edges) - len(left))
	}
	for i := 1; i < len(edges); i++ {
		if sameEnds(edges[i-1], edges[i]) {
			twins++
		}
	}
	return edges, twins
}

// countTouched is how many nodes have an edge, of either direction. It uses
// the memory of spare, which is as large as the edges: for a bitmap where one
// fits, else for a list of all ends (two words per edge, and there are three).
func countTouched[T word](ctx context.Context, edges []edge[T], spare *pile[T], nodes uint64, workers int) (uint64, error) {
	if need := nodes/64 + 1; need > uint64(len(spare.mem)/8) {
		return countDistinct(edges, spare.words()[:0]), nil
	}
	seen := bitmap(spare.mem.uint64s()[:nodes/64+1])
	clear(seen)
	newRadix(ctx, len(edges), workers).each(func(_ int, p part) { touch(seen, edges[p.from:p.to]) }, func(int) {})
	return seen.count(), context.Cause(ctx)
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
	r.Input, r.Format, r.Graph = listed(b.in.Files()), b.in.Format(), b.c.Out
	r.InputBytes = b.in.Bytes()
	r.Lines, r.SkippedLines, r.InputRows, r.SelfLoops = g.lines, g.skipped, g.rows, g.loops
	r.Direction = b.c.Direction.String()
	r.Undirected, r.Dedup, r.NoLoops = b.c.Undirected, b.c.Dedup, b.c.DropSelfLoops
	r.Base, r.BaseRows, r.BaseEdges = b.under.path(), b.under.rows(), b.under.edges()
	r.TotalNs = time.Since(b.start)
	r.Way = InMemory
	if x := g.ext; x != nil {
		st := x.file.Stats()
		r.Way, r.TempWritten, r.TempRead, r.TempPeak = External, st.Written, st.Read, st.Peak
	}
	r.Original = b.c.Relabel.String()
	if b.rel != nil {
		st := b.rel.Stats()
		r.RelabelWritten, r.RelabelRead, r.RelabelPeak = st.Written, st.Read, st.Peak
	}
	r.BudgetBytes, r.PeakRSSBytes, r.Workers = b.c.Memory, peak, b.c.Workers
	return r, nil
}
