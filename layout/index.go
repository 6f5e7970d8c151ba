package layout

import (
	"fmt"
	"math"

	"github.com/aether-ooc/aether-ooc/internal/base"
)

// Where is how a node's list lies.
type Where uint8

const (
	Absent Where = iota // no edges, and no read is needed to know it
	One                 // in the block First, whole; its degree is found there, and may be 0
	Many                // over the blocks First to Last; its degree is known
)

// Span is the place of a node's list.
type Span struct {
	First, Last base.BlockNo
	Degree      uint64 // with Many
	Where       Where
}

// Index finds lists from a few bytes per block, none per node (but the presence
// bitmap, one bit each, where the file has one). Its numbers are places in the
// file: without a placement section a place is a node id.
type Index struct {
	base         base.BlockNo // the first adjacency block
	nodes, edges uint64
	firstNode    column
	firstEdge    column
	contIn       []uint16
	contOut      []uint16
	presence     []byte
	shift        uint8
	jump         []uint32 // jump[i]: how many blocks begin before node i<<shift
}

// column is a column of the index in the width that its values need.
type column struct {
	narrow []uint32
	wide   []uint64
}

func newColumn(width uint8, n uint64) column {
	if width == 4 {
		return column{narrow: make([]uint32, n)}
	}
	return column{wide: make([]uint64, n)}
}

func (c column) at(i int) uint64 {
	if c.narrow != nil {
		return uint64(c.narrow[i])
	}
	return c.wide[i]
}

func (c column) set(i int, x uint64) {
	if c.narrow != nil {
		c.narrow[i] = uint32(x)
		return
	}
	c.wide[i] = x
}

// above is the first i in [lo, hi) with a value over x, else hi; the values do
// not decrease.
func (c column) above(x uint64, lo, hi int) int {
	for lo < hi {
		mid := int(uint(lo+hi) / 2)
		if c.at(mid) > x {
			hi = mid
		} else {
			lo = mid + 1
		}
	}
	return lo
}

func (c column) bytes() int64 { return int64(len(c.narrow))*4 + int64(len(c.wide))*8 }

// columnWidth is the width of a column whose values are below bound.
func columnWidth(bound uint64) uint8 {
	if bound <= math.MaxUint32+1 {
		return 4
	}
	return 8
}

func (x *Index) blocks() int { return len(x.contIn) }

// Bytes is the memory that the index holds.
func (x *Index) Bytes() int64 {
	return x.firstNode.bytes() + x.firstEdge.bytes() + 2*int64(len(x.contIn)+len(x.contOut)) + int64(len(x.presence)) + 4*int64(len(x.jump))
}

// indexBytes is what Bytes will be, the presence bitmap aside.
func indexBytes(nodes, edges, blocks uint64) int64 {
	perBlock := uint64(columnWidth(nodes)) + uint64(columnWidth(edges)) + 4
	return int64(perBlock*blocks + 4*jumpLen(nodes, blocks, jumpShift(nodes, blocks)))
}

// jumpShift is chosen so that there is at most one jump entry per 16 blocks.
func jumpShift(nodes, blocks uint64) (shift uint8) {
	for most := max(1, blocks/16); nodes > 0 && (nodes-1)>>shift >= most; shift++ {
	}
	return shift
}

func jumpLen(nodes, blocks uint64, shift uint8) uint64 {
	if nodes == 0 || blocks == 0 {
		return 0
	}
	return (nodes-1)>>shift + 2
}

// makeJump fills the jump table from the first nodes.
func (x *Index) makeJump() {
	blocks := uint64(x.blocks())
	x.shift = jumpShift(x.nodes, blocks)
	x.jump = make([]uint32, jumpLen(x.nodes, blocks, x.shift))
	b := 0
	for i := range x.jump {
		for b < x.blocks() && x.firstNode.at(b)>>x.shift < uint64(i) {
			b++
		}
		x.jump[i] = uint32(b)
	}
}

// Locate gives the place of v's list.
func (x *Index) Locate(v base.NodeID) Span {
	if uint64(v) >= x.nodes || len(x.jump) == 0 || !x.maybe(v) {
		return Span{}
	}
	i := uint64(v) >> x.shift
	lo := int(x.jump[i])
	b := x.firstNode.above(uint64(v), lo, int(x.jump[i+1])) - 1 // the last block that begins at or before v
	switch {
	case b < 0:
		return Span{}
	case x.firstNode.at(b) < uint64(v):
		return x.within(b)
	case x.contIn[b] == 0:
		return Span{First: x.no(b), Last: x.no(b), Where: One}
	}
	first := 0
	if v > 0 {
		first = x.firstNode.above(uint64(v)-1, lo, b)
	}
	if x.contIn[first] > 0 { // it began at the end of the block before
		first--
	}
	s := Span{First: x.no(first), Last: x.no(b), Where: Many}
	s.Degree = x.firstEdge.at(b) + uint64(x.contIn[b]) - x.start(s)
	return s
}

// within is the place of a node that block b does not begin with: there, unless
// the block is full of one other list.
func (x *Index) within(b int) Span {
	if n := x.entries(b); uint64(x.contIn[b]) == n || uint64(x.contOut[b]) == n {
		return Span{}
	}
	return Span{First: x.no(b), Last: x.no(b), Where: One}
}

func (x *Index) maybe(v base.NodeID) bool {
	return x.presence == nil || x.presence[v/8]>>(v%8)&1 != 0
}

func (x *Index) no(b int) base.BlockNo { return x.base + base.BlockNo(b) }

// entries is the number of entries of the b-th block.
func (x *Index) entries(b int) uint64 {
	if b+1 == x.blocks() {
		return x.edges - x.firstEdge.at(b)
	}
	return x.firstEdge.at(b+1) - x.firstEdge.at(b)
}

