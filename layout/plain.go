package layout

import (
	"encoding/binary"
	"fmt"
	"sort"

	"github.com/aether-ooc/aether-ooc/internal/base"
	"github.com/aether-ooc/aether-ooc/internal/binfmt"
)

const (
	plainHeader = 16
	plainRoom   = binfmt.PayloadSize - plainHeader // for directory and entries
)

// viewPlain finds the parts of a plain block.
func (k *Block) viewPlain() *CorruptError {
	k.dir = plainHeader
	k.ends = k.dir + k.lists*int(k.delta)
	k.data = k.ends + 2*k.lists
	switch {
	case k.width < 1 || k.width > 8:
		return damage(1, "entry width", "1 to 8", k.width)
	case k.delta != 1 && k.delta != 2 && k.delta != 4 && k.delta != 8:
		return damage(2, "delta width", "1, 2, 4 or 8", k.delta)
	case k.used() > binfmt.PayloadSize:
		return damage(14, "bytes in the block", fmt.Sprintf("at most %d", binfmt.PayloadSize), k.used())
	}
	return nil
}

func (k *Block) plainList(i int) List {
	lo, hi := 0, k.uint16At(k.ends+2*i)
	if i > 0 {
		lo = k.uint16At(k.ends + 2*i - 2)
	}
	if lo >= hi || hi > k.entries {
		return List{}
	}
	l := List{b: k.b, mask: widthMask(k.width), n: int32(hi - lo), pos: int32(lo), at: int32(k.data + lo*int(k.width)), width: 8 * k.width}
	if k.width > 4 {
		l.form = formPacked
	}
	return l
}

// entryWidth is how many bytes the ids below nodes need.
func entryWidth(nodes uint64) int { return (idBits(nodes) + 7) / 8 }

// EntryBytes is the width of an entry that is written out in whole bytes.
func (s Superblock) EntryBytes() int { return entryWidth(s.Nodes) }

// deltaWidth is the least of 1, 2, 4, 8 bytes that hold d.
func deltaWidth(d uint64) int {
	widths := [...]int{1, 2, 4, 8}
	return widths[sort.Search(3, func(i int) bool { return d>>(8*widths[i]) == 0 })]
}

// plainPacker packs plain blocks.
type plainPacker struct {
	contents
	emit  emit
	width int
	body  []byte
}

func (k *plainPacker) list(v uint64, entries []base.NodeID) error {
	for len(entries) > 0 {
		n := min(k.room(v), len(entries))
		if n == 0 {
			if err := k.emit(k.holds(v)); err != nil {
				return err
			}
			continue
		}
		k.add(v, entries[:n])
		entries = entries[n:]
	}
	return nil
}

func (k *plainPacker) end() error {
	if len(k.nodes) == 0 {
		return nil
	}
	return k.emit(false)
}

// room is how many more entries of v's list fit.
func (k *plainPacker) room(v uint64) int {
	lists, first := len(k.nodes), v
	if lists > 0 {
		first = k.nodes[0]
	}
	if !k.holds(v) {
		lists++
	}
	free := plainRoom - lists*(deltaWidth(v-first)+2) - len(k.body)
	return max(0, free/k.width)
}

// holds says whether v's list is the last one so far.
func (k *plainPacker) holds(v uint64) bool {
	return len(k.nodes) > 0 && k.nodes[len(k.nodes)-1] == v
}

// add appends entries to v's list; they must fit.
func (k *plainPacker) add(v uint64, entries []base.NodeID) {
	if !k.holds(v) {
		k.nodes, k.ends = append(k.nodes, v), append(k.ends, uint16(k.entries()))
	}
	for _, e := range entries {
		k.body = binary.LittleEndian.AppendUint64(k.body, uint64(e))[:len(k.body)+k.width]
	}
	k.ends[len(k.ends)-1] += uint16(len(entries))
}

func (k *plainPacker) put(b []byte, after bool) {
	delta := deltaWidth(k.nodes[len(k.nodes)-1] - k.nodes[0])
	k.putHeader(b, TagPlain, k.width, delta, after)
	at := plainHeader + k.putDeltas(b[plainHeader:], delta)
	for _, e := range k.ends {
		binary.LittleEndian.PutUint16(b[at:], e)
		at += 2
	}
	copy(b[at:], k.body)
}

func (k *plainPacker) reset(before bool) {
	k.contents.reset(before)
	k.body = k.body[:0]
}
