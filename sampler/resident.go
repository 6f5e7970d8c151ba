package sampler

import (
	"encoding/binary"

	"github.com/aether-ooc/aether-ooc/internal/offheap"
	"github.com/aether-ooc/aether-ooc/layout"
)

// Resident is a graph's whole adjacency in memory, decoded for drawing: no
// blocks, no searches, no pins.
//
//	offsets     one for each node and one more: list v is entries offsets[v] … offsets[v+1]-1
//	┌────┬────┬────┬─    ─┬────┐
//	│  0 │  3 │  3 │  …   │  E │   4 bytes each, 8 from 2^32 edges on
//	└────┴────┴────┴─    ─┴────┘
//	entries     in canonical order, so that an entry's place is its EdgeIdx
//	┌───┬───┬───┬───┬─    ─┬───┬────┐
//	│   │   │   │   │  …   │   │ 8  │   each as wide as the largest node needs; 8 bytes behind the
//	└───┴───┴───┴───┴─    ─┴───┴────┘   last one, so that every entry can be had in one load
//
// It is filled from blocks, in any order and by several threads at once, and
// used only when it is full; from then on it does not change.
type Resident struct {
	graph   *layout.Graph
	narrow  []uint32 // the offsets; the other one is nil
	wide    []uint64
	entries []byte
	width   int
	mask    uint64
}

// slack lies behind the last entry.
const slack = 8

// ResidentBytes is what the adjacency takes when it is resident.
func ResidentBytes(s layout.Superblock) int64 {
	offsets := sum(times(sum(s.Nodes, 1), offsetBytes(s)), 7) &^ 7
	return clamp(sum(offsets, times(s.Edges, uint64(s.EntryBytes())), slack))
}

func offsetBytes(s layout.Superblock) uint64 {
	if s.Edges < 1<<32 {
		return 4
	}
	return 8
}

// NewResident makes an empty one in memory, ResidentBytes zeroed bytes aligned to 8.
func NewResident(g *layout.Graph, memory []byte) *Resident {
	return newResident(g, memory, int(offsetBytes(g.Superblock)), g.Superblock.EntryBytes())
}

func newResident(g *layout.Graph, memory []byte, offset, width int) *Resident {
	end := (int(g.Superblock.Nodes+1)*offset + 7) &^ 7
	r := &Resident{graph: g, entries: memory[end:], width: width, mask: ^uint64(0) >> (64 - 8*width)}
	if offset == 4 {
		r.narrow = offheap.Slice[uint32](memory[:end])
	} else {
		r.wide = offheap.Slice[uint64](memory[:end])
	}
	return r
}

// window is how many frontier nodes go through the passes together: enough for
// the loads of a pass to overlap, few enough to stay in the innermost cache.
const window = 128

// sheet is what the passes over one window note.
type sheet struct {
	first, degree [window]uint64 // of each list
	picks         [window]uint64
}

// look finds the lists of nodes: where each begins, and how long it is.
func (r *Resident) look(nodes []int64, first, degree *[window]uint64) {
	if r.narrow != nil {
		look(r.narrow, nodes, first, degree)
	} else {
		look(r.wide, nodes, first, degree)
	}
}

func look[T uint32 | uint64](offsets []T, nodes []int64, first, degree *[window]uint64) {
	for i, v := range nodes[:min(window, len(nodes))] {
		at := offsets[v : v+2]
		first[i], degree[i] = uint64(at[0]), uint64(at[1]-at[0])
	}
}

// take replaces places by the neighbours that stand there.
func (r *Resident) take(places []int64) {
	if r.width <= 4 {
		mask := uint32(r.mask)
		for i, p := range places {
			places[i] = int64(binary.LittleEndian.Uint32(r.entries[int(p)*r.width:]) & mask)
		}
		return
	}
	for i, p := range places {
		places[i] = int64(binary.LittleEndian.Uint64(r.entries[int(p)*r.width:]) & r.mask)
	}
}
