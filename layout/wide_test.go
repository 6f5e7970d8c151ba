package layout

import (
	"math/rand/v2"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/aether-ooc/aether-ooc/internal/base"
)

// Ids on both sides of every power of 2^8 that changes a width.
func TestWideIDs(t *testing.T) {
	inEach(t, "widths", testWideIDs)
}

func testWideIDs(t *testing.T, e Encoding) {
	for _, top := range []uint64{1<<8 - 1, 1 << 8, 1<<16 - 1, 1 << 16, 1 << 24, 1<<31 - 1, 1 << 32, 1 << 33, 1<<40 - 1, 1 << 56, 1<<57 - 1, 1 << 57, MaxNodes - 1} {
		l := lists{
			0:                    {0, base.NodeID(top)},
			1:                    make([]base.NodeID, 5000),
			base.NodeID(top / 2): {base.NodeID(top / 2), base.NodeID(top - 1), base.NodeID(top)},
			base.NodeID(top - 1): make([]base.NodeID, 3000),
			base.NodeID(top):     {0, 1, base.NodeID(top)},
		}
		l[1][4999], l[base.NodeID(top-1)][2999] = base.NodeID(top), base.NodeID(top)
		f := write(t, WriterConfig{Nodes: top + 1, InputEdges: l.edges(), EdgeIDs: EdgeIDsStored, Encoding: e}, l, nil, 999)
		g := open(t, f)
		vs := append(l.nodes(), 2, base.NodeID(top/2+1), base.NodeID(top-2))
		requireSame(t, f, g, l, vs)
		validate(t, g, f)
		k, err := ViewBlock(f.block(1))
		require.NoError(t, err)
		require.Equal(t, map[Encoding]int{Plain: 8 * entryWidth(top+1), Compact: packedWidth(top + 1)}[e], k.EntryBits())
		require.LessOrEqual(t, len(g.Index.Presence()), len(f.b)/200)
	}
}

func TestWidths(t *testing.T) {
	for n, want := range map[uint64]int{0: 1, 1: 1, 256: 1, 257: 2, 1 << 16: 2, 1<<16 + 1: 3, 1 << 24: 3, 1<<24 + 1: 4, 1 << 32: 4, 1<<32 + 1: 5, 1 << 56: 7, 1<<56 + 1: 8, MaxNodes: 8} {
		require.Equal(t, want, entryWidth(n), "%d nodes", n)
	}
	for d, want := range map[uint64]int{0: 1, 255: 1, 256: 2, 65535: 2, 65536: 4, 1<<32 - 1: 4, 1 << 32: 8, ^uint64(0): 8} {
		require.Equal(t, want, deltaWidth(d), "delta %d", d)
	}
}

// skip goes on with the open list over blocks that are never written: holes of
// a sparse file, whose entries nobody will read.
func (w *Writer) skip(t *testing.T, blocks uint64) {
	plain := w.blocks.(*plainPacker)
	for plain.room(uint64(w.node)) > 0 {
		require.NoError(t, w.List(w.node, []base.NodeID{w.neighbour}))
	}
	require.NoError(t, w.endBlock(true))
	require.NoError(t, w.out.flush())
	full := plain.room(uint64(w.node))
	for range blocks {
		w.rows.firstNode = append(w.rows.firstNode, uint64(w.node))
		w.rows.entries = append(w.rows.entries, uint16(full))
		w.rows.contIn = append(w.rows.contIn, uint16(full))
		w.rows.contOut = append(w.rows.contOut, uint16(full))
	}
	w.out.next += blocks
	w.edges += blocks * uint64(full)
}

// A hub of more than 2^32 entries pushes the last lists past 16 GiB. The file
// is sparse: it takes the space of its index.
func TestListsPast16GiB(t *testing.T) {
	const nodes, hub, holes = 1 << 24, 1 << 23, 4<<20 + 12_345
	path := filepath.Join(t.TempDir(), "graph.bin")
	f, err := os.Create(path)
	require.NoError(t, err)
	defer f.Close()
	w, err := NewWriter(f, WriterConfig{Nodes: nodes, InputEdges: 1 << 33, EdgeIDs: EdgeIDsStored})
	require.NoError(t, err)
	before, tail, last := lists{5: {1, 2, 3}, hub - 1: {7}}, []base.NodeID{8, 9, nodes - 1}, []base.NodeID{0, 1, nodes - 1}
	for _, v := range before.nodes() {
		require.NoError(t, w.List(v, before[v]))
	}
	require.NoError(t, w.List(hub, []base.NodeID{4}))
	w.skip(t, holes)
	require.NoError(t, w.List(hub, tail))
	require.NoError(t, w.List(nodes-1, last))
	sb, err := w.Finish(nil)
	require.NoError(t, err)
	require.Greater(t, sb.Edges, uint64(1<<32))

	g, err := OpenGraph(f, int64(sb.FileLength), path)
	require.NoError(t, err)
	require.LessOrEqual(t, g.Index.Bytes(), int64(sb.FileLength/200))
	find := func(no base.BlockNo, v base.NodeID) List {
		b := make([]byte, base.BlockSize)
		_, err := f.ReadAt(b, int64(no.Off()))
		require.NoError(t, err)
		require.NoError(t, g.CheckBlock(no, b))
		k, err := ViewBlock(b)
		require.NoError(t, err)
		return k.Find(v)
	}
	s := g.Index.Locate(nodes - 1)
	require.Equal(t, One, s.Where)
	require.Greater(t, s.First.Off(), base.ByteOff(16<<30))
	l := find(s.First, nodes-1)
	require.Equal(t, last[2], l.At(2))
	require.EqualValues(t, sb.Edges-3, uint64(g.Index.FirstEdge(s.First))+uint64(l.Pos()))

	s = g.Index.Locate(hub)
	require.Equal(t, Span{First: 1, Last: holes + 2, Degree: sb.Edges - 7, Where: Many}, s)
	no := g.Index.RankBlock(s, s.Degree-1)
	lo, hi := g.Index.Ranks(s, no)
	require.Equal(t, s.Last, no)
	require.Equal(t, s.Degree, hi)
	require.Equal(t, tail[2], find(no, hub).At(int(s.Degree-1-lo)))
	for range 1000 {
		rank := rand.Uint64N(s.Degree)
		lo, hi := g.Index.Ranks(s, g.Index.RankBlock(s, rank))
		require.True(t, lo <= rank && rank < hi, "rank %d in [%d, %d)", rank, lo, hi)
	}
	require.Equal(t, Span{}, g.Index.Locate(hub+1), "the bitmap knows")
}
