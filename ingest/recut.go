//go:build linux

package ingest

import (
	"context"
	"slices"

	"github.com/aether-ooc/aether-ooc/internal/spill"
)

// Extents of a partition that was cut again are smaller: there is less memory
// for their buffers.
const (
	maxRecut    = 256    // partitions at once
	maxSubPlace = 21     // extent units of a buffer: 252 KiB
	samplePages = 64     // places that a sample is taken from
	perPlace    = 1 << 8 // edges of each
)

// recut cuts a partition that is larger than mem into several, with mem as the
// memory for it. Its edges go by their lists where none of these has too many,
// else by their whole keys. Both get smaller partitions out of any other: no two
// edges have the same key.
func (s *sorter) recut(ctx context.Context, p partition, mem []byte) ([]partition, error) {
	if p.wide {
		return recut[uint64](ctx, s, p, mem)
	}
	return recut[uint32](ctx, s, p, mem)
}

func recut[T word](ctx context.Context, s *sorter, p partition, mem []byte) ([]partition, error) {
	if err := s.x.file.Flush(); err != nil { // it may have just been written
		return nil, err
	}
	chunk, pool := mem[:chunkBytes[T](p)], mem[chunkBytes[T](p):]
	sample, err := samplePartition[T](s.x.file, p, chunk)
	if err != nil {
		return nil, err
	}
	n := int(min(maxRecut, 2*p.room()/int64(len(mem))+1))
	place := max(1, min(maxSubPlace, int64(len(pool))/extentUnit/int64(n+spareBuffers)))
	bufs := newBuffers(pool, place*extentUnit)
	cut, n := newCutter(sample, max(2, min(n, cap(bufs.free)-2)))
	d := newDealer(s.x.file, bufs, cut, make([]partition, n))
	for _, e := range p.extents {
		edges, err := s.loadExtent(e, chunk, p.wide)
		if err != nil {
			return nil, err
		}
		if err := d.deal(ctx, view[T](chunk)[:edges]); err != nil {
			return nil, err
		}
	}
	if err := d.flush(); err != nil {
		return nil, err
	}
	return d.parts, s.x.file.Flush()
}

// chunkBytes is the memory that the largest extent of p takes.
func chunkBytes[T word](p partition) (n int64) {
	for _, e := range p.extents {
		n = max(n, int64(e.edges)*edgeBytes[T]()+spill.Page)
	}
	return (n + extentUnit - 1) / extentUnit * extentUnit
}

func (s *sorter) loadExtent(e extent, mem []byte, wide bool) (int, error) {
	var u = unit{mem: mem}
	err := s.load(&u, partition{extents: []extent{e}, edges: int64(e.edges), wide: wide})
	return u.n, err
}

// newCutter cuts a sample into at most n partitions, and tells into how many.
func newCutter[T word](sample []edge[T], n int) (cutter[T], int) {
	lists := sampleLists(sample)
	slices.Sort(lists)
	if runs := longestRun(lists); 2*runs < len(lists) {
		b := newListBounds(lists, n)
		return byList[T](b), len(b.below)
	}
	b := newKeyBounds(sample, n)
	return byKey(b), len(b) + 1
}

// longestRun is how often the commonest of sorted values comes.
func longestRun(sorted []uint64) (longest int) {
	for at, n := 0, 0; at < len(sorted); at++ {
		if n++; at > 0 && sorted[at] != sorted[at-1] {
			n = 1
		}
		longest = max(longest, n)
	}
	return longest
}

// samplePartition takes edges from places that are evenly spread over p.
func samplePartition[T word](file *spill.File, p partition, mem []byte) (sample []edge[T], err error) {
	step := max(1, p.edges/samplePages)
	next := int64(0) // the number of the edge to be near to
	for first, i := int64(0), 0; i < len(p.extents); first, i = first+int64(p.extents[i].edges), i+1 {
		for e := p.extents[i]; next < first+int64(e.edges); next += step {
			if sample, err = sampleExtent(file, e, next-first, mem, sample); err != nil {
				return nil, err
			}
		}
	}
	return sample, nil
}

// sampleExtent adds some edges near the at-th of e to a sample.
func sampleExtent[T word](file *spill.File, e extent, at int64, mem []byte, sample []edge[T]) ([]edge[T], error) {
	size := edgeBytes[uint32]()
	if e.wide {
		size = edgeBytes[uint64]()
	}
	off := at * size / extentUnit * extentUnit
	n := min(extentUnit, e.bytes()-off)
	if err := file.Read([]spill.Piece{{Off: e.off + off, P: mem[:n]}}); err != nil {
		return nil, err
	}
	edges := int(min(n/size, int64(e.edges)-off/size))
	for i := 0; i < edges; i += max(1, edges/perPlace) {
		if e.wide {
			sample = append(sample, narrowed[T](view[uint64](mem)[i]))
		} else {
			sample = append(sample, narrowed[T](widened(view[uint32](mem)[i])))
		}
	}
	return sample, nil
}

func narrowed[T word](e edge[uint64]) edge[T] { return edge[T]{T(e.list), T(e.nbr), T(e.row)} }
