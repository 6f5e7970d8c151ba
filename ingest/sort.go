//go:build linux

package ingest

import (
	"context"
	"math/bits"
	"sync"
	"sync/atomic"
)

// maxDigit is how many bits of a key one pass sorts by at most: with more, the
// places written to by turns outgrow a core's second-level cache.
const maxDigit = 11

// cached is how many edges are sorted, with as many of scratch, within a core's
// second-level cache.
const cached = 1 << 13

// span is where ids lie: the least that they can be, and the largest.
type span struct{ from, to uint64 }

func (s span) width() uint { return uint(bits.Len64(s.to - s.from)) }

// digit is a part of an edge's key.
type digit struct {
	list  bool // of the list, else of the neighbour
	base  uint64
	shift uint
	bits  uint
}

// value is the span of the lists whose digit is v.
func (d digit) value(v int) span {
	from := d.base + uint64(v)<<d.shift
	return span{from, from + 1<<d.shift - 1}
}

// digitsOf cuts neighbours and lists into the parts to sort by, least
// significant first: neighbour, then list. Rows need no pass: they come in
// ascending order and every pass is stable.
func digitsOf(nbrs, lists span) (ds []digit) {
	for i, s := range []span{nbrs, lists} {
		width := s.width()
		passes := (width + maxDigit - 1) / maxDigit
		for p := range passes {
			from, to := p*width/passes, (p+1)*width/passes
			ds = append(ds, digit{i == 1, s.from, from, to - from})
		}
	}
	return ds
}

// sortEdges sorts p, whose ids lie below ids, by (list, nbr), stably, with
// scratch of the same size.
func sortEdges[T word](ctx context.Context, p, scratch *pile[T], ids uint64, workers int, progress Progress) error {
	all, n := span{0, max(ids, 1) - 1}, len(p.edges)
	progress("sort", 0, int64(n))
	s := &sorting[T]{ctx: ctx, nbrs: all, progress: func(done int64) { progress("sort", done, int64(n)) }}
	return s.run(p.edges, scratch.edges[:n], all, workers)
}

// sorting is a sort from the top of the list, for as long as runs do not fit
// in a core's cache, and then from the bottom of the neighbour.
type sorting[T word] struct {
	ctx      context.Context
	nbrs     span
	done     atomic.Int64
	progress func(done int64) // from the goroutine that called run
}

// run sorts a, whose lists lie in lists, with scratch of the same length.
func (s *sorting[T]) run(a, scratch []edge[T], lists span, workers int) error {
	s.sort(newRadix(s.ctx, len(a), workers), a, scratch, lists, true)
	return context.Cause(s.ctx)
}

// sort sorts a, whose lists lie in lists. The result stays there or goes to b.
func (s *sorting[T]) sort(r *radix, a, b []edge[T], lists span, stay bool) {
	for s.ctx.Err() == nil {
		d := split(len(a), lists)
		if d.bits == 0 {
			s.finish(r, a, b, lists, stay)
			return
		}
		if radixPass(r, a, b, d) {
			s.runs(r, b, a, d, !stay)
			return
		}
		lists = d.value(int(key(&a[0], d))) // all edges have the same
	}
}

// split is the digit from the top of the lists that cuts n edges into runs that
// fit in a cache; it has no bits where they do already, or are all of one list.
func split(n int, lists span) digit {
	width := lists.width()
	b := min(width, uint(bits.Len(uint(max(0, n-1)/cached))), maxDigit)
	return digit{true, lists.from, width - b, b}
}

// finish sorts from the bottom.
func (s *sorting[T]) finish(r *radix, a, b []edge[T], lists span, stay bool) {
	r.share(len(a))
	here := true
	for _, d := range digitsOf(s.nbrs, lists) {
		if radixPass(r, a, b, d) {
			a, b, here = b, a, !here
		}
	}
	if here != stay {
		copy(b, a)
	}
	s.done.Add(int64(len(a)))
}

// runs sorts the runs that r has just cut a into by d. Workers share them, and
// one that is more than a fair share is sorted by all of them together.
func (s *sorting[T]) runs(r *radix, a, b []edge[T], d digit, stay bool) {
	ends := r.ends(d)
	each := func(r *radix, v int) {
		from := 0
		if v > 0 {
			from = ends[v-1]
		}
		if n := ends[v] - from; n > 0 {
			r.share(n)
			s.sort(r, a[from:ends[v]], b[from:ends[v]], d.value(v), stay)
		}
	}
	if r.workers == 1 {
		for v := range ends {
			each(r, v)
		}
		return
	}
	large := s.shareRuns(r, ends, len(a)/r.workers, each)
	for _, v := range large {
		each(r, v)
		s.progress(s.done.Load())
	}
}

