package layout

import (
	"encoding/binary"
	"fmt"
	"math/bits"
	"sort"

	"github.com/aether-ooc/aether-ooc/internal/base"
	"github.com/aether-ooc/aether-ooc/internal/binfmt"
)

// TagPlain is the encoding of fixed-width entries. The tag is the block's first
// byte and governs all that follows it.
const TagPlain = 1

const (
	headerBytes = 16
	contBefore  = 1 << 0 // the first list began in an earlier block
	contAfter   = 1 << 1 // the last list goes on in the next block
	maxEntries  = binfmt.PayloadSize - headerBytes
)

// Block is a view of one adjacency block. It keeps no memory but the bytes.
type Block struct {
	b       []byte // the whole block, seal included
	first   uint64
	lists   int
	entries int
	ends    int // offset of the ends
	data    int // offset of the entries
	width   uint8
	delta   uint8
	flags   uint8
}

// List is a piece of a node's list, as one block holds it: the whole list
// unless it goes over the block's end.
type List struct {
	data  []byte // from the list's first entry to the block's end
	mask  uint64
	width int32
	n     int32
	pos   int32
}

// ViewBlock checks in constant time what keeps every later access inside b. An
// error is a *CorruptError that knows no place but the offset in the block (see
// Graph.Place).
func ViewBlock(b []byte) (Block, error) {
	if len(b) != base.BlockSize {
		return Block{}, damage(0, "a block has another length", base.BlockSize, len(b))
	}
	le := binary.LittleEndian
	k := Block{b: b, width: b[1], delta: b[2], flags: b[3],
		first: le.Uint64(b[4:]), lists: int(le.Uint16(b[12:])), entries: int(le.Uint16(b[14:]))}
	k.ends = headerBytes + k.lists*int(k.delta)
	k.data = k.ends + 2*k.lists
	if err := k.checkHeader(); err != nil {
		return Block{}, err
	}
	return k, nil
}

func (k Block) checkHeader() error {
	switch {
	case k.b[0] != TagPlain:
		return damage(0, "unknown encoding", TagPlain, k.b[0])
	case k.width < 1 || k.width > 8:
		return damage(1, "entry width", "1 to 8", k.width)
	case k.delta != 1 && k.delta != 2 && k.delta != 4 && k.delta != 8:
		return damage(2, "delta width", "1, 2, 4 or 8", k.delta)
	case k.flags&^(contBefore|contAfter) != 0:
		return damage(3, "unknown flags", "0 to 3", k.flags)
	case k.lists < 1 || k.lists > k.entries:
		return damage(12, "lists in the block", fmt.Sprintf("1 to %d", k.entries), k.lists)
	case k.used() > binfmt.PayloadSize:
		return damage(14, "bytes in the block", fmt.Sprintf("at most %d", binfmt.PayloadSize), k.used())
	}
	return nil
}

// used is where the zeros begin.
func (k Block) used() int { return k.data + k.entries*int(k.width) }

// Padding is how many bytes of the block are none of header, directory,
// entries and seal.
func (k Block) Padding() int { return binfmt.PayloadSize - k.used() }

// Lists is how many lists have entries in the block.
func (k Block) Lists() int { return k.lists }

// Entries is how many entries the block holds.
func (k Block) Entries() int { return k.entries }

// EntryWidth is the bytes of one entry.
func (k Block) EntryWidth() int { return int(k.width) }

// ContIn is the number of entries of the first list when it began in an earlier
// block, else 0. ContOut likewise for a last list that goes on.
func (k Block) ContIn() int {
	if k.flags&contBefore == 0 {
		return 0
	}
	return k.List(0).Len()
}

// ContOut is described at ContIn.
func (k Block) ContOut() int {
	if k.flags&contAfter == 0 {
		return 0
	}
	return k.List(k.lists - 1).Len()
}

// deltaAt loads 8 bytes for any width: at least 7 more lie before the block's
// end, since every list has an end (2 bytes) and an entry (1), and the seal has 4.
func (k Block) deltaAt(i int) uint64 {
	return binary.LittleEndian.Uint64(k.b[headerBytes+i*int(k.delta):]) & widthMask(k.delta)
}

