//go:build linux

package ingest

import (
	"fmt"
	"math"
	"syscall"
	"unsafe"

	"github.com/aether-ooc/aether-ooc/internal/base"
)

// word is the width that ids and rows are kept in.
type word interface{ uint32 | uint64 }

// edge is one entry to be sorted: neighbour nbr of node list, from input row.
type edge[T word] struct{ list, nbr, row T }

// edgeBytes is the size of an edge with words of T.
func edgeBytes[T word]() int64 { return int64(unsafe.Sizeof(edge[T]{})) }

// region is memory off the Go heap, of which only touched pages count. So room
// for as many edges as may come can be set aside before their number is known.
type region []byte

func newRegion(n int64) (region, error) {
	if n == 0 {
		return nil, nil
	}
	b, err := syscall.Mmap(-1, 0, int(n), syscall.PROT_READ|syscall.PROT_WRITE, syscall.MAP_PRIVATE|syscall.MAP_ANON|syscall.MAP_NORESERVE)
	if err != nil {
		return nil, fmt.Errorf("setting %d bytes of memory aside: %w; give less --memory", n, err)
	}
	// Large pages save the sort most of its TLB misses; without them it is slower.
	_ = syscall.Madvise(b, syscall.MADV_HUGEPAGE)
	return b, nil
}

func (r region) free() {
	if r != nil {
		_ = syscall.Munmap(r) // fails for a bad address only
	}
}

// forget gives the memory back but keeps its place: it is zero when it is next
// touched.
func (r region) forget() {
	if r != nil {
		_ = syscall.Madvise(r, syscall.MADV_DONTNEED)
	}
}

// uint64s is the region as numbers.
func (r region) uint64s() []uint64 {
	return unsafe.Slice((*uint64)(unsafe.Pointer(unsafe.SliceData(r))), len(r)/8)
}

// view sees bytes as edges, as many as there are whole ones.
func view[T word](b []byte) []edge[T] {
	return unsafe.Slice((*edge[T])(unsafe.Pointer(unsafe.SliceData(b))), int64(len(b))/edgeBytes[T]())
}

// pile is a region of edges.
type pile[T word] struct {
	mem   region
	edges []edge[T] // cap: the room in mem
}

// newPile sets room for n edges aside.
func newPile[T word](n int64) (*pile[T], error) {
	mem, err := newRegion(n * edgeBytes[T]())
	if err != nil || n == 0 {
		return &pile[T]{}, err
	}
	return &pile[T]{mem: mem, edges: view[T](mem)[:0]}, nil
}

func (p *pile[T]) free() {
	if p != nil {
		p.mem.free()
		p.mem, p.edges = nil, nil
	}
}

func (p *pile[T]) room() int64 { return int64(cap(p.edges) - len(p.edges)) }

// words is the pile's memory as numbers, for another use than edges.
func (p *pile[T]) words() []T {
	if len(p.mem) == 0 {
		return nil
	}
	return unsafe.Slice((*T)(unsafe.Pointer(&p.mem[0])), 3*cap(p.edges))
}

// widen copies a pile into one of wide words with room for n edges.
func widen(p *pile[uint32], n int64) (*pile[uint64], error) {
	w, err := newPile[uint64](n)
	if err != nil {
		return nil, err
	}
	for _, e := range p.edges {
		w.edges = append(w.edges, edge[uint64]{uint64(e.list), uint64(e.nbr), uint64(e.row)})
	}
	p.free()
	return w, nil
}

// fitsNarrow tells whether an id or row has at most 32 bits.
func fitsNarrow(id base.NodeID) bool { return id <= math.MaxUint32 }
