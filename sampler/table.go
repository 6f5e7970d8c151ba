package sampler

import "math/bits"

// table maps the nodes of one batch to their local ids: open addressing with
// linear probing, at most half full. The nodes themselves stand in n_id, so a
// slot is only 8 bytes:
//
//	63       48 47      32 31            0
//	┌──────────┬──────────┬───────────────┐
//	│  stamp   │   tag    │   local id    │
//	└──────────┴──────────┴───────────────┘
//
// A slot counts only if it bears the batch's stamp, so a new batch need not
// clear the last one's. The tag is a piece of the node's hash: only where it
// fits is n_id looked at.
type table struct {
	slots []uint64
	shift uint // 64 less the bits of a place
	used  int
	stamp uint64
}

const (
	slotBytes = 8
	minSlots  = 1 << 10
	stamps    = 1 << 16
	chunk     = 64 // nodes met at a time
)

// reset forgets all nodes.
func (t *table) reset() {
	t.used = 0
	if t.stamp++; t.stamp == stamps { // old stamps would count again
		clear(t.slots)
		t.stamp = 1
	}
}

// room makes sure that n more nodes find their slots; nid are the nodes so far,
// perhaps with repeats, of which the first counts.
func (t *table) room(n int, nid []int64) {
	if 2*(t.used+n) <= len(t.slots) {
		return
	}
	size := max(minSlots, 1<<bits.Len(uint(2*(t.used+n)-1)))
	*t = table{slots: make([]uint64, size), shift: uint(64 - bits.TrailingZeros(uint(size))), stamp: 1}
	t.refill(nid)
}

// refill meets the nodes of nid, perhaps with repeats, of which the first counts.
func (t *table) refill(nid []int64) {
	var hashes [chunk]uint64
	t.room(len(nid), nil)
	for at := 0; at < len(nid); at += chunk {
		part := nid[at:min(at+chunk, len(nid))]
		t.touch(part, &hashes)
		for i, v := range part {
			t.meet(hashes[i&(chunk-1)], v, uint32(at+i), nid)
		}
	}
}

// hash spreads a node over 64 bits: the upper ones are its place, the lower 16
// its tag. One multiplication would leave runs for ids in arithmetic progression.
func hash(node int64) uint64 {
	h := uint64(node) * 0x9e3779b97f4a7c15
	h = (h ^ h>>32) * 0xd6e8feb86659fd93
	return h ^ h>>32
}

// meet gives the local id of a node with hash h: fresh, if it is new. There must
// be room; nid holds the nodes met before.
func (t *table) meet(h uint64, node int64, fresh uint32, nid []int64) uint32 {
	mask := uint64(len(t.slots) - 1)
	head := t.stamp<<16 | h&(1<<16-1)
	for at := h >> (t.shift & 63); ; at++ {
		s := &t.slots[at&mask]
		if *s>>48 != t.stamp {
			*s = head<<32 | uint64(fresh)
			t.used++
			return fresh
		}
		if *s>>32 == head && nid[uint32(*s)] == node {
			return uint32(*s)
		}
	}
}

// meetAll replaces each node of nodes by its local id, appends the new ones to
// nid, and gives nid. It reads the slots of a chunk before it searches any, so
// that the cache misses overlap.
func (t *table) meetAll(nodes, nid []int64) []int64 {
	var hashes [chunk]uint64
	for len(nodes) > 0 {
		part := nodes[:min(chunk, len(nodes))]
		t.room(len(part), nid)
		t.touch(part, &hashes)
		for i, v := range part {
			fresh := uint32(len(nid))
			local := t.meet(hashes[i&(chunk-1)], v, fresh, nid)
			if local == fresh {
				nid = append(nid, v)
			}
			part[i] = int64(local)
		}
		nodes = nodes[len(part):]
	}
	return nid
}

// touch hashes the nodes and loads their slots.
func (t *table) touch(nodes []int64, hashes *[chunk]uint64) {
	mask, loaded := uint64(len(t.slots)-1), uint64(0)
	for i, v := range nodes {
		h := hash(v)
		hashes[i&(chunk-1)] = h
		loaded |= t.slots[h>>(t.shift&63)&mask]
	}
	keep(loaded)
}

// keep stops the compiler from leaving out the loads of x.
//
//go:noinline
func keep(uint64) {}
