package blockcache

import "sync"

// freeList holds the slots that no one uses: those given back, and those from
// fresh on that were never touched, whose memory the kernel has not had to
// provide yet.
type freeList struct {
	mu    sync.Mutex
	head  slotNo
	fresh slotNo
}

// pop takes a free slot; none when there is none.
func (l *freeList) pop(slots []slot) slotNo {
	l.mu.Lock()
	defer l.mu.Unlock()
	if s := l.head; s != none {
		l.head = slots[s].next
		slots[s].next = none
		return s
	}
	if int(l.fresh) == len(slots) {
		return none
	}
	l.fresh++
	return l.fresh - 1
}

func (l *freeList) push(slots []slot, s slotNo) {
	l.mu.Lock()
	defer l.mu.Unlock()
	slots[s].next = l.head
	l.head = s
}

// take finds a slot to read into: a free one, else one that the policy advises
// to empty, else any that is not pinned. It never waits. Each lane holds less
// than its quota when it calls, so at every moment some slot is free or
// unpinned; the loop turns again only if other lanes took what it went for.
func (c *Cache) take() slotNo {
	for {
		if s := c.free.pop(c.slots); s != none {
			return s
		}
		if s := c.takeAdvised(); s != none {
			return s
		}
		if s := c.sweep(); s != none {
			return s
		}
	}
}

// give returns a slot that take handed out, or that was vacated.
func (c *Cache) give(s slotNo) { c.free.push(c.slots, s) }

// takeAdvised asks the policy for as many victims as there are slots at most,
// since all may be pinned.
func (c *Cache) takeAdvised() slotNo {
	for range c.slots {
		s := c.policy.victim()
		if s == none || c.evict(s, true) {
			return s
		}
	}
	return none
}

// sweep goes once round the arena for an unpinned slot, from where the last
// sweep ended.
func (c *Cache) sweep() slotNo {
	n := uint64(c.cfg.Slots)
	for range n {
		s := slotNo(c.hand.Add(1)%n) + 1
		if c.evict(s, false) {
			return s
		}
	}
	return none
}

// evict empties slot s if its block is resident and unpinned. If the policy
// advised it, a pinned one goes to limbo.
func (c *Cache) evict(s slotNo, advised bool) bool {
	k := key(c.slots[s].key.Load())
	if k == noKey || !c.tryVacate(s, k, advised) {
		return false
	}
	c.left(s, k, resident)
	return true
}

func (c *Cache) tryVacate(s slotNo, k key, advised bool) bool {
	sl := &c.slots[s]
	mu := c.lock(k)
	defer mu.Unlock()
	if !sl.is(k) || sl.state != resident {
		return false
	}
	if sl.pins > 0 {
		if advised {
			sl.to(limbo)
		}
		return false
	}
	c.vacate(s, k)
	return true
}
