package blockcache

import (
	"sync/atomic"

	"github.com/aether-ooc/aether-ooc/internal/base"
)

// clock is CLOCK: a hand goes round the slots, spares those touched since it
// last came by, and advises the first that was not. A block starts untouched,
// so that a sweep through a file leaves the blocks that are asked for again.
//
// It was chosen over SIEVE for its size: no list, no lock, one word a slot. The
// two differ in where a new block stands (here in its victim's place, just
// behind the hand; with SIEVE at the young end of a queue).
type clock struct {
	touched []atomic.Uint32 // by slot number
	hand    atomic.Uint64
}

func clockTables(slots int64) int64 { return region[atomic.Uint32](slots + 1) }

func openClock(c *Cache, m *memory) (policy, error) {
	return &clock{touched: carve[atomic.Uint32](m, c.cfg.Slots+1)}, nil
}

func (p *clock) asked(FileID, []base.BlockNo) {}

func (p *clock) touch(_ key, s slotNo) {
	if p.touched[s].Load() == 0 { // read first: a hot block's line stays shared
		p.touched[s].Store(1)
	}
}

func (p *clock) insert(_ key, s slotNo) { p.touched[s].Store(0) }

// victim ends: within two rounds every mark is gone, unless lanes touch slots as
// fast as the hand turns, and then the round's end is as good a place as any.
func (p *clock) victim(key) (slotNo, outcome) {
	n := uint64(len(p.touched) - 1)
	s := none
	for range 2 * n {
		s = slotNo(p.hand.Add(1)%n) + 1
		if !p.touched[s].CompareAndSwap(1, 0) {
			break
		}
	}
	return s, missing
}

func (p *clock) forget(s slotNo) { p.touched[s].Store(0) }

func (p *clock) close() {}
