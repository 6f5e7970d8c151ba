package main

import (
	"iter"
	"math/bits"
	"sync"
	"sync/atomic"
	"time"
)

// window is how many nodes go through the passes together: enough for the
// loads of a pass to overlap, few enough to stay in the innermost cache.
const window = 128

// finished tells of a batch that was made, end after the first one began.
type finished struct {
	batch, edges int
	end          time.Duration
}

// batches makes the job's batches, several at once, in no order.
func (g *graph) batches(j job) iter.Seq[finished] {
	return func(yield func(finished) bool) {
		var (
			next    atomic.Int64
			lanes   sync.WaitGroup
			results = make(chan finished, j.batches()) // nobody waits for who reads them
			start   = time.Now()
		)
		for range j.threads {
			lanes.Go(func() {
				l := newLane(g)
				for i := int(next.Add(1)) - 1; i < j.batches() && time.Since(start) < j.limit; i = int(next.Add(1)) - 1 {
					l.sample(j.batch(i), j.fanouts, uint64(i))
					results <- finished{i, len(l.row), time.Since(start)}
				}
			})
		}
		go func() { lanes.Wait(); close(results) }()
		for done := range results {
			if !yield(done) {
				next.Store(int64(j.batches()))
				lanes.Wait()
				return
			}
		}
	}
}

// lane makes one batch after another; its slices are the last one.
type lane struct {
	graph         *graph
	nid, row, col []int64 // global number of each node; local numbers of each edge's ends
	numbers       table
	random        uint64
	lo            [window]int64
	degree        [window]int
	places, picks []int64
}

func newLane(g *graph) *lane { return &lane{graph: g, numbers: newTable(1 << 12)} }

func (l *lane) sample(seeds []int32, fanouts []int, key uint64) {
	l.nid, l.row, l.col = l.nid[:0], l.row[:0], l.col[:0]
	l.numbers.clear()
	l.random = key
	for _, v := range seeds {
		l.number(int64(v))
	}
	begin := 0
	for _, fanout := range fanouts {
		end := len(l.nid)
		for at := begin; at < end; at += window {
			l.expand(at, min(at+window, end), fanout)
		}
		begin = end
	}
}

// expand draws the neighbours of nodes begin … end-1, by their local numbers.
func (l *lane) expand(begin, end, fanout int) {
	for i, v := range l.nid[begin:end] {
		l.lo[i] = l.graph.colptr[v]
		l.degree[i] = int(l.graph.colptr[v+1] - l.lo[i])
	}
	l.places = l.places[:0]
	for i := range end - begin {
		first := len(l.places)
		l.draw(l.lo[i], l.degree[i], fanout)
		for range len(l.places) - first {
			l.col = append(l.col, int64(begin+i))
		}
	}
	l.picks = l.picks[:0]
	for _, p := range l.places {
		l.picks = append(l.picks, int64(l.graph.row[p]))
	}
	for _, v := range l.picks {
		l.row = append(l.row, l.number(v))
	}
}

// draw appends k distinct places of a list of d that starts at lo: Floyd's
// algorithm (Bentley and Floyd, CACM 1987).
func (l *lane) draw(lo int64, d, k int) {
	if d <= k {
		for i := range d {
			l.places = append(l.places, lo+int64(i))
		}
		return
	}
	first := len(l.places)
	for last := d - k; last < d; last++ {
		p := lo + int64(l.below(last+1))
		for _, q := range l.places[first:] {
			if p == q {
				p = lo + int64(last)
				break
			}
		}
		l.places = append(l.places, p)
	}
}

// below is a random number below n: SplitMix64 (Steele, Lea, Flood, OOPSLA
// 2014), scaled.
func (l *lane) below(n int) int {
	l.random += 0x9e3779b97f4a7c15
	z := l.random
	z = (z ^ z>>30) * 0xbf58476d1ce4e5b9
	z = (z ^ z>>27) * 0x94d049bb133111eb
	high, _ := bits.Mul64(z^z>>31, uint64(n))
	return int(high)
}

// number is the local number of node v, a new one if v is new.
func (l *lane) number(v int64) int64 {
	n, found := l.numbers.findOrAdd(uint32(v), uint32(len(l.nid)))
	if !found {
		l.nid = append(l.nid, v)
	}
	return int64(n)
}

// table maps nodes to their numbers: open addressing, a power of two of slots,
// at most half of them taken. A slot holds the node + 1, then its number.
type table struct {
	slots []uint64
	shift int
	used  int
}

func newTable(slots int) table {
	return table{slots: make([]uint64, slots), shift: 64 - bits.TrailingZeros(uint(slots))}
}

func (t *table) clear() {
	clear(t.slots)
	t.used = 0
}

func (t *table) findOrAdd(v, number uint32) (n uint32, found bool) {
	i := t.slot(v)
	if s := t.slots[i]; s != 0 {
		return uint32(s), true
	}
	t.slots[i] = uint64(v+1)<<32 | uint64(number)
	if t.used++; 2*t.used > len(t.slots) {
		t.grow()
	}
	return number, false
}

// slot is where v is, or would be.
func (t *table) slot(v uint32) int {
	i := int(uint64(v) * 0x9e3779b97f4a7c15 >> t.shift)
	for t.slots[i] != 0 && uint32(t.slots[i]>>32) != v+1 {
		i = (i + 1) & (len(t.slots) - 1)
	}
	return i
}

func (t *table) grow() {
	old := t.slots
	*t = table{slots: make([]uint64, 2*len(old)), shift: t.shift - 1, used: t.used}
	for _, s := range old {
		if s != 0 {
			t.slots[t.slot(uint32(s>>32)-1)] = s
		}
	}
}
