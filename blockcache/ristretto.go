package blockcache

import (
	"math/bits"
	"sync"
	"sync/atomic"

	"github.com/dgraph-io/ristretto/v2"

	"github.com/aether-ooc/aether-ooc/internal/base"
)

// ristrettoPolicy lets ristretto (TinyLFU admission, sampled LFU eviction)
// decide which blocks to keep. Ristretto holds slot numbers as its values;
// what it evicts or rejects becomes a victim here.
//
//	insert ──► Set ─┬─► kept
//	                ├─► OnReject (not worth keeping), or Set dropped ──┐
//	                └─► OnEvict  (another has to go) ──────────────────┴─► doomed, queued ──► victim
//
// Ristretto decides on a goroutine of its own, some time after Set. So its
// capacity is a little less than the slots, and when it is late the cache
// sweeps for a slot without it. It is not told when a block left by such a
// sweep: it evicts the stale entry by and by, and until then the entry's share
// is slack.
type ristrettoPolicy struct {
	cache    *ristretto.Cache[uint64, slotNo]
	rejected func(k key)
	pending  atomic.Int32 // Sets that ristretto has not looked at yet

	mu     sync.Mutex // guards marks, but for reads of doomed, and queue
	marks  []mark     // by slot number
	queue  []slotNo   // ring of slots to advise, each at most once
	first  int
	queued int
}

// mark is what the policy knows of a slot.
type mark struct {
	key    key           // the block inserted there; noKey when it left
	doomed atomic.Uint32 // 1: ristretto does not keep it
	queued uint32        // 1: it is in the queue, doomed or, by now, not
}

const (
	// maxPending bounds what lies in ristretto's buffer of 32,768: the buffer
	// is never full, so ristretto never drops a Set unheard, and the memory of
	// waiting items is bounded.
	maxPending = 1024
	// getBuffer is how many touches ristretto gathers before it counts them.
	getBuffer = 64
)

// counters is how many access counters ristretto has: it wants several a slot,
// and rounds up to a power of two itself.
func counters(slots int64) int64 { return 1 << bits.Len64(uint64(max(256, 4*slots)-1)) }

func ristrettoTables(slots int64) int64 { return region[mark](slots+1) + region[slotNo](slots) }

// ristrettoHeap bounds what ristretto holds, and TestRistrettoHeap holds it to
// that: 4 bytes a counter (sketch and Bloom filter); for an entry 17 bytes in its
// map of costs and 57 in its sharded store, when full, but after some
// generations of blocks Go's maps are down to about 3/8, which makes 205 of 74;
// and its buffers and empty shards.
func ristrettoHeap(slots int64) int64 { return 4*counters(slots) + 216*slots + 640<<10 }

func openRistretto(c *Cache, m *memory) (policy, error) {
	slots := c.cfg.Slots
	p := &ristrettoPolicy{
		rejected: c.onRejected,
		marks:    carve[mark](m, slots+1),
		queue:    carve[slotNo](m, slots),
	}
	slack := min(c.cfg.Lanes*c.cfg.window()+maxPending/4, slots/8)
	var err error
	p.cache, err = ristretto.NewCache(&ristretto.Config[uint64, slotNo]{
		NumCounters:        counters(int64(slots)),
		MaxCost:            int64(slots - slack),
		BufferItems:        getBuffer,
		IgnoreInternalCost: true,
		KeyToHash:          func(k uint64) (uint64, uint64) { return k, 0 },
		Cost:               p.processed,
		OnEvict:            func(i *ristretto.Item[slotNo]) { p.doom(i.Value, unhash(i.Key)) },
		OnReject:           p.onReject,
	})
	return p, err
}

// hash gives ristretto a key that its sketch and its Bloom filter like: they
// cut their positions from the low and from the high bits. Neighbouring blocks
// differ in the low half, so they share no counter; the high half is mixed.
func hash(k key) uint64 {
	low := uint32(k) + uint32(k>>32)*0x9E3779B1
	return uint64(uint32(k>>32)^mix(low))<<32 | uint64(low)
}

func unhash(h uint64) key {
	low := uint32(h)
	file := uint32(h>>32) ^ mix(low)
	return key(file)<<32 | key(low-file*0x9E3779B1)
}

// mix is the finalizer of MurmurHash3.
func mix(x uint32) uint32 {
	x ^= x >> 16
	x *= 0x85EBCA6B
	x ^= x >> 13
	x *= 0xC2B2AE35
	return x ^ x>>16
}

// asked counts the accesses.
func (p *ristrettoPolicy) asked(f FileID, blocks []base.BlockNo) {
	for _, no := range blocks {
		p.cache.Get(hash(keyOf(f, no)))
	}
}

// touch offers a doomed block that is asked for again anew.
func (p *ristrettoPolicy) touch(k key, s slotNo) {
	if p.marks[s].doomed.Load() == 1 {
		p.insert(k, s)
	}
}

func (p *ristrettoPolicy) insert(k key, s slotNo) {
	p.mu.Lock()
	p.marks[s].key = k
	p.marks[s].doomed.Store(0)
	p.mu.Unlock()
	if !p.set(k, s) {
		p.reject(k, s)
	}
}

// set hands the block to ristretto. A cost of 0 makes it call processed.
func (p *ristrettoPolicy) set(k key, s slotNo) bool {
	if p.pending.Add(1) <= maxPending && p.cache.Set(hash(k), s, 0) {
		return true
	}
	p.pending.Add(-1)
	return false
}

// processed is called by ristretto, as its Cost function, when it takes a Set
// from its buffer.
func (p *ristrettoPolicy) processed(slotNo) int64 {
	p.pending.Add(-1)
	return 1
}

func (p *ristrettoPolicy) onReject(i *ristretto.Item[slotNo]) { p.reject(unhash(i.Key), i.Value) }

func (p *ristrettoPolicy) reject(k key, s slotNo) {
	p.rejected(k)
	p.doom(s, k)
}

// doom queues slot s as a victim if it still holds block k.
func (p *ristrettoPolicy) doom(s slotNo, k key) {
	p.mu.Lock()
	defer p.mu.Unlock()
	m := &p.marks[s]
	if m.key != k {
		return
	}
	m.doomed.Store(1)
	if m.queued == 0 {
		m.queued = 1
		p.queue[(p.first+p.queued)%len(p.queue)] = s
		p.queued++
	}
}

func (p *ristrettoPolicy) victim(key) (slotNo, outcome) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for p.queued > 0 {
		s := p.queue[p.first]
		p.first = (p.first + 1) % len(p.queue)
		p.queued--
		p.marks[s].queued = 0
		if p.marks[s].doomed.Load() == 1 {
			return s, missing
		}
	}
	return none, missing
}

func (p *ristrettoPolicy) forget(s slotNo) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.marks[s].key = noKey
	p.marks[s].doomed.Store(0)
}

func (p *ristrettoPolicy) close() { p.cache.Close() }