func (k Block) endAt(i int) int { return int(binary.LittleEndian.Uint16(k.b[k.ends+2*i:])) }

func widthMask(width uint8) uint64 { return ^uint64(0) >> (64 - 8*uint(width)) }

// Node is the node of the block's i-th list.
func (k Block) Node(i int) base.NodeID { return base.NodeID(k.first + k.deltaAt(i)) }

// List is the block's i-th list. Ends that make no sense give an empty one.
func (k Block) List(i int) List {
	lo, hi := 0, k.endAt(i)
	if i > 0 {
		lo = k.endAt(i - 1)
	}
	if lo >= hi || hi > k.entries {
		return List{}
	}
	w := int(k.width)
	return List{data: k.b[k.data+lo*w:], mask: widthMask(k.width), width: int32(w), n: int32(hi - lo), pos: int32(lo)}
}

// Find gives the list of node v, the zero List when v has no entry here.
func (k Block) Find(v base.NodeID) List {
	d := uint64(v) - k.first
	if uint64(v) < k.first || d > widthMask(k.delta) {
		return List{}
	}
	lo, n := 0, k.lists // the last list whose delta is at most d lies in [lo, lo+n)
	for n > 1 {
		half := n / 2
		if k.deltaAt(lo+half) <= d {
			lo += half
		}
		n -= half
	}
	if k.deltaAt(lo) != d {
		return List{}
	}
	return k.List(lo)
}

// Len is the number of entries.
func (l List) Len() int { return int(l.n) }

// Pos is the place in the block of the first entry: the i-th entry is the
// block's (Pos+i)-th, so its EdgeIdx is FirstEdge(block) + Pos + i.
func (l List) Pos() int { return int(l.pos) }

// At is the i-th entry, i < Len. One load: behind the last entry stands the
// seal, so reading over the entry's end stays in the block.
func (l List) At(i int) base.NodeID {
	at := i * int(l.width)
	if l.width <= 4 {
		return base.NodeID(uint64(binary.LittleEndian.Uint32(l.data[at:])) & l.mask)
	}
	return base.NodeID(binary.LittleEndian.Uint64(l.data[at:]) & l.mask)
}

// Take replaces ranks in the list, each below Len, by the entries that have them.
func (l List) Take(ranks []uint64) {
	if l.width <= 4 {
		for i, r := range ranks {
			ranks[i] = uint64(binary.LittleEndian.Uint32(l.data[int(r)*int(l.width):])) & l.mask
		}
		return
	}
	for i, r := range ranks {
		ranks[i] = binary.LittleEndian.Uint64(l.data[int(r)*int(l.width):]) & l.mask
	}
}

// Validate checks, in time proportional to the block, all that ViewBlock does
// not: the directory, the order of entries, ids below nodes, zeros in the rest.
func (k Block) Validate(nodes uint64) error {
	if k.deltaAt(0) != 0 {
		return damage(headerBytes, "the first delta must be 0", 0, k.deltaAt(0))
	}
	for i := range k.lists {
		if err := k.validateList(i, nodes); err != nil {
			return err
		}
	}
	if end := k.endAt(k.lists - 1); end != k.entries {
		return damage(k.data-2, "the last list does not end with the entries", k.entries, end)
	}
	for at := k.used(); at < binfmt.PayloadSize; at++ {
		if k.b[at] != 0 {
			return damage(at, "padding must be zero", 0, k.b[at])
		}
	}
	return nil
}

func (k Block) validateList(i int, nodes uint64) error {
	if i > 0 && k.deltaAt(i) <= k.deltaAt(i-1) {
		return damage(headerBytes+i*int(k.delta), "nodes must ascend", fmt.Sprintf("more than %d", k.deltaAt(i-1)), k.deltaAt(i))
	}
	if v := k.first + k.deltaAt(i); v < k.first || v >= nodes {
		return damage(headerBytes+i*int(k.delta), "node id", fmt.Sprintf("below %d", nodes), v)
	}
	l := k.List(i)
	if l.n == 0 {
		return damage(k.ends+2*i, "ends of lists must ascend", fmt.Sprintf("at most %d", k.entries), k.endAt(i))
	}
	for j := range l.Len() {
		if v := l.At(j); uint64(v) >= nodes || j > 0 && v < l.At(j-1) {
			return damage(k.data+(l.Pos()+j)*int(k.width), "neighbours must ascend and be below the node count", nodes, v)
		}
	}
	return nil
}

