//go:build linux

package ingest

import (
	"context"
	"math/bits"
	"sync"
)

// maxDigit is how many bits of a key one pass sorts by at most: with more, the
// places written to by turns outgrow a core's second-level cache.
const maxDigit = 11

// digit is a part of an edge's key.
type digit struct {
	list  bool // of the list, else of the neighbour
	base  uint64
	shift uint
	bits  uint
}

// span is where ids lie: from, and the largest.
type span struct{ from, to uint64 }

// digitsOf cuts neighbours and lists into the parts to sort by, least
// significant first: neighbour, then list. Rows need no pass: they come in
// ascending order and every pass is stable.
func digitsOf(nbrs, lists span) (ds []digit) {
	for i, s := range []span{nbrs, lists} {
		width := uint(bits.Len64(s.to - s.from))
		passes := (width + maxDigit - 1) / maxDigit
		for p := range passes {
			from, to := p*width/passes, (p+1)*width/passes
			ds = append(ds, digit{i == 1, s.from, from, to - from})
		}
	}
	return ds
}

// sortEdges sorts p, whose ids lie below ids, by (list, nbr), stably, with
// scratch of the same size. It gives the pile that holds the result, and the
// other one.
func sortEdges[T word](ctx context.Context, p, scratch *pile[T], ids uint64, workers int, progress Progress) (sorted, other *pile[T], err error) {
	scratch.edges = scratch.edges[:len(p.edges)]
	all := span{0, max(ids, 1) - 1}
	moved, err := radixSort(ctx, p.edges, scratch.edges, digitsOf(all, all), workers, progress)
	if moved {
		return scratch, p, err
	}
	return p, scratch, err
}

// radixSort sorts src by the digits, stably, with the help of dst. It tells
// whether the result lies in dst.
func radixSort[T word](ctx context.Context, src, dst []edge[T], ds []digit, workers int, progress Progress) (moved bool, err error) {
	r := newRadix(ctx, len(src), workers)
	for i, d := range ds {
		if err := context.Cause(ctx); err != nil {
			return moved, err
		}
		progress("sort", int64(i), int64(len(ds)))
		if radixPass(r, src, dst, d) {
			src, dst, moved = dst, src, !moved
		}
	}
	progress("sort", int64(len(ds)), int64(len(ds)))
	return moved, context.Cause(ctx)
}

// radix is the workers' shares of the edges and their counters.
type radix struct {
	ctx    context.Context
	parts  []part
	counts [][1 << maxDigit]int // one per part
}

type part struct{ from, to int }

// minPart is the least that is worth a worker of its own.
const minPart = 1 << 14

// stride is how many edges are moved between two looks at the context.
const stride = 1 << 21

func newRadix(ctx context.Context, n, workers int) *radix {
	workers = max(1, min(workers, n/minPart))
	r := &radix{ctx: ctx, counts: make([][1 << maxDigit]int, workers)}
	for w := range workers {
		r.parts = append(r.parts, part{w * n / workers, (w + 1) * n / workers})
	}
	return r
}

// radixPass moves the edges of src to dst in the order of one digit. It does
// nothing, and says so, when all have the same. When the context ends it stops
// short, and dst is of no use.
func radixPass[T word](r *radix, src, dst []edge[T], d digit) bool {
	clear(r.counts)
	r.each(func(w int, p part) { count(src[p.from:p.to], &r.counts[w], d) })
	if r.ctx.Err() != nil || r.places(len(src)) {
		return false
	}
	r.each(func(w int, p part) { scatter(src[p.from:p.to], dst, &r.counts[w], d) })
	return true
}

// each has every worker go through its part, in strides.
func (r *radix) each(fn func(w int, p part)) {
	var wg sync.WaitGroup
	for w, p := range r.parts {
		wg.Go(func() {
			for ; p.from < p.to && r.ctx.Err() == nil; p.from += stride {
				fn(w, part{p.from, min(p.from+stride, p.to)})
			}
		})
	}
	wg.Wait()
}

// places turns counts into places: those of a digit follow those of smaller
// ones, and a part's follow those of the parts before it, which keeps the sort
// stable. It tells whether one digit has them all.
func (r *radix) places(n int) (same bool) {
	at := 0
	for v := range 1 << maxDigit {
		before := at
		for w := range r.counts {
			c := &r.counts[w][v]
			at, *c = at+*c, at
		}
		same = same || at-before == n
	}
	return same
}

// key is the value of digit d in e.
func key[T word](e *edge[T], d digit) T {
	k := e.nbr
	if d.list {
		k = e.list
	}
	return (k - T(d.base)) >> d.shift & (1<<d.bits - 1)
}

func count[T word](src []edge[T], counts *[1 << maxDigit]int, d digit) {
	for i := range src {
		counts[key(&src[i], d)&(1<<maxDigit-1)]++
	}
}

func scatter[T word](src, dst []edge[T], places *[1 << maxDigit]int, d digit) {
	for i := range src {
		at := &places[key(&src[i], d)&(1<<maxDigit-1)]
		dst[*at] = src[i]
		*at++
	}
}
