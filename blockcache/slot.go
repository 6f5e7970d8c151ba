package blockcache

import (
	"slices"
	"sync/atomic"

	"github.com/aether-ooc/aether-ooc/internal/base"
	"github.com/aether-ooc/aether-ooc/internal/invariants"
)

// FileID names a file that was added to the cache.
type FileID uint32

// key is a block of a file; noKey is none.
type key uint64

const noKey key = 0

func keyOf(f FileID, no base.BlockNo) key { return key(f+1)<<32 | key(no) }

func (k key) file() FileID        { return FileID(k>>32) - 1 }
func (k key) block() base.BlockNo { return base.BlockNo(k) }

// slotNo numbers a slot of the arena, from 1; none is no slot.
type slotNo uint32

const none slotNo = 0

// state is where a slot stands:
//
//	        take                 read is whole              policy's advice, while pinned
//	free ─────────► reading ────────────────► resident ───────────────────────► limbo
//	 ▲                 │ │ │                      │                               │
//	 │                 │ │ └─► limbo: it is shown to who waits, and not kept ─────┤
//	 │                 │ └─► lost (ring broken)   │ evicted, unpinned             │ last pin goes
//	 │◄── failed ◄─────┘                          │                               │
//	 │◄── last pin goes                           │                               │
//	 └◄───────────────────────────────────────────┴───────────────────────────────┘
type state uint8

const (
	free     state = iota // holds no block: in the free list, or in the hands of the lane that took it
	reading               // a lane has it, its bytes are on their way
	resident              // holds a whole, checked block
	limbo                 // holds one too, but is to be freed with its last pin
	failed                // its read failed: no longer to be found, freed with its last pin
	lost                  // its ring broke with the read in flight: the kernel may still write to it, never used again
)

var stateNames = [...]string{"free", "reading", "resident", "limbo", "failed", "lost"}

func (s state) String() string { return stateNames[s] }

// follows lists the states that each state may turn into.
var follows = [...][]state{
	free:     {reading},
	reading:  {resident, limbo, failed, lost},
	resident: {limbo, free},
	limbo:    {free},
	failed:   {free},
	lost:     {},
}

// word is what a slot says of itself at one moment: how many hold its block
// (those who read it, wait for it, or look at it), its state, and how often it
// was emptied, which tells one block's stay from the next.
type word uint64

const (
	pinBits   = 24
	stateBits = 8
	pinMask   = 1<<pinBits - 1
	emptied   = word(1) << (pinBits + stateBits)
)

func (w word) pins() int    { return int(w & pinMask) }
func (w word) state() state { return state(w >> pinBits) }
func (w word) in(s state) word {
	if invariants.Enabled {
		invariants.Check(slices.Contains(follows[w.state()], s), "slot goes from %v to %v", w.state(), s)
	}
	return w&^(1<<(pinBits+stateBits)-1) | word(s)<<pinBits | w&pinMask
}

// holds: the block can be looked at.
func (w word) holds() bool { return w.state() == resident || w.state() == limbo }

// slot describes one block-sized place of the arena.
//
// Whoever changes word from free to reading, or back, has the slot for himself:
// key changes only in his hands. So who loads word, then key, and then changes
// word by comparing with what he loaded, knows that key was that slot's all the
// while: a block that had left in between would have changed the emptied count.
type slot struct {
	word    atomic.Uint64
	key     atomic.Uint64
	waiters entryNo // window entries of lanes that wait for the read to end; guarded by the lock of key
	next    slotNo  // in the free list
}

func (s *slot) load() word { return word(s.word.Load()) }

func (s *slot) swap(from, to word) bool { return s.word.CompareAndSwap(uint64(from), uint64(to)) }

func (s *slot) is(k key) bool { return key(s.key.Load()) == k }

// to changes the state, with whatever pins there are by then, and gives the new
// word.
func (s *slot) to(next state) word {
	for {
		w := s.load()
		if n := w.in(next); s.swap(w, n) {
			return n
		}
	}
}

// pin adds a hold if the slot holds block k.
func (s *slot) pin(k key) bool {
	for w := s.load(); w.holds() && s.is(k); w = s.load() {
		if s.swap(w, w+1) {
			return true
		}
	}
	return false
}

// unpin takes a hold away. True means that it was the last of a slot that
// nobody shall find again, and that the caller has the empty slot now; was tells
// what it had been.
func (s *slot) unpin() (was state, gone bool) {
	w := word(s.word.Add(^uint64(0)))
	invariants.Check(w.pins() < pinMask, "a slot is unpinned too often")
	for w.pins() == 0 && (w.state() == limbo || w.state() == failed) {
		if s.swap(w, w.in(free)+emptied) {
			return w.state(), true
		}
		w = s.load()
	}
	return w.state(), false
}