// shareRuns gives each worker one run after the other, and returns those that
// are larger than the given share.
func (s *sorting[T]) shareRuns(r *radix, ends []int, share int, each func(*radix, int)) (large []int) {
	var wg sync.WaitGroup
	todo, done := make(chan int), make(chan struct{}, r.workers)
	for range r.workers {
		wg.Go(func() {
			own := newRadix(s.ctx, 0, 1)
			for v := range todo {
				each(own, v)
				select {
				case done <- struct{}{}:
				default: // there is word of progress already
				}
			}
		})
	}
	from := 0
	for v, end := range ends {
		if n := end - from; n > share {
			large = append(large, v)
		} else if n > 0 {
			todo <- v
		}
		from = end
		select {
		case <-done:
			s.progress(s.done.Load())
		default:
		}
	}
	close(todo)
	wg.Wait()
	return large
}

// radix is the workers' shares of the edges and their counters.
type radix struct {
	ctx     context.Context
	workers int
	parts   []part
	counts  [][1 << maxDigit]int // one per worker
}

type part struct{ from, to int }

// minPart is the least that is worth a worker of its own.
const minPart = 1 << 14

// stride is how many edges are moved between two looks at the context.
const stride = 1 << 21

func newRadix(ctx context.Context, n, workers int) *radix {
	workers = max(1, min(workers, n/minPart))
	r := &radix{ctx: ctx, workers: workers, counts: make([][1 << maxDigit]int, workers)}
	r.share(n)
	return r
}

// share makes parts of n edges.
func (r *radix) share(n int) {
	r.parts = r.parts[:0]
	for w := range r.workers {
		r.parts = append(r.parts, part{w * n / r.workers, (w + 1) * n / r.workers})
	}
}

// ends is where the edges of each value of d end, after a pass by it.
func (r *radix) ends(d digit) []int {
	return append([]int(nil), r.counts[r.workers-1][:1<<d.bits]...)
}

// radixPass moves the edges of src to dst in the order of one digit. It does
// nothing, and says so, when all have the same. When the context ends it stops
// short, and dst is of no use.
func radixPass[T word](r *radix, src, dst []edge[T], d digit) bool {
	r.each(func(w int, p part) { count(src[p.from:p.to], &r.counts[w], d) }, func(w int) { clear(r.counts[w][:1<<d.bits]) })
	if r.ctx.Err() != nil || r.places(len(src), d) {
		return false
	}
	r.each(func(w int, p part) { scatter(src[p.from:p.to], dst, &r.counts[w], d) }, func(int) {})
	return true
}

// each has every worker begin, and then go through its part in strides.
func (r *radix) each(fn func(w int, p part), begin func(w int)) {
	work := func(w int) {
		begin(w)
		for p := r.parts[w]; p.from < p.to && r.ctx.Err() == nil; p.from += stride {
			fn(w, part{p.from, min(p.from+stride, p.to)})
		}
	}
	if r.workers == 1 {
		work(0)
		return
	}
	var wg sync.WaitGroup
	for w := range r.parts {
		wg.Go(func() { work(w) })
	}
	wg.Wait()
}

// places turns counts into places: those of a digit follow those of smaller
// ones, and a part's follow those of the parts before it, which keeps the sort
// stable. It tells whether one digit has them all.
func (r *radix) places(n int, d digit) (same bool) {
	at := 0
	for v := range 1 << d.bits {
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
func key[T word](e *edge[T], d digit) uint64 {
	k := e.nbr
	if d.list {
		k = e.list
	}
	return uint64(k-T(d.base)) >> d.shift & (1<<d.bits - 1)
}

// The loops stand twice, once for each word of the key, and mask what is small
// enough anyway: both save instructions that count.
func count[T word](src []edge[T], counts *[1 << maxDigit]int, d digit) {
	base, shift, mask := T(d.base), d.shift&63, uint64(1)<<d.bits-1
	if d.list {
		for i := range src {
			counts[uint64(src[i].list-base)>>shift&mask&(1<<maxDigit-1)]++
		}
		return
	}
	for i := range src {
		counts[uint64(src[i].nbr-base)>>shift&mask&(1<<maxDigit-1)]++
	}
}

func scatter[T word](src, dst []edge[T], places *[1 << maxDigit]int, d digit) {
	base, shift, mask := T(d.base), d.shift&63, uint64(1)<<d.bits-1
	if d.list {
		for _, e := range src {
			at := &places[uint64(e.list-base)>>shift&mask&(1<<maxDigit-1)]
			dst[*at] = e
			*at++
		}
		return
	}
	for _, e := range src {
		at := &places[uint64(e.nbr-base)>>shift&mask&(1<<maxDigit-1)]
		dst[*at] = e
		*at++
	}
}
