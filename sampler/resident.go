package sampler

import (
	"github.com/aether-ooc/aether-ooc/internal/base"
	"github.com/aether-ooc/aether-ooc/layout"
)

// Resident is a graph's whole adjacency in memory, for samplers that shall ask
// nobody for blocks. It is filled from the file, in any order and by several
// threads at once, and used only when it is full; from then on it does not change.
type Resident struct {
	graph *layout.Graph
	store store
}

// Form is how a Resident keeps the adjacency.
type Form uint8

const (
	Decoded Form = iota // made for drawing: the fastest, and with a compact file the larger one
	Blocks              // as it lies in the file
)

// String gives "decoded" or "blocks".
func (f Form) String() string { return [...]string{"decoded", "blocks"}[f] }

// Bytes is the memory that a graph's adjacency takes in this form.
func (f Form) Bytes(s layout.Superblock) int64 {
	if f == Blocks {
		return clamp(times(s.Blocks, base.BlockSize))
	}
	return decodedBytes(s)
}

// NewResident makes an empty one in memory, as many zeroed bytes as its form
// takes, aligned to blocks.
func NewResident(g *layout.Graph, f Form, memory []byte) *Resident {
	if f == Blocks {
		return &Resident{g, newWhole(g, memory)}
	}
	return &Resident{g, newDecoded(g, memory, int(offsetBytes(g.Superblock)), g.Superblock.EntryBytes())}
}

// store is a form with its memory.
type store interface {
	// place is where n blocks from no on are to be read to: into room, unless it
	// is where they stay.
	place(no base.BlockNo, n int, room []byte) []byte
	// fill takes note of a block that has been read.
	fill(no base.BlockNo, k layout.Block) error
	// look finds the lists of nodes: the EdgeIdx of the first entry, and the length.
	look(nodes []int64, s *sheet) error
	// take replaces the EdgeIdx that the nodes of the last look have drawn, for
	// each as many as the sheet says, by the neighbours.
	take(nodes, drawn []int64, s *sheet) error
}

// window is how many frontier nodes go through the passes together: enough for
// the loads of a pass to overlap, few enough to stay in the innermost cache.
const window = 128

// sheet is what the passes over one window note.
type sheet struct {
	first, degree [window]uint64 // of each list
	picks         [window]int    // drawn from it

	spans [window]layout.Span // of Blocks alone
	lists [window]layout.List
}
