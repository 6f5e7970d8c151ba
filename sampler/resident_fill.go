package sampler

import (
	"encoding/binary"
	"fmt"
	"slices"

	"github.com/aether-ooc/aether-ooc/internal/base"
	"github.com/aether-ooc/aether-ooc/layout"
)

// fill checks and decodes adjacency block no. What it writes lies between the
// first node and edge of this block and those of the next one, so that blocks may
// be filled at once.
func (r *Resident) fill(no base.BlockNo, b []byte) error {
	if err := r.graph.CheckBlock(no, b); err != nil {
		return err
	}
	k, err := layout.ViewBlock(b)
	if err != nil {
		return r.graph.Place(no, err)
	}
	if err := r.graph.CheckRow(no, k); err != nil {
		return err
	}
	return r.graph.Place(no, r.decode(no, k))
}

// decode writes the lists of a block that the index describes. The first node's
// offset is what the block before has written; those of the nodes without edges
// between two lists are the same as the second one's.
func (r *Resident) decode(no base.BlockNo, k layout.Block) error {
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
func (r *Resident) closeBlock(no base.BlockNo, last base.NodeID, end uint64) error {
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
func (r *Resident) offset(lo, hi base.NodeID, at uint64) {
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
func (r *Resident) put(at uint64, list layout.List) error {
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
		return &layout.CorruptError{Detail: "a neighbour is no node of the graph",
			Want: fmt.Sprintf("below %d", r.graph.Superblock.Nodes), Got: fmt.Sprint(most)}
	}
	return nil
}

// pack writes each value as a whole word, over what is still to come, but for the
// last few: what lies behind those may be another thread's.
func (r *Resident) pack(to []byte, values []uint64) {
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
