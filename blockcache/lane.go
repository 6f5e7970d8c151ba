package blockcache

import (
	"sync"

	"github.com/aether-ooc/aether-ooc/internal/invariants"
	"github.com/aether-ooc/aether-ooc/uring"
)

// entryNo numbers a window entry among those of all lanes, from 1; noEntry is
// none.
type entryNo uint32

const noEntry entryNo = 0

// entry is one block that a lane holds, a slot's pin with the reason for it.
type entry struct {
	slot    slotNo
	waiting bool // for another lane's read
	guest   bool // it is read, but not to be kept
	at      int  // the block's place in the visit's list
	// next links the entries that wait for the same slot (guarded by the lock of
	// its bucket), then those in a mailbox (guarded by the mailbox's).
	next entryNo
}

// Lane is one thread's way to the cache. Its methods but Wake and Stats belong
// to the goroutine, locked to its thread, that owns the ring.
type Lane struct {
	cache *Cache
	ring  uring.Ring
	first entryNo // number of window[0]

	window []entry
	idle   []entryNo // numbers of the window's entries that are not in use

	batches []batch
	spare   []*batch // neither being gathered nor in flight
	open    *batch   // being gathered, or nil
	flying  int      // batches that the ring has
	broken  error    // why the ring can no longer be used
	sink    []byte   // where blocks go that lie between wanted ones; nobody looks

	visit visit   // the one in progress
	wake  []*Lane // lanes that have mail from the batch being settled

	mail mailbox

	mu     sync.Mutex
	counts []Counters // by FileID
}

// NewLane makes one of the Config.Lanes lanes; to make more is a bug. The ring
// must be closed before the cache.
func (c *Cache) NewLane(r uring.Ring) *Lane {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.made == len(c.lanes) {
		panic("blockcache: more lanes than Config.Lanes")
	}
	size := c.cfg.window()
	l := &Lane{cache: c, ring: r, first: entryNo(c.made*size) + 1, window: make([]entry, size)}
	for i := range size {
		l.idle = append(l.idle, l.first+entryNo(size-1-i))
	}
	l.makeBatches(c.cfg)
	l.sink = c.sinks[c.made]
	c.lanes[c.made] = l
	c.made++
	return l
}

// Wake makes a Visit in progress look at its context. It may be called from any
// goroutine.
func (l *Lane) Wake() { l.ring.Wake() }

// entry finds a window entry by its number.
func (c *Cache) entry(e entryNo) *entry {
	l := c.laneOf(e)
	return &l.window[e-l.first]
}

func (c *Cache) laneOf(e entryNo) *Lane { return c.lanes[int(e-1)/c.cfg.window()] }

func (l *Lane) entry(e entryNo) *entry { return &l.window[e-l.first] }

// held is how many blocks the lane has pinned.
func (l *Lane) held() int { return len(l.window) - len(l.idle) }

// reserve takes an entry from the window. The caller has seen to it that one is
// idle.
func (l *Lane) reserve() entryNo {
	e := l.idle[len(l.idle)-1]
	l.idle = l.idle[:len(l.idle)-1]
	return e
}

func (l *Lane) release(e entryNo) {
	invariants.Check(len(l.idle) < len(l.window), "entry %d is released twice", e)
	*l.entry(e) = entry{}
	l.idle = append(l.idle, e)
}

// mailbox holds window entries of a lane whose blocks other lanes have read.
type mailbox struct {
	mu   sync.Mutex
	head entryNo
}

// post puts entry e into the mailbox of its lane. True means that it was empty,
// so that the lane may be asleep and must be woken: a lane takes all its mail
// each time that it wakes.
func (c *Cache) post(e entryNo) (*Lane, bool) {
	l := c.laneOf(e)
	l.mail.mu.Lock()
	defer l.mail.mu.Unlock()
	l.entry(e).next = l.mail.head
	l.mail.head = e
	return l, l.entry(e).next == noEntry
}

// take empties the mailbox.
func (m *mailbox) take() entryNo {
	m.mu.Lock()
	defer m.mu.Unlock()
	e := m.head
	m.head = noEntry
	return e
}
