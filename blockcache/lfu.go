package blockcache

import (
	"sync/atomic"

	"github.com/aether-ooc/aether-ooc/internal/base"
)

// lfu is LFU with admission by frequency and aging (Einziger, Friedman, Manes:
// "TinyLFU: A Highly Efficient Cache Admission Policy", ACM ToS 2017), with an
// exact counter for each block of a file in place of their sketch: a byte for
// 4,096 is little enough.
//
//	visit asks for ──► heat of each block + 1           halved when all together were asked for often
//	miss of k      ──► least heat of a few slots, in turn ─┬─ below k's: its block goes, k stays
//	                                                       └─ else: k is a guest, gone when it was looked at
//
// A batch asks for its blocks in file order, as a sweep. Under a sweep what was
// used lately is what is not used again soon, so recency says nothing; how often
// a block is asked for says all, and hardly changes.
type lfu struct {
	cache *Cache
	hand  atomic.Uint64 // where the next sample begins
	since atomic.Int64  // blocks asked for since the last halving
}

const (
	// lfuSample slots are compared for a victim. More find a colder one.
	lfuSample = 16
	// lfuAge times as many blocks are asked for as the cache has slots before
	// the counters are halved.
	lfuAge = 32
)

func openLFU(c *Cache, _ *memory) (policy, error) { return &lfu{cache: c}, nil }

// asked counts runs of blocks whose counters lie in one word together.
func (p *lfu) asked(f FileID, blocks []base.BlockNo) {
	heat := p.cache.file(f).heat
	for i := 0; i < len(blocks); {
		at := blocks[i] / 4
		ones := uint32(0)
		for ; i < len(blocks) && blocks[i]/4 == at; i++ {
			ones |= 1 << (8 * (blocks[i] % 4))
		}
		heat[at].add(ones)
	}
	p.grow(int64(len(blocks)))
}

// grow halves the counters when it is time: the lane that fills the measure does
// it, while the others go on counting.
func (p *lfu) grow(n int64) {
	full := int64(lfuAge * p.cache.cfg.Slots)
	if sum := p.since.Add(n); sum < full || sum-n >= full {
		return
	}
	for _, f := range *p.cache.files.Load() {
		for i := range f.heat {
			f.heat[i].halve()
		}
	}
	p.since.Store(0)
}

func (p *lfu) heat(k key) uint32 {
	return p.cache.file(k.file()).heat[k.block()/4].get(uint32(k.block() % 4))
}

// victim is the coldest of the next few slots that are at rest. Where k is no
// hotter, it stays.
func (p *lfu) victim(k key) (slotNo, outcome) {
	n := uint64(p.cache.cfg.Slots)
	from := p.hand.Add(lfuSample)
	coldest, least := none, uint32(0)
	for i := range uint64(lfuSample) {
		s := slotNo((from+i)%n) + 1
		sl := &p.cache.slots[s]
		held := key(sl.key.Load())
		if w := sl.load(); w.pins() > 0 || w.state() != resident || held == noKey {
			continue
		}
		if h := p.heat(held); coldest == none || h < least {
			coldest, least = s, h
		}
	}
	if coldest != none && p.heat(k) <= least {
		return coldest, guest
	}
	return coldest, missing
}

func (p *lfu) insert(key, slotNo) {}
func (p *lfu) forget(slotNo)      {}
func (p *lfu) close()             {}

// counters4 are four counters of eight bits that stop at 255.
type counters4 struct{ word atomic.Uint32 }

const (
	lowBits  = 0x01010101
	highBits = 0x80808080
)

// add adds ones, which has a bit of lowBits for each counter to be raised.
func (c *counters4) add(ones uint32) {
	for {
		old := c.word.Load()
		full := (old&^highBits + lowBits) & old & highBits >> 7
		if c.word.CompareAndSwap(old, old+ones&^full) {
			return
		}
	}
}

func (c *counters4) halve() {
	for {
		old := c.word.Load()
		if c.word.CompareAndSwap(old, old>>1&^highBits) {
			return
		}
	}
}

func (c *counters4) get(i uint32) uint32 { return c.word.Load() >> (8 * i) & 0xff }
