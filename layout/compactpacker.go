package layout

import (
	"sort"

	"github.com/aether-ooc/aether-ooc/internal/base"
)

// compactPacker packs compact blocks. It must see a list's end, or as many
// entries of it as no block holds, before it can tell how much of the list goes
// into the block: so the bytes depend on the lists alone, not on their pieces.
type compactPacker struct {
	compactBlock
	emit emit
	node uint64   // whose list is open
	open []uint64 // its entries that are in no block yet
}

// openMost is as many entries as no block holds, and more.
const openMost = maxEntries

func newCompactPacker(nodes uint64, e emit) *compactPacker {
	return &compactPacker{compactBlock: compactBlock{width: packedWidth(nodes)}, emit: e}
}

// packedWidth is the bits of a packed entry.
func packedWidth(nodes uint64) int {
	if width := idBits(nodes); width <= eliasMost {
		return width
	}
	return 64
}

func (k *compactPacker) list(v uint64, entries []base.NodeID) error {
	if v != k.node {
		if err := k.close(); err != nil {
			return err
		}
	}
	k.node = v
	for len(entries) > 0 {
		n := min(len(entries), openMost)
		for _, e := range entries[:n] {
			k.open = append(k.open, uint64(e))
		}
		if len(k.open) >= 2*openMost {
			if err := k.place(openMost); err != nil {
				return err
			}
		}
		entries = entries[n:]
	}
	return nil
}

// close places all that is open.
func (k *compactPacker) close() error { return k.place(1) }

func (k *compactPacker) end() error {
	if err := k.close(); err != nil || len(k.nodes) == 0 {
		return err
	}
	return k.emit(false)
}

// place moves entries of the open list into blocks until fewer than least are
// left.
func (k *compactPacker) place(least int) error {
	rest := k.open
	for len(rest) >= least {
		n := k.prefix(rest[:min(len(rest), openMost)])
		if n > 0 {
			k.take(rest[:n])
		}
		if rest = rest[n:]; len(rest) == 0 {
			break
		}
		if err := k.emit(n > 0); err != nil {
			return err
		}
	}
	k.open = k.open[:copy(k.open, rest)]
	return nil
}

// prefix is how many of the entries the block has room for.
func (k *compactPacker) prefix(entries []uint64) int {
	room := k.room()
	fits := func(n int) bool { return k.smallest(entries[:n]) <= room }
	if fits(len(entries)) {
		return len(entries)
	}
	return sort.Search(len(entries)-1, func(i int) bool { return !fits(i + 1) })
}

// room is what the open list has of the block.
func (k *compactPacker) room() int {
	first, lists := k.node, len(k.nodes)+1
	if lists > 1 {
		first = k.nodes[0]
	}
	return compactEnd - k.body - headBytes(lists, directory(lists, k.node-first), k.node-first)
}

// directory is the form of a directory: the width of its deltas, or 0 for a bitmap,
// in which lists are found faster, so that it may take a little more.
func directory(lists int, span uint64) int {
	delta := deltaWidth(span)
	if span/64 < uint64(max(lists*delta, smallBitmap)/wordBytes) {
		return 0
	}
	return delta
}

// smallBitmap is what a bitmap may take however few lists there are.
const smallBitmap = 40

func (k *compactPacker) smallest(entries []uint64) int {
	return smallest(k.width, len(entries), entries[0], entries[len(entries)-1])
}

// smallest is the least that n entries from first to last take.
func smallest(width, n int, first, last uint64) int {
	_, size := eliasBest(width, n, first, last)
	return min(size, packedBytes(width, n))
}

// take moves entries into the block, for which there is room in the smaller form.
func (k *compactPacker) take(entries []uint64) {
	n := len(entries)
	low, size := eliasBest(k.width, n, entries[0], entries[n-1])
	packed := packedBytes(k.width, n)
	if packed <= k.room() && size > packed-packed/eliasPays || packed <= size {
		low = packedForm
	}
	k.values = append(k.values, entries...)
	k.add(k.node, low, n)
}

// eliasPays: a list is in Elias-Fano if that spares this part of it, since its
// entries are found more slowly.
const eliasPays = 8

func (k *compactPacker) put(b []byte, after bool) {
	k.delta = directory(len(k.nodes), k.nodes[len(k.nodes)-1]-k.nodes[0])
	k.compactBlock.put(b, after)
}
