package blockcache

import (
	"fmt"

	"github.com/aether-ooc/aether-ooc/internal/base"
)

// audit walks the whole cache, which must be at rest, and says which invariant
// of the package comment does not hold.
func (c *Cache) audit() error {
	kept, err := c.auditFiles()
	if err != nil {
		return err
	}
	spare, err := c.auditFree()
	if err != nil {
		return err
	}
	out := 0
	for i := range c.slots[1:] {
		if c.slots[i+1].load().state() == lost {
			out++
		}
	}
	if kept+spare+out != c.cfg.Slots || len(c.failures.why) != out {
		return fmt.Errorf("%d slots: %d in the tables, %d free, %d lost; %d errors kept",
			c.cfg.Slots, kept, spare, out, len(c.failures.why))
	}
	return nil
}

func (c *Cache) auditFiles() (n int, err error) {
	for f, file := range *c.files.Load() {
		for no := range file.where {
			k := keyOf(FileID(f), base.BlockNo(no))
			s := c.find(k)
			if s == none {
				continue
			}
			sl := &c.slots[s]
			if w := sl.load(); !sl.is(k) || w.state() != resident || w.pins() != 0 || sl.waiters != noEntry {
				return n, fmt.Errorf("slot %d of block %x at rest: key %x, %v, %d pins", s, k, sl.key.Load(), w.state(), w.pins())
			}
			n++
		}
	}
	return n, nil
}

func (c *Cache) auditFree() (n int, err error) {
	given := 0
	for s := c.free.head; s != none; s = c.slots[s].next {
		if err := c.auditEmpty(s); err != nil {
			return n, err
		}
		given++
	}
	if given != c.free.given {
		return n, fmt.Errorf("%d slots in the free list, %d counted", given, c.free.given)
	}
	for s := c.free.fresh; int(s) < len(c.slots); s++ {
		if err := c.auditEmpty(s); err != nil {
			return n, err
		}
		n++
	}
	return n + given, nil
}

func (c *Cache) auditEmpty(s slotNo) error {
	sl := &c.slots[s]
	if w := sl.load(); w.state() != free || w.pins() != 0 || !sl.is(noKey) {
		return fmt.Errorf("slot %d of the free list: key %x, %v, %d pins", s, sl.key.Load(), w.state(), w.pins())
	}
	return nil
}
