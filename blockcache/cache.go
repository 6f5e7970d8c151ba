package blockcache

import (
	"errors"
	"fmt"
	"io"
	"slices"
	"sync"
	"sync/atomic"

	"github.com/aether-ooc/aether-ooc/internal/base"
	"github.com/aether-ooc/aether-ooc/internal/invariants"
	"github.com/aether-ooc/aether-ooc/uring"
)

// Cache holds blocks of files. All methods may be called from any goroutine;
// Close only when no lane is in a Visit and every lane's ring is closed.
type Cache struct {
	table
	cfg      Config
	memory   *memory
	arena    []byte
	free     freeList
	hand     atomic.Uint64 // where sweep goes on
	policy   policy
	failures failures

	mu    sync.Mutex // guards changes of files and lanes
	files atomic.Pointer[[]*file]
	lanes []*Lane // of length Config.Lanes from the start; nil where not made yet
	made  int
}

// file is one file's entry: what a read of it needs to know, and counters that
// belong to no lane.
type file struct {
	uring     *uring.File
	size      int64
	check     func(no base.BlockNo, b []byte) error
	evictions atomic.Int64
	rejected  atomic.Int64
}

// New makes an empty cache. It reserves all of its memory, which the kernel
// provides as slots are first used.
func New(c Config) (*Cache, error) {
	c, err := c.complete()
	if err != nil {
		return nil, err
	}
	m, err := reserve(c.tableBytes())
	if err != nil {
		return nil, err
	}
	k, err := build(c, m)
	if err != nil {
		return nil, errors.Join(fmt.Errorf("blockcache: policy %s: %w", c.Policy, err), m.free())
	}
	return k, nil
}

// build lays out the memory m, which has c.tableBytes.
func build(c Config, m *memory) (k *Cache, err error) {
	k = &Cache{cfg: c, memory: m, lanes: make([]*Lane, c.Lanes), free: freeList{fresh: 1}}
	k.failures.why = map[slotNo]error{}
	k.files.Store(&[]*file{})
	k.arena = carve[byte](m, c.Slots*base.BlockSize)
	k.slots = carve[slot](m, c.Slots+1)
	k.heads = carve[slotNo](m, headCount(c.Slots))
	env := policyEnv{slots: c.Slots, slack: c.Lanes * c.window(), memory: m, rejected: k.onRejected}
	k.policy, err = policies[c.Policy].open(env)
	return k, err
}

func (c *Cache) onRejected(k key) { c.file(k.file()).rejected.Add(1) }

func (c *Cache) file(f FileID) *file { return (*c.files.Load())[f] }

// AddFile makes blocks of f known to the cache. check, if not nil, is called
// once for each read of a block, from the lane that read it, before anyone sees
// the block; its error is what Visit returns. f must stay open as long as lanes
// visit it.
func (c *Cache) AddFile(f *uring.File, check func(no base.BlockNo, b []byte) error) FileID {
	c.mu.Lock()
	defer c.mu.Unlock()
	old := *c.files.Load()
	files := append(slices.Clone(old), &file{uring: f, size: f.Size(), check: check})
	c.files.Store(&files)
	return FileID(len(old))
}

// verify judges what a read brought for block no: n bytes of it. The bytes past
// the file's end become zeros.
func (f *file) verify(no base.BlockNo, b []byte, n int) error {
	want := int(min(f.size-int64(no.Off()), base.BlockSize))
	if n < want {
		return fmt.Errorf("blockcache: %s: block %d at offset %d: %d bytes came of %d: %w; the file shrank since it was opened, restore it and open it again",
			f.uring.Path(), no, no.Off(), n, want, io.ErrUnexpectedEOF)
	}
	clear(b[want:])
	if f.check == nil {
		return nil
	}
	return f.check(no, b)
}

func (f *file) holds(no base.BlockNo) error {
	if int64(no.Off()) < f.size {
		return nil
	}
	return fmt.Errorf("%w: block %d of %s, which has %d bytes; the file that asks for it does not belong to this one",
		ErrPastEnd, no, f.uring.Path(), f.size)
}

// Close gives the memory back. With blocks still pinned it does nothing and
// returns ErrInUse.
func (c *Cache) Close() error {
	if n := c.pinned(); n > 0 {
		return fmt.Errorf("%w: %d blocks are pinned; let every Visit return before Close", ErrInUse, n)
	}
	if invariants.Enabled {
		err := c.audit()
		invariants.Check(err == nil, "closing the cache: %v", err)
	}
	c.policy.close()
	return c.memory.free()
}

// Arena is the memory that blocks are read into: uring.Config wants it.
func (c *Cache) Arena() []byte { return c.arena }

// pinned counts the slots in use, but for those that a broken ring left behind.
func (c *Cache) pinned() int {
	n := 0
	for i := range c.slots {
		s := &c.slots[i]
		mu := c.lock(key(s.key.Load()))
		if s.pins > 0 && s.state != lost {
			n++
		}
		mu.Unlock()
	}
	return n
}
