//go:build linux

package ingest

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/aether-ooc/aether-ooc/internal/host"
	"github.com/aether-ooc/aether-ooc/internal/inorder"
	"github.com/aether-ooc/aether-ooc/internal/report"
	"github.com/aether-ooc/aether-ooc/internal/spill"
)

// transfers is how many reads and writes of the temporary file are in flight.
const transfers = 4

// external is the part of a build that lies on disk: the edges, dealt out to
// partitions by their lists.
type external struct {
	file   *spill.File
	pool   region
	bufs   *buffers
	bounds *listBounds
	parts  []partition
	narrow *dealer[uint32]
	wide   *dealer[uint64] // in place of narrow, once there is one
	order  order
	edges  int64
	recuts int64 // partitions that had to be cut again
}

// newExternal begins one on disk, which it closes in the end, cut to the sample
// of lists.
func newExternal(disk spill.Disk, sz sizes, sample []uint64) (*external, error) {
	x := &external{file: spill.New(disk, transfers), bounds: newListBounds(sample, sz.parts)}
	x.parts = make([]partition, len(x.bounds.below))
	var err error
	if x.pool, err = newRegion(int64(len(x.parts)+spareBuffers) * sz.extent); err != nil {
		return nil, errors.Join(err, x.close())
	}
	x.bufs = newBuffers(x.pool, sz.extent)
	x.narrow = newDealer(x.file, x.bufs, byList[uint32](x.bounds), x.parts)
	return x, nil
}

// widen has all later edges be wide ones.
func (x *external) widen() error {
	if x.wide != nil {
		return nil
	}
	x.wide = newDealer(x.file, x.bufs, byList[uint64](x.bounds), x.parts)
	return x.narrow.flush()
}

// deal deals edges out to the partitions.
func deal[T word](ctx context.Context, x *external, edges []edge[T]) error {
	follow(&x.order, edges)
	x.edges += int64(len(edges))
	if d, ok := any(x.narrow).(*dealer[T]); ok {
		return d.deal(ctx, edges)
	}
	if err := x.widen(); err != nil {
		return err
	}
	return any(x.wide).(*dealer[T]).deal(ctx, edges)
}

// settle brings what is left to disk and gives the buffers back.
func (x *external) settle() error {
	err := x.narrow.flush()
	if err == nil && x.wide != nil {
		err = x.wide.flush()
	}
	if err == nil {
		err = x.file.Flush()
	}
	if err != nil {
		return err
	}
	x.narrow, x.wide, x.bufs = nil, nil, nil
	x.pool.free()
	x.pool = nil
	return nil
}

func (x *external) close() error {
	err := x.file.Close() // ends what still writes from the pool
	x.pool.free()
	return err
}

// order follows edges in the order of the input, for as long as that is
// canonical order.
type order struct {
	first, last edge[uint64]
	begun       bool
	broken      bool
	twins       int64 // edges with the ends of the one before
}

func follow[T word](o *order, edges []edge[T]) {
	for i := 0; i < len(edges) && !o.broken; i++ {
		e := widened(edges[i])
		if o.begun {
			o.broken = e.list < o.last.list || e.list == o.last.list && e.nbr < o.last.nbr
			if sameEnds(e, o.last) {
				o.twins++
			}
		} else {
			o.first = e
		}
		o.last, o.begun = e, true
	}
}

func widened[T word](e edge[T]) edge[uint64] {
	return edge[uint64]{uint64(e.list), uint64(e.nbr), uint64(e.row)}
}

// isCanonical tells whether the k-th edge of the graph is row k of the input.
// Nothing that comes twice in the graph can be: neither of two entries of the
// first edge that is no loop is dropped.
func (x *external) isCanonical(rows int64, dedup bool) bool {
	return !x.order.broken && x.edges == rows && !(dedup && x.order.twins > 0)
}

// sampleLists takes the lists of some edges, evenly spread.
func sampleLists[T word](edges []edge[T]) []uint64 {
	n := min(len(edges), 1<<17)
	sample := make([]uint64, n)
	for i := range sample {
		sample[i] = uint64(edges[i*len(edges)/n].list)
	}
	return sample
}

// goExternal is called when the pile is full, with a sample of its lists.
func (b *build) goExternal(sample []uint64, edges int64, size int64) (*external, error) {
	dir := b.temp()
	expected := b.expected(edges)
	if err := b.checkSpace(dir, expected, size); err != nil {
		return nil, err
	}
	disk, err := b.c.temporary(dir)
	if err != nil {
		return nil, err
	}
	return newExternal(disk, b.g.c.dealing(expected, b.g.nodes(), size), sample)
}

