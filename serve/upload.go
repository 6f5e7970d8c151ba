package serve

import (
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/aether-ooc/aether-ooc/internal/base"
)

var (
	errUpload     = errors.New("unknown upload")
	errUploadRoom = errors.New("no room for the upload")
)

const idBytes = 8

// uploads keeps seed lists by their hash, within a bound on their bytes. A
// list is dropped when nobody has used it for a while, or, least recently used
// first, when another needs its room; never while a request runs on it.
type uploads struct {
	max int64

	mu    sync.Mutex
	bytes int64 // of lists and reservations
	lists map[string]*upload
}

type upload struct {
	nodes []base.NodeID
	users int
	last  time.Time
}

func newUploads(max int64) *uploads { return &uploads{max: max, lists: map[string]*upload{}} }

func (u *uploads) size(l *upload) int64 { return idBytes * int64(len(l.nodes)) }

// reserve makes room for n more ids, which the caller hands to add or gives
// back with unreserve.
func (u *uploads) reserve(n int) error {
	u.mu.Lock()
	defer u.mu.Unlock()
	want := idBytes * int64(n)
	for u.bytes+want > u.max {
		if !u.evict() {
			return fmt.Errorf("serve: %w: %d bytes are taken of the %d that seed lists may have: send a shorter list, wait for other requests, or give the server more (serve --uploads)", errUploadRoom, u.bytes, u.max)
		}
	}
	u.bytes += want
	return nil
}

func (u *uploads) unreserve(n int) {
	u.mu.Lock()
	defer u.mu.Unlock()
	u.bytes -= idBytes * int64(n)
}

// evict drops the list that has been idle for longest; false when all are used.
func (u *uploads) evict() bool {
	oldest := ""
	for hash, l := range u.lists {
		if l.users == 0 && (oldest == "" || l.last.Before(u.lists[oldest].last)) {
			oldest = hash
		}
	}
	if oldest == "" {
		return false
	}
	u.drop(oldest)
	return true
}

func (u *uploads) drop(hash string) {
	u.bytes -= u.size(u.lists[hash])
	delete(u.lists, hash)
}

// add keeps nodes, whose room has been reserved, under hash.
func (u *uploads) add(hash string, nodes []base.NodeID, now time.Time) {
	u.mu.Lock()
	defer u.mu.Unlock()
	l := u.lists[hash]
	if l == nil {
		l = &upload{nodes: nodes}
		u.lists[hash] = l
	} else {
		u.bytes -= idBytes * int64(len(nodes)) // it is there already
	}
	l.last = now
}

// use gives the list of a hash, to be handed back with done.
func (u *uploads) use(hash string) (nodes []base.NodeID, done func(now time.Time), err error) {
	u.mu.Lock()
	defer u.mu.Unlock()
	l := u.lists[hash]
	if l == nil {
		return nil, nil, fmt.Errorf("serve: %w %s: it was never sent, or dropped after it had been idle: send the list again by DoPut", errUpload, hash)
	}
	l.users++
	return l.nodes, func(now time.Time) {
		u.mu.Lock()
		defer u.mu.Unlock()
		l.users--
		l.last = now
	}, nil
}

// expire drops what has been idle since before.
func (u *uploads) expire(before time.Time) {
	u.mu.Lock()
	defer u.mu.Unlock()
	for hash, l := range u.lists {
		if l.users == 0 && l.last.Before(before) {
			u.drop(hash)
		}
	}
}

func (u *uploads) count() (lists int, bytes int64) {
	u.mu.Lock()
	defer u.mu.Unlock()
	return len(u.lists), u.bytes
}
