package bench

import (
	"container/heap"
	"math"
	"slices"

	"github.com/aether-ooc/aether-ooc/internal/base"
)

// model is a policy that exists for replay only: it holds numbers, no bytes.
type model interface {
	// ask says whether block b, the i-th of the trace, is there, and keeps it
	// then if it likes.
	ask(i int, b base.BlockNo) bool
}

// modelKind is how to make a model, and what a slot would cost it at least.
type modelKind struct {
	name      string
	slotBytes int64
	open      func(t *Trace) model
}

var models = []modelKind{
	{"sieve", 9, func(t *Trace) model { return newSieve(t) }},
	{"s3-fifo", 9, func(t *Trace) model { return newS3FIFO(t) }},
	{"static", 4, func(t *Trace) model { return newStatic(t) }},
	{"belady", 0, func(t *Trace) model { return newBelady(t) }},
}

// sieve is SIEVE (Zhang, Yang, Yue, Vigfusson, Rashmi: "SIEVE is Simpler than
// LRU", NSDI 2024): a queue in order of arrival; a hand walks from its old end to
// its young one, forgives once what was asked for since, and evicts what was not.
type sieve struct {
	slot    []int32 // of each block, -1: not there
	block   []base.BlockNo
	visited []bool
	older   []int32 // the next in the direction of the young end is younger
	younger []int32
	oldest  int32
	newest  int32
	hand    int32
}

const nowhere = -1

func newSieve(t *Trace) *sieve {
	s := &sieve{slot: make([]int32, t.Span), oldest: nowhere, newest: nowhere, hand: nowhere}
	for i := range s.slot {
		s.slot[i] = nowhere
	}
	s.block = make([]base.BlockNo, 0, t.Slots)
	s.visited, s.older, s.younger = make([]bool, t.Slots), make([]int32, t.Slots), make([]int32, t.Slots)
	return s
}

func (s *sieve) ask(_ int, b base.BlockNo) bool {
	if k := s.slot[b]; k != nowhere {
		s.visited[k] = true
		return true
	}
	k := s.room()
	s.block[k], s.slot[b], s.visited[k] = b, k, false
	s.older[k], s.younger[k] = s.newest, nowhere
	if s.newest != nowhere {
		s.younger[s.newest] = k
	} else {
		s.oldest = k
	}
	s.newest = k
	return false
}

// room is a slot that is free, or is made so.
func (s *sieve) room() int32 {
	if len(s.block) < cap(s.block) {
		s.block = append(s.block, 0)
		return int32(len(s.block) - 1)
	}
	k := s.hand
	if k == nowhere {
		k = s.oldest
	}
	for s.visited[k] {
		s.visited[k] = false
		if k = s.younger[k]; k == nowhere {
			k = s.oldest
		}
	}
	s.hand = s.younger[k]
	s.unlink(k)
	s.slot[s.block[k]] = nowhere
	return k
}

func (s *sieve) unlink(k int32) {
	older, younger := s.older[k], s.younger[k]
	if older != nowhere {
		s.younger[older] = younger
	} else {
		s.oldest = younger
	}
	if younger != nowhere {
		s.older[younger] = older
	} else {
		s.newest = older
	}
}

// static holds the blocks that the trace asks for most often, from the start and
// for ever: what a placement that knows the future could do.
type static []bool

func newStatic(t *Trace) static {
	asked := make([]int, t.Span)
	for _, b := range t.Blocks {
		asked[b]++
	}
	order := make([]base.BlockNo, t.Span)
	for i := range order {
		order[i] = base.BlockNo(i)
	}
	slices.SortStableFunc(order, func(a, b base.BlockNo) int { return asked[b] - asked[a] })
	s := make(static, t.Span)
	for _, b := range order[:min(t.Slots, len(order))] {
		s[b] = true
	}
	return s
}

func (s static) ask(_ int, b base.BlockNo) bool { return s[b] }

// belady is the optimum (Belady: "A study of replacement algorithms for a
// virtual-storage computer", 1966), free to decline: what is asked for next the
// latest goes, the block in hand included.
type belady struct {
	next  []int // of each place of the trace: the next of the same block
	until []int // of each block that is there: when it is asked for next; -1: not there
	held  int
	slots int
	order latest
}

const never = math.MaxInt

func newBelady(t *Trace) *belady {
	b := &belady{next: make([]int, len(t.Blocks)), until: make([]int, t.Span), slots: t.Slots}
	for i := range b.until {
		b.until[i] = never
	}
	for i := len(t.Blocks) - 1; i >= 0; i-- { // until serves as "seen next at" meanwhile
		b.next[i] = b.until[t.Blocks[i]]
		b.until[t.Blocks[i]] = i
	}
	for i := range b.until {
		b.until[i] = nowhere
	}
	return b
}

func (b *belady) ask(i int, no base.BlockNo) bool {
	hit := b.until[no] != nowhere
	if !hit && b.held == b.slots && !b.evict(b.next[i]) {
		return false
	}
	if !hit {
		b.held++
	}
	b.until[no] = b.next[i]
	heap.Push(&b.order, use{b.next[i], no})
	return hit
}

// evict takes out the block that is wanted the latest, if that is later than
// another time. Uses in the heap that were overtaken by later ones are dropped.
func (b *belady) evict(than int) bool {
	for {
		top := b.order[0]
		if b.until[top.block] != top.at {
			heap.Pop(&b.order)
			continue
		}
		if top.at <= than {
			return false
		}
		heap.Pop(&b.order)
		b.until[top.block] = nowhere
		b.held--
		return true
	}
}

// use is when a block is wanted next.
type use struct {
	at    int
	block base.BlockNo
}

// latest is a heap whose top is the latest use.
type latest []use

func (h latest) Len() int           { return len(h) }
func (h latest) Less(i, j int) bool { return h[i].at > h[j].at }
func (h latest) Swap(i, j int)      { h[i], h[j] = h[j], h[i] }
func (h *latest) Push(x any)        { *h = append(*h, x.(use)) }
func (h *latest) Pop() any {
	last := len(*h) - 1
	x := (*h)[last]
	*h = (*h)[:last]
	return x
}
