package blockcache

import (
	"sync"

	"github.com/aether-ooc/aether-ooc/internal/base"
	"github.com/aether-ooc/aether-ooc/internal/invariants"
)

// lockCount locks share the buckets; lockRun neighbouring buckets, a cache line
// of heads, have the same lock.
const (
	lockCount = 64
	lockRun   = align / 4
	minHeads  = lockCount * lockRun
)

// paddedMutex fills a cache line, so that lanes at different locks do not
// disturb each other.
type paddedMutex struct {
	sync.Mutex
	_ [align - 8]byte
}

// table finds the slot of a block: buckets of slots chained by number. Its size
// follows from the number of slots, whatever the size of the files.
type table struct {
	slots []slot   // [0] is unused: slot numbers start at 1
	heads []slotNo // first slot of each bucket's chain
	locks [lockCount]paddedMutex
}

// bucket keeps blocks that follow each other in a file beside each other, since
// that is the order in which they are asked for.
func (t *table) bucket(k key) uint32 {
	return (uint32(k) + uint32(k>>32)*0x9E3779B1) & uint32(len(t.heads)-1)
}

// lock takes and returns the lock of k's bucket.
func (t *table) lock(k key) *sync.Mutex {
	mu := &t.locks[t.bucket(k)/lockRun%lockCount].Mutex
	mu.Lock()
	return mu
}

// find, link and unlink want the lock of k's bucket held.
func (t *table) find(k key) slotNo {
	s := t.heads[t.bucket(k)]
	for s != none && !t.slots[s].is(k) {
		s = t.slots[s].next
	}
	return s
}

func (t *table) link(s slotNo, k key) {
	head := &t.heads[t.bucket(k)]
	t.slots[s].key.Store(uint64(k))
	t.slots[s].next = *head
	*head = s
}

func (t *table) unlink(s slotNo, k key) {
	at := &t.heads[t.bucket(k)]
	for *at != s {
		at = &t.slots[*at].next
	}
	*at = t.slots[s].next
	t.slots[s].next = none
}

// outcome says what asking for a block led to.
type outcome uint8

const (
	hit     outcome = iota // it is there, and pinned
	waiting                // another's read will bring it; pinned, the window entry is registered
	missing                // the caller has a pinned slot to read it into
)

// acquire pins block k, whatever it takes short of reading it. e is the window
// entry that is told when a read by another lane ends.
func (c *Cache) acquire(k key, e entryNo) (slotNo, outcome) {
	mu := c.lock(k)
	s, o := c.pin(k, e)
	mu.Unlock()
	if s != none {
		return s, o
	}
	taken := c.take()
	mu = c.lock(k)
	defer mu.Unlock()
	if s, o := c.pin(k, e); s != none { // another lane was faster
		c.give(taken)
		return s, o
	}
	c.link(taken, k)
	c.slots[taken].to(reading)
	c.slots[taken].pins = 1
	return taken, missing
}

// pin wants the bucket locked.
func (c *Cache) pin(k key, e entryNo) (slotNo, outcome) {
	s := c.find(k)
	if s == none {
		return none, missing
	}
	sl := &c.slots[s]
	sl.pins++
	if sl.state != reading {
		return s, hit
	}
	c.entry(e).next = sl.waiters
	sl.waiters = e
	return s, waiting
}

// unpin ends a hold. The last holder of a slot that nobody shall find again
// frees it.
func (c *Cache) unpin(s slotNo) {
	sl := &c.slots[s]
	k := key(sl.key.Load())
	mu := c.lock(k)
	sl.pins--
	invariants.Check(sl.pins >= 0, "slot %d has %d pins", s, sl.pins)
	was := sl.state
	gone := sl.pins == 0 && (was == limbo || was == failed)
	if gone {
		c.vacate(s, k)
	}
	mu.Unlock()
	if gone {
		c.left(s, k, was)
		c.give(s)
	}
}

// vacate wants the bucket locked and the slot unpinned. A failed one is out of
// the chain already.
func (c *Cache) vacate(s slotNo, k key) {
	sl := &c.slots[s]
	if sl.state != failed {
		c.unlink(s, k)
	}
	sl.to(free)
	sl.key.Store(uint64(noKey))
}

// left keeps the books after a slot was vacated.
func (c *Cache) left(s slotNo, k key, was state) {
	if was == failed {
		c.failures.forget(s)
		return
	}
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
		c.unlink(s, k)
		c.failures.remember(s, err)
	}
	sl.to(next)
	list := sl.waiters
	sl.waiters = noEntry
	return list
}

// failure is why the pinned slot s does not hold its block; nil when it does.
func (c *Cache) failure(s slotNo) error {
	sl := &c.slots[s]
	mu := c.lock(key(sl.key.Load()))
	bad := sl.state == failed || sl.state == lost
	mu.Unlock()
	if !bad {
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
