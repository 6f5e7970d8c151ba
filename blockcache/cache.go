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
	spare    int           // free slots that are for guests
	costs    []float64     // of reads, by blocks
	most     int           // blocks of a group of reads
	sinks    [][]byte      // of each lane
	hand     atomic.Uint64 // where sweep goes on
	policy   policy
	toucher  toucher // the policy, if it wants to hear of each hit; else nil
	final    bool    // see policyKind
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
	where     []atomic.Uint32 // slot of each block, or none
	heat      []counters4     // how often blocks were asked for, four to a word; nil where the policy does not count
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
	for range c.Lanes { // aligned like the arena
		k.sinks = append(k.sinks, carve[byte](m, c.sinkBytes()))
	}
	k.slots = carve[slot](m, c.Slots+1)
	k.costs, k.most = c.costs(), c.groupBlocks()
	k.policy, err = policies[c.Policy].open(k, m)
	k.toucher, _ = k.policy.(toucher)
	k.final = policies[c.Policy].final
	if policies[c.Policy].counts {
		k.spare = min(c.Lanes*c.window(), c.Slots/spareShare)
	}
	return k, err
}

// spareShare bounds the slots that lie free for guests: one in so many.
const spareShare = 16

func (c *Cache) onRejected(k key) { c.file(k.file()).rejected.Add(1) }

func (c *Cache) file(f FileID) *file { return (*c.files.Load())[f] }

// AddFile makes blocks of f known to the cache. check, if not nil, is called
// once for each read of a block, from the lane that read it, before anyone sees
// the block; its error is what Visit returns. f must stay open as long as lanes
// visit it. Files of more than Config.Blocks blocks together have tables on the
// Go heap, which Footprint does not count.
func (c *Cache) AddFile(f *uring.File, check func(no base.BlockNo, b []byte) error) FileID {
	c.mu.Lock()
	defer c.mu.Unlock()
	added := &file{uring: f, size: f.Size(), check: check}
	blocks := int((added.size + base.BlockSize - 1) / base.BlockSize)
	added.where = carveOrMake[atomic.Uint32](c.memory, blocks)
	if policies[c.cfg.Policy].counts {
		added.heat = carveOrMake[counters4](c.memory, (blocks+3)/4)
	}
	old := *c.files.Load()
	files := append(slices.Clone(old), added)
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

// holds says whether blocks, which ascend, lie in the file.
func (f *file) holds(blocks []base.BlockNo) error {
	if len(blocks) == 0 || int(blocks[len(blocks)-1]) < len(f.where) {
		return nil
	}
	return fmt.Errorf("%w: block %d of %s, which has %d bytes; the file that asks for it does not belong to this one",
		ErrPastEnd, blocks[len(blocks)-1], f.uring.Path(), f.size)
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
		if w := c.slots[i].load(); w.pins() > 0 && w.state() != lost {
			n++
		}
	}
	return n
}