// expected is how many edges there will be at most, where the input says, or
// about, by the share of the input in which so many were; 0: it has no length.
func (b *build) expected(edges int64) int64 {
	if b.known >= 0 {
		return b.known * b.c.perRow()
	}
	at, bytes := b.in.Position(), b.in.Bytes()
	if at == 0 || bytes == 0 {
		return 0
	}
	return max(edges, int64(float64(edges)/float64(at)*float64(bytes)))
}

// checkSpace names the temporary space, and refuses to begin where it cannot be
// had. An expectation may be too high: the lines of a text may become longer.
func (b *build) checkSpace(dir string, edges, size int64) error {
	if edges == 0 {
		b.c.Log.Info("the edges do not fit in memory; they go through temporary space", "dir", dir, "bytes_per_edge", size)
		return nil
	}
	need := edges * size
	b.c.Log.Info("the edges do not fit in memory; they go through temporary space", "dir", dir, "need", report.Bytes(need))
	free, err := host.DiskFree(dir)
	if err != nil {
		return err
	}
	if b.known < 0 {
		need -= need / 4
	}
	if need <= free {
		return nil
	}
	return fmt.Errorf("%w: sorting about %s edges takes %s in %s, where %s are free; name another folder with --tmp, or sort in memory with --memory %dMiB",
		ErrSpace, report.Count(edges), report.Bytes(need), dir, report.Bytes(free), (overhead(b.c)+2*edges*size)>>20+1)
}

// finishExternal sorts the edges on disk and writes the graph.
func (b *build) finishExternal(ctx context.Context) error {
	x := b.g.ext
	if err := x.settle(); err != nil {
		return err
	}
	b.g.forget()
	canonical, err := b.follows(x.order.first, x.edges, x.isCanonical(b.g.rows, b.c.Dedup))
	if err != nil {
		return err
	}
	return b.writeRuns(ctx, x.file, x.edges, canonical, func(l *lister) error { return b.sortExternal(ctx, x, l) })
}

// writeRuns writes the graph of so many sorted edges, which hand gives to a
// lister. Their ids are kept in file until the lists are written.
func (b *build) writeRuns(ctx context.Context, file *spill.File, edges int64, canonical bool, hand func(*lister) error) error {
	started := time.Now()
	w, err := b.begin(canonical)
	if err != nil {
		return err
	}
	l := &lister{w: w.Writer, t: b.ticker(ctx, "write lists", edges+b.under.edges()), dedup: b.c.Dedup, under: b.under}
	if b.idsStored() {
		if l.ids, err = newIDSpool(file, max(b.g.end(), b.under.edges())); err != nil {
			return err
		}
		defer l.ids.free()
	}
	if err := hand(l); err != nil {
		return err
	}
	if err := l.end(); err != nil {
		return err
	}
	if b.res.Duplicates = l.twins; l.ids != nil {
		if err := b.writeKept(ctx, l.ids, &idWriter{w: w.Writer, t: b.ticker(ctx, "write edge ids", l.done)}); err != nil {
			return err
		}
	}
	err = b.seal(ctx, w)
	b.res.WriteNs = time.Since(started)
	return err
}

// writeKept writes the edge ids that were kept on disk.
func (b *build) writeKept(ctx context.Context, s *idSpool, w *idWriter) error {
	if err := s.end(); err != nil {
		return err
	}
	if b.under == nil {
		return eachSpooled(ctx, s, w.write)
	}
	m := newIDMerge(b.under, w)
	if err := eachSpooled(ctx, s, m.pairs); err != nil {
		return err
	}
	return m.end()
}

// sortExternal loads, sorts and writes one partition after the other: all three
// at the same time, for different ones.
func (b *build) sortExternal(ctx context.Context, x *external, l *lister) error {
	nodes := b.g.nodes()
	sz := b.c.sorting(x.edges, nodes)
	marks, err := b.marks(nodes)
	if err != nil {
		return err
	}
	defer marks.free()
	s, err := newSorter(b.c, x, sz, marks.uint64s())
	if err != nil {
		return err
	}
	defer s.mem.free()
	err = inorder.Run(ctx, sz.sorters, inorder.Stages[unit]{
		Fill: func(u *unit) error { return s.next(ctx, u) },
		Work: func(u *unit) error { return s.sort(ctx, u) },
		Drain: func(u *unit) error {
			if u.wide {
				return hand(l, view[uint64](u.mem)[:u.n], u.twins)
			}
			return hand(l, view[uint32](u.mem)[:u.n], u.twins)
		},
	})
	b.res.IsolatedNodes = uncounted
	if len(s.touched) > 0 {
		b.res.IsolatedNodes = int64(nodes - s.touched.count())
	}
	b.res.Partitions, b.res.Recuts = s.sorted, x.recuts
	return err
}

// marks is memory for a bit per node; none where they cannot all be counted.
func (b *build) marks(nodes uint64) (region, error) {
	if b.under != nil {
		return nil, nil
	}
	return newRegion(b.c.marks(nodes))
}
