package layout

import (
	"encoding/binary"
	"fmt"
	"math/bits"

	"github.com/aether-ooc/aether-ooc/internal/base"
	"github.com/aether-ooc/aether-ooc/internal/binfmt"
)

const (
	contBefore = 1 << 0 // the first list began in an earlier block
	contAfter  = 1 << 1 // the last list goes on in the next block

	// maxEntries bounds the entries of a block in any encoding: each takes a bit at least.
	maxEntries = 8 * (binfmt.PayloadSize - plainHeader)
)

// Block is a view of one adjacency block. It keeps no memory but the bytes.
type Block struct {
	b       *[base.BlockSize]byte // the whole block, seal included
	first   uint64
	lists   int
	entries int
	dir     int // offset of the deltas, or of the bitmap
	words   int // of the bitmap; 0: there are deltas
	ends    int // offset of the ends
	data    int // offset of the entries
	tag     uint8
	width   uint8 // of an entry: bytes when plain, bits when compact
	delta   uint8
	flags   uint8
}

// ViewBlock checks in constant time what keeps every later access inside b. An
// error is a *CorruptError that knows no place but the offset in the block (see
// Graph.Place).
func ViewBlock(b []byte) (Block, error) {
	if len(b) != base.BlockSize {
		return Block{}, damage(0, "a block has another length", base.BlockSize, len(b))
	}
	le := binary.LittleEndian
	k := Block{b: (*[base.BlockSize]byte)(b), tag: b[0], width: b[1], delta: b[2], flags: b[3],
		first: le.Uint64(b[4:]), lists: int(le.Uint16(b[12:])), entries: int(le.Uint16(b[14:]))}
	err := k.checkHeader()
	switch {
	case err != nil:
	case k.tag == TagCompact:
		err = k.viewCompact()
	default:
		err = k.viewPlain()
	}
	if err != nil {
		return Block{}, err
	}
	return k, nil
}

// checkHeader looks at what all encodings have in common.
func (k *Block) checkHeader() *CorruptError {
	switch {
	case k.tag != TagPlain && k.tag != TagCompact:
		return damage(0, "unknown encoding", fmt.Sprintf("%d or %d", TagPlain, TagCompact), k.tag)
	case k.flags&^(contBefore|contAfter) != 0:
		return damage(3, "unknown flags", "0 to 3", k.flags)
	case k.lists < 1 || k.lists > k.entries:
		return damage(12, "lists in the block", fmt.Sprintf("1 to %d", k.entries), k.lists)
	}
	return nil
}

// used is where the zeros begin.
func (k *Block) used() int {
	if k.tag == TagCompact {
		return k.usedCompact()
	}
	return k.data + k.entries*int(k.width)
}

// Encoding is what the block is packed in.
func (k *Block) Encoding() Encoding { return Encoding(k.tag - TagPlain) }

// Padding is how many bytes of the block are none of header, directory,
// entries and seal.
func (k *Block) Padding() int { return binfmt.PayloadSize - k.used() }

// EntryBytes is how many bytes the entries take.
func (k *Block) EntryBytes() int { return k.used() - k.data }

// Lists is how many lists have entries in the block.
func (k *Block) Lists() int { return k.lists }

// Entries is how many entries the block holds.
func (k *Block) Entries() int { return k.entries }

// EntryBits is what an entry takes that is written out in full.
func (k *Block) EntryBits() int {
	if k.tag == TagCompact {
		return int(k.width)
	}
	return 8 * int(k.width)
}

// ContIn is the number of entries of the first list when it began in an earlier
// block, else 0. ContOut likewise for a last list that goes on.
func (k *Block) ContIn() int {
	if k.flags&contBefore == 0 {
		return 0
	}
	return k.List(0).Len()
}

// ContOut is described at ContIn.
func (k *Block) ContOut() int {
	if k.flags&contAfter == 0 {
		return 0
	}
	return k.List(k.lists - 1).Len()
}

func (k *Block) uint16At(at int) int { return int(binary.LittleEndian.Uint16(k.b[at:])) }

func (k *Block) uint64At(at int) uint64 { return binary.LittleEndian.Uint64(k.b[at:]) }

// deltaAt loads 8 bytes for any width: at least 7 more lie before the block's
// end, since every list has an end (2 bytes) and an entry (1), and the seal has 4.
func (k *Block) deltaAt(i int) uint64 {
	return k.uint64At(k.dir+i*int(k.delta)) & widthMask(k.delta)
}

func widthMask(width uint8) uint64 { return ^uint64(0) >> (64 - 8*uint(width)) }

func bitMask(n uint8) uint64 { return 1<<n - 1 }

// Node is the node of the block's i-th list.
func (k *Block) Node(i int) base.NodeID {
	if k.words > 0 {
		return base.NodeID(k.first + k.bitAt(i))
	}
	return base.NodeID(k.first + k.deltaAt(i))
}

// List is the block's i-th list. Ends that make no sense give an empty one.
func (k *Block) List(i int) List {
	if k.tag == TagCompact {
		return k.compactList(i)
	}
	return k.plainList(i)
}

// Find gives the list of node v, the zero List when v has no entry here.
func (k *Block) Find(v base.NodeID) List {
	if k.words > 0 {
		return k.findBit(uint64(v) - k.first)
	}
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

// Validate checks, in time proportional to the block, all that ViewBlock does
// not: the directory, the order of entries, ids below nodes, zeros in the rest.
func (k *Block) Validate(nodes uint64) error {
	for i := range k.lists {
		if err := k.validateList(i, nodes); err != nil {
			return err
		}
	}
	last := k.List(k.lists - 1)
	if end := last.Pos() + last.Len(); end != k.entries {
		return damage(k.data-2, "the last list does not end with the entries", k.entries, end)
	}
	for at := k.used(); at < binfmt.PayloadSize; at++ {
		if k.b[at] != 0 {
			return damage(at, "padding must be zero", 0, k.b[at])
		}
	}
	if k.tag == TagCompact {
		return k.validateCompact()
	}
	return nil
}

func (k *Block) validateList(i int, nodes uint64) error {
	v := uint64(k.Node(i))
	switch {
	case i == 0 && v != k.first:
		return damage(k.dir, "the first list must be that of the first node", k.first, v)
	case i > 0 && v <= uint64(k.Node(i-1)):
		return damage(k.dir+i*int(k.delta), "nodes must ascend", fmt.Sprintf("more than %d", k.Node(i-1)), v)
	case v < k.first || v >= nodes:
		return damage(k.dir+i*int(k.delta), "node id", fmt.Sprintf("below %d", nodes), v)
	}
	l := k.List(i)
	if l.n == 0 {
		return damage(k.ends+2*i, "ends of lists must ascend", fmt.Sprintf("at most %d", k.entries), "no entry")
	}
	for j, before := 0, base.NodeID(0); j < l.Len(); j++ {
		v := l.At(j)
		if uint64(v) >= nodes || v < before {
			return damage(l.place(j), "neighbours must ascend and be below the node count", nodes, v)
		}
		before = v
	}
	return nil
}

// idBits is how many bits the ids below nodes need.
func idBits(nodes uint64) int { return max(1, bits.Len64(max(nodes, 1)-1)) }

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