// start is the EdgeIdx of the first entry of a Many list.
func (x *Index) start(s Span) uint64 {
	b := int(s.First - x.base)
	return x.firstEdge.at(b+1) - uint64(x.contOut[b])
}

// FirstEdge is the EdgeIdx of the first entry of an adjacency block.
func (x *Index) FirstEdge(b base.BlockNo) base.EdgeIdx {
	return base.EdgeIdx(x.firstEdge.at(int(b - x.base)))
}

// RankBlock is the block of the k-th entry of a Many list, k < Degree.
func (x *Index) RankBlock(s Span, k uint64) base.BlockNo {
	e := x.start(s) + k
	return x.no(x.firstEdge.above(e, int(s.First-x.base)+1, int(s.Last-x.base)+1) - 1)
}

// Ranks are the ranks of the entries of a Many list that lie in its block b:
// lo ≤ k < hi.
func (x *Index) Ranks(s Span, b base.BlockNo) (lo, hi uint64) {
	start, hi := x.start(s), s.Degree
	if b > s.First {
		lo = x.firstEdge.at(int(b-x.base)) - start
	}
	if b < s.Last {
		hi = x.firstEdge.at(int(b-x.base)+1) - start
	}
	return lo, hi
}

// Row is what the index says of one block.
type Row struct {
	FirstNode       base.NodeID
	FirstEdge       base.EdgeIdx
	Entries         uint64
	ContIn, ContOut uint16
}

// Row gives the index's words on an adjacency block.
func (x *Index) Row(no base.BlockNo) Row {
	b := int(no - x.base)
	return Row{base.NodeID(x.firstNode.at(b)), base.EdgeIdx(x.firstEdge.at(b)), x.entries(b), x.contIn[b], x.contOut[b]}
}

// Presence is the bitmap: bit v%8 of byte v/8 says whether node v has edges.
// nil: the file has none.
func (x *Index) Presence() []byte { return x.presence }

// check looks for what no writer leaves. It makes the arithmetic of Locate,
// RankBlock and Ranks safe.
func (x *Index) check() (int, error) {
	for b := range x.blocks() {
		if err := x.checkRow(b); err != nil {
			return b, err
		}
	}
	return 0, nil
}

func (x *Index) checkRow(b int) error {
	switch e := x.firstEdge.at(b); {
	case b == 0 && (e != 0 || x.contIn[0] != 0):
		return fmt.Errorf("the first block must begin with edge 0 and a new list")
	case b+1 == x.blocks() && (e >= x.edges || x.contOut[b] != 0):
		return fmt.Errorf("the last block must begin before edge %d and end its last list", x.edges)
	case b+1 < x.blocks() && x.firstEdge.at(b+1) <= e:
		return fmt.Errorf("first edges must ascend: %d after %d", x.firstEdge.at(b+1), e)
	}
	n, v := x.entries(b), x.firstNode.at(b)
	switch {
	case n > maxEntries || uint64(x.contIn[b]) > n || uint64(x.contOut[b]) > n:
		return fmt.Errorf("%d entries, %d of them continued from before and %d after", n, x.contIn[b], x.contOut[b])
	case v >= x.nodes:
		return fmt.Errorf("first node %d of %d nodes", v, x.nodes)
	case b+1 < x.blocks():
		return x.checkSeam(b, n)
	}
	return nil
}

// checkSeam compares block b, of n entries, with the next one.
func (x *Index) checkSeam(b int, n uint64) error {
	v, next := x.firstNode.at(b), x.firstNode.at(b+1)
	out, whole := x.contOut[b] > 0, uint64(x.contOut[b]) == n
	through := x.contIn[b] > 0 && uint64(x.contIn[b]) == n && out // one list, from before to after
	switch {
	case out != (x.contIn[b+1] > 0):
		return fmt.Errorf("a list must go on after a block exactly when the next block continues one")
	case next < v, next == v && !whole, next != v && (whole || through):
		return fmt.Errorf("first nodes %d and %d do not fit %d of %d entries continued", v, next, x.contOut[b], n)
	}
	return nil
}

func (f wholeFile) column(s Section) (column, error) {
	c := newColumn(s.Width, s.Values)
	return c, f.values(s, func(i, v uint64) error { c.set(int(i), v); return nil })
}

func (f wholeFile) shorts(s Section) ([]uint16, error) {
	c := make([]uint16, s.Values)
	return c, f.values(s, func(i, v uint64) error { c[i] = uint16(v); return nil })
}

// loadIndex reads the index columns; the table has been checked for them.
func (f wholeFile) loadIndex(s Superblock, t Table) (*Index, error) {
	adj, _ := t.Find(KindAdjacency, 0, 0)
	x := &Index{base: adj.First, nodes: s.Nodes, edges: s.Edges}
	column := func(c uint16) Section { sec, _ := t.Find(KindIndex, 0, c); return sec }
	var err error
	if x.firstNode, err = f.column(column(ColFirstNode)); err != nil {
		return nil, err
	}
	if x.firstEdge, err = f.column(column(ColFirstEdge)); err != nil {
		return nil, err
	}
	if x.contIn, err = f.shorts(column(ColContIn)); err != nil {
		return nil, err
	}
	if x.contOut, err = f.shorts(column(ColContOut)); err != nil {
		return nil, err
	}
	if b, err := x.check(); err != nil {
		return nil, damage(0, err.Error(), nil, nil).in(f.name, fmt.Sprintf("index, row %d", b), x.no(b))
	}
	x.makeJump()
	if sec, ok := t.Find(KindPresence, 0, 0); ok {
		x.presence, err = f.sectionBytes(sec)
	}
	return x, err
}
