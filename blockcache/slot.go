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
//	 ▲                 │ │                        │                               │
//	 │                 │ └─► lost (ring broken)   │ evicted, unpinned             │ last pin goes
//	 │◄── failed ◄─────┘                          │                               │
//	 │◄── last pin goes                           │                               │
//	 └◄───────────────────────────────────────────┴───────────────────────────────┘
type state uint8

const (
	free     state = iota // holds no block: in the free list, or in the hands of the lane that took it
	reading               // a lane has it, its bytes are on their way
	resident              // holds a whole, checked block
	limbo                 // resident, but to be freed with its last pin
	failed                // its read failed: no longer to be found, freed with its last pin
	lost                  // its ring broke with the read in flight: the kernel may still write to it, never used again
)

var stateNames = [...]string{"free", "reading", "resident", "limbo", "failed", "lost"}

func (s state) String() string { return stateNames[s] }

// follows lists the states that each state may turn into.
var follows = [...][]state{
	free:     {reading},
	reading:  {resident, failed, lost},
	resident: {limbo, free},
	limbo:    {free},
	failed:   {free},
	lost:     {},
}

// slot describes one block-sized place of the arena.
//
// While key is k ≠ noKey, every field is guarded by k's bucket lock, and key
// itself leaves k only under that lock. While it is noKey, the slot belongs to
// the free list or to the one lane that took it from there. So who reads key
// without a lock, locks its bucket and finds it unchanged may trust the rest.
type slot struct {
	key     atomic.Uint64
	next    slotNo  // in the bucket's chain, or in the free list
	pins    int32   // holders of the block: those who read it, wait for it, or look at it
	waiters entryNo // window entries of lanes that wait for the read to end
	state   state
}

func (s *slot) is(k key) bool { return key(s.key.Load()) == k }

func (s *slot) to(next state) {
	if invariants.Enabled {
		invariants.Check(slices.Contains(follows[s.state], next), "slot goes from %v to %v", s.state, next)
	}
	s.state = next
}
