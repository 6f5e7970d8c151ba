package blockcache

import "sync"

// freeList holds the slots that no one uses: those given back, and those from
// fresh on that were never touched, whose memory the kernel has not had to
// provide yet.
type freeList struct {
	mu    sync.Mutex
	head  slotNo
	given int // slots given back and not taken again
	fresh slotNo
}

// pop takes a slot that was never used, else one of those given back if there
// are more than spare of them; none when there is none.
func (l *freeList) pop(slots []slot, spare int) slotNo {
	l.mu.Lock()
	defer l.mu.Unlock()
	if int(l.fresh) < len(slots) {
		l.fresh++
		return l.fresh - 1
	}
	if l.given <= spare {
		return none
	}
	s := l.head
	l.head = slots[s].next
	slots[s].next = none
	l.given--
	return s
}

func (l *freeList) push(slots []slot, s slotNo) {
	l.mu.Lock()
	defer l.mu.Unlock()
	slots[s].next = l.head
	l.head = s
	l.given++
}

// take finds a slot to read block k into: a free one, else one that the policy
// advises to empty, else any that is not pinned. It never waits. Each lane holds
// less than its quota when it calls, so at every moment some slot is free or
// unpinned; the loop turns again only if other lanes took what it went for.
//
// The outcome is missing, or guest where the policy says that no block should
// make room for k. Guests lie in slots that other guests have left: of those,
// spare are not given to blocks that stay, but for want of anything else. While
// there are none, what is wanted least makes room all the same.
func (c *Cache) take(k key) (slotNo, outcome) {
	for {
		if s := c.free.pop(c.slots, c.spare); s != none {
			return s, missing
		}
		if s, o := c.takeAdvised(k); s != none {
			return s, o
		}
		if s := c.free.pop(c.slots, 0); s != none {
			return s, missing
		}
		if s := c.sweep(); s != none {
			return s, missing
		}
	}
}

// give returns a slot that take handed out, or that was vacated.
func (c *Cache) give(s slotNo) { c.free.push(c.slots, s) }

// takeAdvised asks the policy for as many victims as there are slots at most,
// since all may be pinned.
func (c *Cache) takeAdvised(k key) (slotNo, outcome) {
	for range c.slots {
		v, o := c.policy.victim(k)
		if o == guest {
			if s := c.free.pop(c.slots, 0); s != none {
				return s, guest
			}
		}
		if v == none || c.evict(v, c.final) {
			return v, o
		}
	}
	return none, missing
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

// evict empties slot s if its block is resident and unpinned. If that is final,
// because whoever advised it will not do so again, a pinned one goes to limbo.
func (c *Cache) evict(s slotNo, final bool) bool {
	sl := &c.slots[s]
	for w := sl.load(); w.state() == resident; w = sl.load() {
		switch {
		case w.pins() == 0 && sl.swap(w, w.in(free)+emptied):
			c.left(s, resident)
			return true
		case w.pins() > 0 && (!final || sl.swap(w, w.in(limbo))):
			return false
		}
	}
	return false
}
