package blockcache

import (
	"sync"
	"sync/atomic"

	"github.com/aether-ooc/aether-ooc/internal/base"
)

// lockCount locks are shared by all blocks; lockRun neighbouring blocks have the
// same one, so that a run of misses stays with it.
const (
	lockCount = 64
	lockRun   = 16
)

// paddedMutex fills a cache line, so that lanes at different locks do not
// disturb each other.
type paddedMutex struct {
	sync.Mutex
	_ [align - 8]byte
}

// table finds the slot of a block: an entry for each block of each file. A hit
// takes no lock; who reads a block, or waits for it to be read, takes the
// block's.
type table struct {
	slots []slot // [0] is unused: slot numbers start at 1
	locks [lockCount]paddedMutex
}

// lock takes and returns k's lock.
func (t *table) lock(k key) *sync.Mutex {
	mu := &t.locks[(uint32(k)/lockRun+uint32(k>>32))%lockCount].Mutex
	mu.Lock()
	return mu
}

// where is the entry of block k, which must lie in its file.
func (c *Cache) where(k key) *atomic.Uint32 { return &c.file(k.file()).where[k.block()] }

func (c *Cache) find(k key) slotNo { return slotNo(c.where(k).Load()) }

// outcome says what asking for a block led to.
type outcome uint8

const (
	waiting outcome = iota // another's read will bring it; pinned, the window entry is registered
	hit                    // it has come in the meantime, and is pinned
	missing                // the caller has a pinned slot to read it into
	guest                  // likewise, and the block is not to be kept
)

// acquire pins block k, which was not there a moment ago, whatever it takes
// short of reading it. e is the window entry that is told when a read by another
// lane ends.
func (c *Cache) acquire(k key, e entryNo) (slotNo, outcome) {
	taken, o := c.take(k)
	mu := c.lock(k)
	defer mu.Unlock()
	if s, o := c.join(k, e); s != none { // another lane was faster
		c.give(taken)
		return s, o
	}
	sl := &c.slots[taken]
	sl.key.Store(uint64(k))
	sl.word.Store(uint64(sl.load().in(reading) + 1))
	c.where(k).Store(uint32(taken))
	if o == guest {
		c.onRejected(k)
	}
	return taken, o
}

// join pins a block that is there or being read. It wants the block's lock.
func (c *Cache) join(k key, e entryNo) (slotNo, outcome) {
	s := c.find(k)
	if s == none {
		return none, missing
	}
	sl := &c.slots[s]
	if sl.pin(k) {
		return s, hit
	}
	if !sl.is(k) || sl.load().state() != reading { // it is being emptied
		return none, missing
	}
	sl.word.Add(1)
	c.entry(e).next = sl.waiters
	sl.waiters = e
	return s, waiting
}

// unpin ends a hold. The last holder of a slot that nobody shall find again
// frees it.
func (c *Cache) unpin(s slotNo) {
	if was, gone := c.slots[s].unpin(); gone {
		c.left(s, was)
		c.give(s)
	}
}

// left takes what was emptied out of the table and keeps the books.
func (c *Cache) left(s slotNo, was state) {
	sl := &c.slots[s]
	k := key(sl.key.Load())
	sl.key.Store(uint64(noKey))
	if was == failed {
		c.failures.forget(s)
		return
	}
	c.where(k).CompareAndSwap(uint32(s), uint32(none))
	c.file(k.file()).evictions.Add(1)
	c.policy.forget(s)
}

// settle ends the read of s and returns the window entries that wait for it,
// as a list. With an error nobody will find the block, so that the next who
// asks tries again; those who wait learn it from failure.
func (c *Cache) settle(s slotNo, next state, err error) entryNo {
	sl := &c.slots[s]
	k := key(sl.key.Load())
	mu := c.lock(k)
	defer mu.Unlock()
	if err != nil {
		c.where(k).Store(uint32(none))
		c.failures.remember(s, err)
	}
	sl.to(next)
	list := sl.waiters
	sl.waiters = noEntry
	return list
}

// failure is why the pinned slot s does not hold its block; nil when it does.
func (c *Cache) failure(s slotNo) error {
	if c.slots[s].load().holds() {
		return nil
	}
	return c.failures.of(s)
}

// unwait takes window entry e off the list of those who wait for slot s. False
// means that the read has ended and e is on its way to its lane's mailbox.
func (c *Cache) unwait(s slotNo, e entryNo) bool {
	sl := &c.slots[s]
	mu := c.lock(key(sl.key.Load()))
	defer mu.Unlock()
	for at := &sl.waiters; *at != noEntry; at = &c.entry(*at).next {
		if *at == e {
			*at = c.entry(e).next
			return true
		}
	}
	return false
}

// block is the bytes of slot s.
func (c *Cache) block(s slotNo) []byte {
	at := int64(s-1) * base.BlockSize
	return c.arena[at : at+base.BlockSize : at+base.BlockSize]
}

// failures holds why reads failed, for as long as somebody waits to hear it.
type failures struct {
	mu  sync.Mutex
	why map[slotNo]error
}

func (f *failures) remember(s slotNo, err error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.why[s] = err
}

func (f *failures) of(s slotNo) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.why[s]
}

func (f *failures) forget(s slotNo) {
	f.mu.Lock()
	defer f.mu.Unlock()
	delete(f.why, s)
}
