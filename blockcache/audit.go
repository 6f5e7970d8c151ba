package blockcache

import "fmt"

// audit walks the whole cache, which must be at rest, and says which invariant
// of the package comment does not hold.
func (c *Cache) audit() error {
	linked, err := c.auditChains()
	if err != nil {
		return err
	}
	spare, err := c.auditFree()
	if err != nil {
		return err
	}
	out := 0
	for i := range c.slots[1:] {
		if c.slots[i+1].state == lost {
			out++
		}
	}
	if linked+spare+out != c.cfg.Slots || len(c.failures.why) != out {
		return fmt.Errorf("%d slots: %d in chains, %d free, %d lost; %d errors kept",
			c.cfg.Slots, linked, spare, out, len(c.failures.why))
	}
	return nil
}

func (c *Cache) auditChains() (n int, err error) {
	for b, s := range c.heads {
		for ; s != none; s = c.slots[s].next {
			sl := &c.slots[s]
			k := key(sl.key.Load())
			if c.bucket(k) != uint32(b) || c.find(k) != s {
				return n, fmt.Errorf("slot %d with key %x is in bucket %d; slot %d has the same key", s, k, b, c.find(k))
			}
			if k == noKey || sl.state != resident || sl.pins != 0 || sl.waiters != noEntry {
				return n, fmt.Errorf("slot %d at rest: key %x, %v, %d pins", s, k, sl.state, sl.pins)
			}
			n++
		}
	}
	return n, nil
}

func (c *Cache) auditFree() (n int, err error) {
	for s := c.free.head; s != none; s = c.slots[s].next {
		if err := c.auditEmpty(s); err != nil {
			return n, err
		}
		n++
	}
	for s := c.free.fresh; int(s) < len(c.slots); s++ {
		if err := c.auditEmpty(s); err != nil {
			return n, err
		}
		n++
	}
	return n, nil
}

func (c *Cache) auditEmpty(s slotNo) error {
	if sl := &c.slots[s]; sl.state != free || sl.pins != 0 || !sl.is(noKey) {
		return fmt.Errorf("slot %d of the free list: key %x, %v, %d pins", s, sl.key.Load(), sl.state, sl.pins)
	}
	return nil
}
