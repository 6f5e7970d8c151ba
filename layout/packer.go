package layout

import (
	"encoding/binary"

	"github.com/aether-ooc/aether-ooc/internal/base"
)

// packer packs lists into blocks of one encoding.
type packer interface {
	// list takes the next entries of v's list. Lists come in order, each in pieces
	// of any length, which leave no trace in the blocks.
	list(v uint64, entries []base.NodeID) error

	// end closes the last list and its block.
	end() error

	// What emit asks about the block that is full: its bytes, but for the seal, into
	// the zeroed b; its row in the index; and to begin the next one.
	put(b []byte, after bool)
	row(after bool) packedRow
	reset(before bool)
}

// emit sends a packer's block on its way; after: its last list goes on.
type emit func(after bool) error

func newPacker(c WriterConfig, e emit) packer {
	if c.Encoding == Compact {
		return newCompactPacker(c.Nodes, e)
	}
	return &plainPacker{emit: e, width: entryWidth(c.Nodes)}
}

// IsHub says whether a list from first to last is too long for one block.
func (s Superblock) IsHub(degree uint64, first, last base.NodeID) bool {
	switch {
	case degree > maxEntries:
		return true
	case s.Encoding() == Compact:
		room := compactEnd - headBytes(1, directory(1, 0), 0)
		return smallest(packedWidth(s.Nodes), int(degree), uint64(first), uint64(last)) > room
	}
	return degree > uint64((plainRoom-3)/s.EntryBytes()) // 3: delta and end
}

// packedRow is a block's row in the index.
type packedRow struct {
	firstNode                uint64
	entries, contIn, contOut uint16
}

// contents are the lists of the block being packed.
type contents struct {
	nodes  []uint64
	ends   []uint16 // of each list, the entries up to its end
	before bool     // the first one began in an earlier block
}

func (c *contents) entries() int {
	if len(c.ends) == 0 {
		return 0
	}
	return int(c.ends[len(c.ends)-1])
}

func (c *contents) row(after bool) packedRow {
	r := packedRow{firstNode: c.nodes[0], entries: uint16(c.entries())}
	if c.before {
		r.contIn = c.ends[0]
	}
	if n := len(c.ends); after && n > 1 {
		r.contOut = c.ends[n-1] - c.ends[n-2]
	} else if after {
		r.contOut = c.ends[0]
	}
	return r
}

// putHeader writes what all encodings begin with.
func (c *contents) putHeader(b []byte, tag byte, width, delta int, after bool) {
	le := binary.LittleEndian
	b[0], b[1], b[2] = tag, byte(width), byte(delta)
	if c.before {
		b[3] |= contBefore
	}
	if after {
		b[3] |= contAfter
	}
	le.PutUint64(b[4:], c.nodes[0])
	le.PutUint16(b[12:], uint16(len(c.nodes)))
	le.PutUint16(b[14:], uint16(c.entries()))
}

// putDeltas writes each node less the first one, and says how many bytes that took.
func (c *contents) putDeltas(b []byte, width int) int {
	for i, v := range c.nodes {
		putValue(b[i*width:], width, v-c.nodes[0])
	}
	return len(c.nodes) * width
}

// reset empties the block for the next one; before: its first list goes on.
func (c *contents) reset(before bool) {
	c.nodes, c.ends, c.before = c.nodes[:0], c.ends[:0], before
}