// entryWidth is how many bytes the ids below nodes need.
func entryWidth(nodes uint64) int {
	return max(1, (bits.Len64(max(nodes, 1)-1)+7)/8)
}

// EntryBytes is the width of an entry as the Writer packs it.
func (s Superblock) EntryBytes() int { return entryWidth(s.Nodes) }

// BlockEntries is how many entries of one list a block holds at most; a node
// with more edges is a hub.
func (s Superblock) BlockEntries() uint64 {
	return uint64((maxEntries - 3) / s.EntryBytes())
}

// deltaWidth is the least of 1, 2, 4, 8 bytes that hold d.
func deltaWidth(d uint64) int {
	widths := [...]int{1, 2, 4, 8}
	return widths[sort.Search(3, func(i int) bool { return d>>(8*widths[i]) == 0 })]
}

// builder collects the lists of one block.
type builder struct {
	width  int
	nodes  []uint64
	ends   []uint16
	body   []byte
	before bool
}

// room is how many more entries of v's list fit.
func (k *builder) room(v uint64) int {
	lists, first := len(k.nodes), v
	if lists > 0 {
		first = k.nodes[0]
	}
	if !k.holds(v) {
		lists++
	}
	free := maxEntries - lists*(deltaWidth(v-first)+2) - len(k.body)
	return max(0, free/k.width)
}

// holds says whether v's list is the last one so far.
func (k *builder) holds(v uint64) bool { return len(k.nodes) > 0 && k.nodes[len(k.nodes)-1] == v }

// add appends entries to v's list; they must fit.
func (k *builder) add(v uint64, entries []base.NodeID) {
	if !k.holds(v) {
		k.nodes, k.ends = append(k.nodes, v), append(k.ends, uint16(k.entries()))
	}
	for _, e := range entries {
		k.body = binary.LittleEndian.AppendUint64(k.body, uint64(e))[:len(k.body)+k.width]
	}
	k.ends[len(k.ends)-1] += uint16(len(entries))
}

func (k *builder) entries() int { return len(k.body) / k.width }

// contIn and contOut are the block's values in the index.
func (k *builder) contIn() uint16 {
	if !k.before {
		return 0
	}
	return k.ends[0]
}

func (k *builder) contOut(after bool) uint16 {
	if !after {
		return 0
	}
	n := len(k.ends)
	if n == 1 {
		return k.ends[0]
	}
	return k.ends[n-1] - k.ends[n-2]
}

// put writes the block, but for its seal, into the zeroed b.
func (k *builder) put(b []byte, after bool) {
	le, first, last := binary.LittleEndian, k.nodes[0], k.nodes[len(k.nodes)-1]
	delta := deltaWidth(last - first)
	b[0], b[1], b[2] = TagPlain, byte(k.width), byte(delta)
	if k.before {
		b[3] |= contBefore
	}
	if after {
		b[3] |= contAfter
	}
	le.PutUint64(b[4:], first)
	le.PutUint16(b[12:], uint16(len(k.nodes)))
	le.PutUint16(b[14:], uint16(k.entries()))
	at := headerBytes
	for _, v := range k.nodes {
		putValue(b[at:], delta, v-first)
		at += delta
	}
	for _, e := range k.ends {
		le.PutUint16(b[at:], e)
		at += 2
	}
	copy(b[at:], k.body)
}

// reset empties the block for the next one; before: its first list goes on.
func (k *builder) reset(before bool) {
	k.nodes, k.ends, k.body, k.before = k.nodes[:0], k.ends[:0], k.body[:0], before
}

// putValue writes the low width bytes of x.
func putValue(b []byte, width int, x uint64) {
	for i := range width {
		b[i] = byte(x >> (8 * i))
	}
}

func getValue(b []byte, width int) (x uint64) {
	for i := range width {
		x |= uint64(b[i]) << (8 * i)
	}
	return x
}
