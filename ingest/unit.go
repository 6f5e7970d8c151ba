//go:build linux

package ingest

import (
	"context"
	"io"
	"math/bits"
	"sync/atomic"

	"github.com/aether-ooc/aether-ooc/internal/spill"
)

// unit is a partition in memory.
type unit struct {
	mem   []byte // of which the first n edges count
	n     int
	wide  bool
	twins int64 // edges with the ends of the one before
}

// sorter turns partitions, in order, into sorted units.
type sorter struct {
	c       Config
	x       *external
	queue   []partition // those to come
	mem     region
	units   chan []byte // memory that no unit has yet
	scratch chan []byte // as large as a unit, one for each worker
	touched bitmap      // nodes with an edge; nil: they are not counted
	sorted  int64       // partitions
}

func newSorter(c Config, x *external, sz sizes, touched bitmap) (*sorter, error) {
	s := &sorter{c: c, x: x, queue: x.parts, touched: touched,
		units: make(chan []byte, unitsOf(sz.sorters)), scratch: make(chan []byte, sz.sorters)}
	x.parts = nil
	var err error
	if s.mem, err = newRegion(int64(cap(s.units)+cap(s.scratch)) * sz.unit); err != nil {
		return nil, err
	}
	pieces := newBuffers(s.mem, sz.unit)
	for range cap(s.units) {
		s.units <- pieces.bytes(<-pieces.free)
	}
	for range cap(s.scratch) {
		s.scratch <- pieces.bytes(<-pieces.free)
	}
	return s, nil
}

// next loads the next partition into u; io.EOF: there is none.
func (s *sorter) next(ctx context.Context, u *unit) error {
	if u.mem == nil {
		u.mem = <-s.units
	}
	for len(s.queue) > 0 {
		p := s.queue[0]
		s.queue = s.queue[1:]
		switch {
		case p.edges == 0:
			continue
		case p.room() <= int64(len(u.mem)):
			s.sorted++
			return s.load(u, p)
		}
		parts, err := s.recut(ctx, p, u.mem)
		if err != nil {
			return err
		}
		s.x.recuts++
		s.queue = append(parts, s.queue...)
	}
	return io.EOF
}

// load reads a partition and frees its place on disk.
func (s *sorter) load(u *unit, p partition) (err error) {
	u.n, u.wide, u.twins = 0, p.wide, 0
	narrow := 0
	for narrow < len(p.extents) && !p.extents[narrow].wide {
		narrow++
	}
	if u.n, err = readExtents[uint32](s.x.file, p.extents[:narrow], u.mem, 0); err != nil || !p.wide {
		return err
	}
	widenInPlace(u.mem, u.n)
	u.n, err = readExtents[uint64](s.x.file, p.extents[narrow:], u.mem, u.n)
	return err
}

// readExtents reads extents to mem, behind the n edges that are there, and
// frees their places. It gives the number of edges that are then there.
func readExtents[T word](file *spill.File, extents []extent, mem []byte, n int) (int, error) {
	var (
		pieces = make([]spill.Piece, len(extents))
		starts = make([]int64, len(extents))
		at     = int64(n) * edgeBytes[T]()
	)
	for i, e := range extents {
		at = pages(at)
		pieces[i], starts[i] = spill.Piece{Off: e.off, P: mem[at:][:e.bytes()]}, at
		at += int64(e.edges) * edgeBytes[T]()
	}
	if err := file.Read(pieces); err != nil {
		return n, err
	}
	edges := view[T](mem)
	for i, e := range extents {
		if size := edgeBytes[T](); starts[i] != int64(n)*size {
			copy(edges[n:], view[T](mem[starts[i]:])[:e.edges])
		}
		n += int(e.edges)
		if err := file.Free(e.off, e.bytes()); err != nil {
			return n, err
		}
	}
	return n, nil
}

// widenInPlace makes n narrow edges at the start of mem wide ones, the last
// first, so that none is overwritten before it was read.
func widenInPlace(mem []byte, n int) {
	narrow, wide := view[uint32](mem), view[uint64](mem)
	for i := n - 1; i >= 0; i-- {
		wide[i] = widened(narrow[i])
	}
}

// sort sorts a unit and drops its duplicates if asked to.
func (s *sorter) sort(ctx context.Context, u *unit) error {
	if u.wide {
		return sortUnit[uint64](ctx, s, u)
	}
	return sortUnit[uint32](ctx, s, u)
}

func sortUnit[T word](ctx context.Context, s *sorter, u *unit) error {
	edges := view[T](u.mem)[:u.n]
	lists, nbrs := spans(edges)
	scratch := <-s.scratch
	radix := &sorting[T]{ctx: ctx, nbrs: nbrs}
	err := radix.run(edges, view[T](scratch)[:u.n], lists, 1)
	s.scratch <- scratch
	if err != nil {
		return err
	}
	edges, u.twins = dropTwins(edges, s.c.Dedup)
	u.n = len(edges)
	touch(s.touched, edges)
	return nil
}

// spans tells where the ids of some edges lie.
func spans[T word](edges []edge[T]) (lists, nbrs span) {
	least, most := edges[0], edges[0]
	for _, e := range edges {
		least.list, most.list = min(least.list, e.list), max(most.list, e.list)
		least.nbr, most.nbr = min(least.nbr, e.nbr), max(most.nbr, e.nbr)
	}
	return span{uint64(least.list), uint64(most.list)}, span{uint64(least.nbr), uint64(most.nbr)}
}

// touch marks the ends of sorted edges; several units at once may do that.
func touch[T word](m bitmap, edges []edge[T]) {
	if m == nil {
		return
	}
	for i, e := range edges {
		if i == 0 || e.list != edges[i-1].list {
			m.mark(uint64(e.list))
		}
		m.mark(uint64(e.nbr))
	}
}

// bitmap has a bit for each of many numbers.
type bitmap []uint64

func (m bitmap) mark(i uint64) {
	word, bit := &m[i/64], uint64(1)<<(i%64)
	if atomic.LoadUint64(word)&bit == 0 {
		atomic.OrUint64(word, bit)
	}
}

func (m bitmap) count() (n uint64) {
	for _, w := range m {
		n += uint64(bits.OnesCount64(w))
	}
	return n
}
