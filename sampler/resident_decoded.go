package sampler

import (
	"encoding/binary"
	"fmt"
	"slices"

	"github.com/aether-ooc/aether-ooc/internal/base"
	"github.com/aether-ooc/aether-ooc/internal/offheap"
	"github.com/aether-ooc/aether-ooc/layout"
)

// decoded is the form of plain arrays:
//
//	offsets     one for each node and one more: list v is entries offsets[v] … offsets[v+1]-1
//	┌────┬────┬────┬─    ─┬────┐
//	│  0 │  3 │  3 │  …   │  E │   4 bytes each, 8 from 2^32 edges on
//	└────┴────┴────┴─    ─┴────┘
//	entries     in canonical order, so that an entry's place is its EdgeIdx
//	┌───┬───┬───┬───┬─    ─┬───┬────┐
//	│   │   │   │   │  …   │   │ 8  │   each as wide as the largest node needs; 8 bytes behind the
//	└───┴───┴───┴───┴─    ─┴───┴────┘   last one, so that every entry can be had in one load
type decoded struct {
	graph   *layout.Graph
	narrow  []uint32 // the offsets; the other one is nil
	wide    []uint64
	entries []byte
	width   int
	mask    uint64
}

// slack lies behind the last entry.
const slack = 8

func decodedBytes(s layout.Superblock) int64 {
	offsets := sum(times(sum(s.Nodes, 1), offsetBytes(s)), 7) &^ 7
	return clamp(sum(offsets, times(s.Edges, uint64(s.EntryBytes())), slack))
}

func offsetBytes(s layout.Superblock) uint64 {
	if s.Edges < 1<<32 {
		return 4
	}
	return 8
}

func newDecoded(g *layout.Graph, memory []byte, offset, width int) *decoded {
	end := (int(g.Superblock.Nodes+1)*offset + 7) &^ 7
	r := &decoded{graph: g, entries: memory[end:], width: width, mask: ^uint64(0) >> (64 - 8*width)}
	if offset == 4 {
		r.narrow = offheap.Slice[uint32](memory[:end])
	} else {
		r.wide = offheap.Slice[uint64](memory[:end])
	}
	return r
}

func (r *decoded) look(nodes []int64, s *sheet) error {
	if r.narrow != nil {
		lookUp(r.narrow, nodes, s)
	} else {
		lookUp(r.wide, nodes, s)
	}
	return nil
}

func lookUp[T uint32 | uint64](offsets []T, nodes []int64, s *sheet) {
	for i, v := range nodes[:min(window, len(nodes))] {
		at := offsets[v : v+2]
		s.first[i], s.degree[i] = uint64(at[0]), uint64(at[1]-at[0])
	}
}

func (r *decoded) take(_, drawn []int64, _ *sheet) error {
	if r.width <= 4 {
		mask := uint32(r.mask)
		for i, p := range drawn {
			drawn[i] = int64(binary.LittleEndian.Uint32(r.entries[int(p)*r.width:]) & mask)
		}
		return nil
	}
	for i, p := range drawn {
		drawn[i] = int64(binary.LittleEndian.Uint64(r.entries[int(p)*r.width:]) & r.mask)
	}
	return nil
}

func (r *decoded) place(_ base.BlockNo, n int, room []byte) []byte { return room[:n*base.BlockSize] }

// fill decodes a block. What it writes lies between the first node and edge of
// this block and those of the next one, so that blocks may be filled at once. The
// first node's offset is what the block before has written; those of the nodes
// without edges between two lists are the same as the second one's.
func (r *decoded) fill(no base.BlockNo, k layout.Block) error {
	row, at := r.graph.Index.Row(no), 0
	last := k.Node(0)
	for i := range k.Lists() {
		v, list := k.Node(i), k.List(i)
		if i > 0 && v <= last || uint64(v) >= r.graph.Superblock.Nodes || list.Len() == 0 || list.Pos() != at {
			return misplaced(v)
		}
		if i > 0 {
			r.offset(last+1, v, uint64(row.FirstEdge)+uint64(at))
		}
		if err := r.put(uint64(row.FirstEdge)+uint64(at), list); err != nil {
			return err
		}
		last, at = v, at+list.Len()
	}
	if uint64(at) != row.Entries {
		return misplaced(last)
	}
	return r.closeBlock(no, last, uint64(row.FirstEdge)+row.Entries)
}

func misplaced(v base.NodeID) error {
	return &layout.CorruptError{Detail: fmt.Sprintf("the list of node %d is not where the lists around it leave room", v),
		Want: "ascending nodes, one list behind the other", Got: "another order"}
}

// closeBlock writes the offsets of the nodes up to the next block's first one, or
// up to the end.
func (r *decoded) closeBlock(no base.BlockNo, last base.NodeID, end uint64) error {
	s, upTo := r.graph.Superblock, base.NodeID(r.graph.Superblock.Nodes)
	if end < s.Edges {
		next := r.graph.Index.Row(no + 1)
		if upTo = next.FirstNode; upTo < last || upTo == last && next.ContIn == 0 {
			return misplaced(last)
		}
	}
	r.offset(last+1, upTo, end)
	return nil
}

// offset writes at as the offset of the nodes from lo to hi.
func (r *decoded) offset(lo, hi base.NodeID, at uint64) {
	if r.narrow == nil {
		for v := lo; v <= hi; v++ {
			r.wide[v] = at
		}
		return
	}
	for v := lo; v <= hi; v++ {
		r.narrow[v] = uint32(at)
	}
}

// put writes the entries of a list from place at on, some at a time.
func (r *decoded) put(at uint64, list layout.List) error {
	var part [256]uint64
	most := uint64(0)
	for lo, n := 0, list.Len(); lo < n; lo += len(part) {
		values := part[:min(len(part), n-lo)]
		for i := range values {
			values[i] = uint64(lo + i)
		}
		list.Take(values)
		most = max(most, slices.Max(values))
		r.pack(r.entries[(int(at)+lo)*r.width:], values)
	}
	if most >= r.graph.Superblock.Nodes {
		return foreign(r.graph.Superblock.Nodes, most)
	}
	return nil
}

// pack writes each value as a whole word, over what is still to come, but for the
// last few: what lies behind those may be another thread's.
func (r *decoded) pack(to []byte, values []uint64) {
	last := max(0, len(values)-overhang)
	if r.width <= 4 {
		for i, v := range values[:last] {
			binary.LittleEndian.PutUint32(to[i*r.width:], uint32(v))
		}
	} else {
		for i, v := range values[:last] {
			binary.LittleEndian.PutUint64(to[i*r.width:], v)
		}
	}
	for i, v := range values[last:] {
		putBytes(to[(last+i)*r.width:][:r.width], v)
	}
}

// overhang is how many entries a word, begun with an entry, reaches into.
const overhang = 3

func putBytes(b []byte, v uint64) {
	for i := range b {
		b[i] = byte(v >> (8 * i))
	}
}
