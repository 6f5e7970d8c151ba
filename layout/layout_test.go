package layout

import (
	"fmt"
	"io"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/aether-ooc/aether-ooc/internal/base"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// memFile is a file in memory.
type memFile struct{ b []byte }

func (f *memFile) WriteAt(p []byte, off int64) (int, error) {
	if need := int(off) + len(p); need > len(f.b) {
		f.b = append(f.b, make([]byte, need-len(f.b))...)
	}
	return copy(f.b[off:], p), nil
}

func (f *memFile) ReadAt(p []byte, off int64) (int, error) {
	if off >= int64(len(f.b)) {
		return 0, io.EOF
	}
	n := copy(p, f.b[off:])
	if n < len(p) {
		return n, io.EOF
	}
	return n, nil
}

// lists is the oracle: a graph as a map.
type lists map[base.NodeID][]base.NodeID

func (l lists) nodes() []base.NodeID {
	var vs []base.NodeID
	for v, ns := range l {
		if len(ns) > 0 {
			vs = append(vs, v)
		}
	}
	slices.Sort(vs)
	return vs
}

func (l lists) edges() (n uint64) {
	for _, ns := range l {
		n += uint64(len(ns))
	}
	return n
}

// randomLists draws a list for a share of the nodes, its degree by degree().
func randomLists(r *rand.Rand, nodes uint64, share float64, degree func() int) lists {
	l := lists{}
	for v := range nodes {
		if r.Float64() < share {
			l[base.NodeID(v)] = randomList(r, nodes, degree())
		}
	}
	return l
}

func randomList(r *rand.Rand, nodes uint64, n int) []base.NodeID {
	ns := make([]base.NodeID, n)
	for i := range ns {
		ns[i] = base.NodeID(r.Uint64N(nodes))
	}
	slices.Sort(ns)
	return ns
}

// write makes a file of the lists, those longer than piece in pieces.
func write(t testing.TB, c WriterConfig, l lists, ids []base.EdgeID, piece int, a ...Attachment) *memFile {
	t.Helper()
	return writeWith(t, c, l, ids, piece, func(*Writer) {}, a...)
}

// writeWith lets more write what comes behind the edge ids.
func writeWith(t testing.TB, c WriterConfig, l lists, ids []base.EdgeID, piece int, more func(*Writer), a ...Attachment) *memFile {
	t.Helper()
	f := &memFile{}
	w, err := NewWriter(f, c)
	require.NoError(t, err)
	for _, v := range l.nodes() {
		for ns := range slices.Chunk(l[v], piece) {
			require.NoError(t, w.List(v, ns))
		}
	}
	for part := range slices.Chunk(ids, piece) {
		require.NoError(t, w.EdgeIDs(part))
	}
	more(w)
	sb, err := w.Finish(a)
	require.NoError(t, err)
	require.EqualValues(t, len(f.b), sb.FileLength)
	return f
}

func open(t testing.TB, f *memFile) *Graph {
	t.Helper()
	g, err := OpenGraph(f, int64(len(f.b)), "graph.bin")
	require.NoError(t, err)
	return g
}

func (f *memFile) block(no base.BlockNo) []byte { return f.b[no.Off() : no.Off()+base.BlockSize] }

// readList reads v's list as a sampler that wants all of it would, and compares
// every answer of the index on the way.
func readList(t testing.TB, g *Graph, f *memFile, v base.NodeID) (ns []base.NodeID, edges []base.EdgeIdx) {
	t.Helper()
	s := g.Index.Locate(v)
	if s.Where == Absent {
		return nil, nil
	}
	for no := s.First; no <= s.Last; no++ {
		k, err := ViewBlock(f.block(no))
		require.NoError(t, err)
		l, ranks := k.Find(v), []uint64(nil)
		if s.Where == Many {
			lo, hi := g.Index.Ranks(s, no)
			require.EqualValues(t, len(ns), lo, "first rank of block %d", no)
			require.EqualValues(t, l.Len(), hi-lo, "ranks of block %d", no)
			require.Equal(t, no, g.Index.RankBlock(s, lo))
			require.Equal(t, no, g.Index.RankBlock(s, hi-1))
		}
		for i := range l.Len() {
			ns = append(ns, l.At(i))
			ranks = append(ranks, uint64(i))
			edges = append(edges, g.Index.FirstEdge(no)+base.EdgeIdx(l.Pos()+i))
		}
		slices.Reverse(ranks)
		l.Take(ranks)
		for i, x := range ranks {
			require.EqualValues(t, ns[len(ns)-1-i], x, "Take, node %d", v)
		}
	}
	if s.Where == Many {
		require.EqualValues(t, len(ns), s.Degree)
	}
	return ns, edges
}

// requireSame compares a file with the oracle, node by node.
func requireSame(t testing.TB, f *memFile, g *Graph, l lists, vs []base.NodeID) {
	t.Helper()
	for _, v := range vs {
		if ns, _ := readList(t, g, f, v); !slices.Equal(ns, l[v]) {
			t.Fatalf("node %d: %d neighbours, want %d", v, len(ns), len(l[v]))
		}
	}
}

// evenLists is randomLists for tests in which only sizes matter: neighbours are
// as far apart as they can be, and lists of one degree share their memory.
func evenLists(r *rand.Rand, nodes uint64, share float64, degree func() int) lists {
	even, l := map[int][]base.NodeID{}, lists{}
	for v := range nodes {
		if r.Float64() >= share {
			continue
		}
		n := degree()
		for i := len(even[n]); i < n; i++ {
			even[n] = append(even[n], base.NodeID(uint64(i)*nodes/uint64(n)))
		}
		l[base.NodeID(v)] = even[n]
	}
	return l
}

func allNodes(n uint64) []base.NodeID {
	vs := make([]base.NodeID, n)
	for i := range vs {
		vs[i] = base.NodeID(i)
	}
	return vs
}

// inEach runs a test for each encoding.
func inEach(t *testing.T, name string, f func(t *testing.T, e Encoding)) {
	for _, e := range []Encoding{Plain, Compact} {
		t.Run(fmt.Sprint(name, ", ", e), func(t *testing.T) { f(t, e) })
	}
}

func fixed(n int) func() int { return func() int { return n } }

// skewed draws degrees as RMAT does: many small ones, a few of many blocks.
func skewed(r *rand.Rand) func() int {
	return func() int { return int(3 / (r.Float64() + 0.0003)) }
}

func TestRoundTrip(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	for _, c := range []struct {
		name   string
		nodes  uint64
		share  float64
		degree func() int
		piece  int
	}{
		{"empty", 0, 0, nil, 1},
		{"nodes without edges", 100, 0, nil, 1},
		{"one node, one loop", 1, 1, fixed(1), 1},
		{"one node, a list of many blocks", 1, 1, fixed(50_000), 777},
		{"degree one", 70_000, 1, fixed(1), 10},
		{"mean degree eight, one byte ids", 256, 1, fixed(8), 3},
		{"skewed", 30_000, 0.44, skewed(r), 1000},
		{"skewed, in single entries", 3_000, 0.9, skewed(r), 1},
		{"hubs only", 70_000, 0.001, fixed(9_000), 5_000},
		{"lists of one block exactly", 300, 0.5, fixed((plainRoom - 3) / 2), 1 << 20},
		{"lists of one block and one entry", 300, 0.5, fixed((plainRoom-3)/2 + 1), 1 << 20},
		{"sparse", 200_000, 0.002, fixed(3), 100},
	} {
		inEach(t, c.name, func(t *testing.T, e Encoding) {
			l := randomLists(r, c.nodes, c.share, c.degree)
			f := write(t, WriterConfig{Nodes: c.nodes, InputEdges: l.edges(), EdgeIDs: EdgeIDsStored, Encoding: e}, l, nil, c.piece)
			g := open(t, f)
			require.Equal(t, l.edges(), g.Superblock.Edges)
			require.Equal(t, e, g.Superblock.Encoding())
			requireSame(t, f, g, l, allNodes(c.nodes))
			require.Equal(t, Span{}, g.Index.Locate(base.NodeID(c.nodes)), "past the last node")
			require.Equal(t, indexBytes(c.nodes, l.edges(), g.Superblock.Blocks)+int64(len(g.Index.Presence())), g.Index.Bytes())
			validate(t, g, f)
		})
	}
}

// validate checks every block as verify does.
func validate(t testing.TB, g *Graph, f *memFile) {
	t.Helper()
	for no := range base.BlockNo(len(f.b) / base.BlockSize) {
		b := f.block(no)
		require.NoError(t, g.CheckBlock(no, b))
		if s, _ := g.Table.At(no); s.Kind != KindAdjacency {
			require.NoError(t, g.CheckPadding(no, b))
			continue
		}
		k, err := ViewBlock(b)
		require.NoError(t, err)
		require.NoError(t, k.Validate(g.Superblock.Nodes))
		require.NoError(t, g.CheckRow(no, k))
	}
}

// The k-th entry of the file is EdgeIdx k, and edge ids are found by it.
func TestEdgeIDs(t *testing.T) {
	inEach(t, "permuted", testEdgeIDs)
}

func testEdgeIDs(t *testing.T, enc Encoding) {
	r := rand.New(rand.NewPCG(3, 4))
	l := randomLists(r, 5_000, 0.5, skewed(r))
	perm := r.Perm(int(l.edges()))
	ids := make([]base.EdgeID, len(perm))
	for i, p := range perm {
		ids[i] = base.EdgeID(p)
	}
	for _, wide := range []uint64{0, 1 << 33} { // rows that were merged away make ids larger
		for i := range ids {
			ids[i] += base.EdgeID(wide)
		}
		f := write(t, WriterConfig{Nodes: 5_000, InputEdges: l.edges() + wide, Dedup: true, Encoding: enc}, l, ids, 1234)
		g, e := open(t, f), base.EdgeIdx(0)
		for _, v := range l.nodes() {
			_, edges := readList(t, g, f, v)
			for _, got := range edges {
				require.Equal(t, e, got)
				no, slot := g.EdgeIDBlock(e)
				require.Equal(t, "edge_ids", g.SectionName(no))
				require.Equal(t, ids[e], g.EdgeIDAt(f.block(no), slot))
				e++
			}
		}
		validate(t, g, f)
	}
}

// What binds: at 1,000 blocks and mean degree 8 padding takes at most 3 % of
// the adjacency, the index at most 0.5 % of the file, in memory and in the file.
func TestSharesStayWithinTheirPromise(t *testing.T) {
	r := rand.New(rand.NewPCG(5, 6))
	for _, c := range []struct {
		name   string
		nodes  uint64
		share  float64
		degree func() int
	}{
		{"regular", 190_000, 1, fixed(8)},
		{"RMAT: 56 % without edges", 240_000, 0.44, skewed(r)},
		{"a few long lists", 100_000, 0.015, fixed(4_000)},
		{"three short lists and a long one", 210_000, 1, func() int { return []int{1, 1, 1, 29}[r.IntN(4)] }},
	} {
		for _, mode := range []EdgeIDMode{EdgeIDsStored, EdgeIDsInput} {
			inEach(t, fmt.Sprint(c.name, ", ids ", mode), func(t *testing.T, e Encoding) {
				l := evenLists(r, c.nodes, c.share, c.degree)
				var ids []base.EdgeID
				if mode == EdgeIDsInput {
					ids = make([]base.EdgeID, l.edges())
				}
				f := write(t, WriterConfig{Nodes: c.nodes, InputEdges: l.edges(), EdgeIDs: mode, Encoding: e}, l, ids, 1<<20)
				g, padding := open(t, f), 0
				require.GreaterOrEqual(t, g.Superblock.Blocks, uint64(1_000))
				for no := range base.BlockNo(g.Superblock.Blocks) {
					k, err := ViewBlock(f.block(1 + no))
					require.NoError(t, err)
					padding += k.Padding()
				}
				require.LessOrEqual(t, float64(padding), 0.03*float64(g.Superblock.Blocks*base.BlockSize))
				require.LessOrEqual(t, g.Index.Bytes(), int64(len(f.b)/200))
				t.Logf("padding %.2f %%, index %.2f %%, presence %v", 100*float64(padding)/float64(g.Superblock.Blocks*base.BlockSize),
					100*float64(g.Index.Bytes())/float64(len(f.b)), g.Index.Presence() != nil)
			})
		}
	}
}

// A draw of 10 from a list of a million reads at most 10 blocks.
func TestRankOfAHubReadsOneBlock(t *testing.T) {
	inEach(t, "hub", testRankOfAHub)
}

func testRankOfAHub(t *testing.T, e Encoding) {
	const degree = 1_000_000
	hub := make([]base.NodeID, degree)
	for i := range hub {
		hub[i] = base.NodeID(i)
	}
	l := lists{3: {1, 2}, 7: hub, 8: {5}}
	f := write(t, WriterConfig{Nodes: degree, InputEdges: degree + 3, EdgeIDs: EdgeIDsStored, Encoding: e}, l, nil, degree)
	g := open(t, f)
	s := g.Index.Locate(7)
	require.Equal(t, Span{First: 1, Last: base.BlockNo(g.Superblock.Blocks), Degree: degree, Where: Many}, s)
	for _, rank := range []uint64{0, 1, 1000, 500_000, degree - 1} {
		no := g.Index.RankBlock(s, rank)
		lo, _ := g.Index.Ranks(s, no)
		k, err := ViewBlock(f.block(no))
		require.NoError(t, err)
		require.Equal(t, base.NodeID(rank), k.Find(7).At(int(rank-lo)))
	}
}

func TestWriterRefuses(t *testing.T) {
	ok := WriterConfig{Nodes: 10, InputEdges: 3}
	for _, c := range []struct {
		name string
		c    WriterConfig
		do   func(w *Writer) error
		want string
	}{
		{"node out of range", ok, func(w *Writer) error { return w.List(10, []base.NodeID{1}) }, "node 10 in a graph of 10"},
		{"neighbour out of range", ok, func(w *Writer) error { return w.List(1, []base.NodeID{10}) }, "neighbour 10"},
		{"neighbours descend", ok, func(w *Writer) error { return w.List(1, []base.NodeID{3, 2}) }, "neighbour 2 of node 1 after 3"},
		{"nodes descend", ok, after(func(w *Writer) error { return w.List(1, []base.NodeID{3}) }), "after that of 2"},
		{"second piece descends", ok, after(func(w *Writer) error { return w.List(2, []base.NodeID{0}) }), "neighbour 0 of node 2 after 1"},
		{"too many ids", ok, after(func(w *Writer) error { return w.EdgeIDs([]base.EdgeID{0, 1}) }), "2 edge ids for 1 edges"},
		{"too few ids", ok, after(finish), "0 edge ids for 1 edges"},
		{"id out of range", ok, after(func(w *Writer) error { return w.EdgeIDs([]base.EdgeID{3}) }), "edge id 3 of an input of 3 rows"},
		{"ids where there are none", WriterConfig{Nodes: 10, InputEdges: 1, EdgeIDs: EdgeIDsStored}, after(func(w *Writer) error { return w.EdgeIDs([]base.EdgeID{0}) }), "mode stored"},
		{"more edges than rows", WriterConfig{Nodes: 10, EdgeIDs: EdgeIDsStored}, after(finish), "1 edges from 0 rows"},
		{"rows in order cannot be fewer", WriterConfig{Nodes: 10, InputEdges: 2, EdgeIDs: EdgeIDsCanonical}, after(finish), "1 edges from 2 rows"},
		{"attachment elsewhere", ok, func(w *Writer) error {
			_, err := w.Finish([]Attachment{{Role: Attr, Name: "y", Suffix: "/../../etc/passwd"}})
			return err
		}, "must not lie at"},
	} {
		t.Run(c.name, func(t *testing.T) {
			w, err := NewWriter(&memFile{}, c.c)
			require.NoError(t, err)
			require.ErrorContains(t, c.do(w), c.want)
		})
	}
	_, err := NewWriter(&memFile{}, WriterConfig{Nodes: 1 << 63})
	require.ErrorContains(t, err, "63 bits")
	_, err = NewWriter(&memFile{}, WriterConfig{Encoding: 7})
	require.ErrorContains(t, err, "encoding 7")
}

func after(do func(w *Writer) error) func(w *Writer) error {
	return func(w *Writer) error {
		if err := w.List(2, []base.NodeID{1}); err != nil {
			return err
		}
		return do(w)
	}
}

func finish(w *Writer) error { _, err := w.Finish(nil); return err }

// A failing disk is the writer's error, wherever it strikes.
func TestWriterPassesOnEveryWriteError(t *testing.T) {
	l := lists{1: make([]base.NodeID, 700_000)}
	for n := 0; ; n++ {
		f := &failing{left: n}
		w, err := NewWriter(f, WriterConfig{Nodes: 1 << 20, InputEdges: 700_000, EdgeIDs: EdgeIDsStored})
		require.NoError(t, err)
		if err = w.List(1, l[1]); err == nil {
			_, err = w.Finish(nil)
		}
		if err == nil {
			require.Greater(t, n, 2)
			return
		}
		require.ErrorIs(t, err, io.ErrShortWrite)
	}
}

type failing struct{ left int }

func (f *failing) WriteAt(p []byte, _ int64) (int, error) {
	if f.left == 0 {
		return 0, io.ErrShortWrite
	}
	f.left--
	return len(p), nil
}

func BenchmarkLocate(b *testing.B) {
	r := rand.New(rand.NewPCG(7, 8))
	const nodes = 1 << 18
	l := randomLists(r, nodes, 0.44, skewed(r))
	g := open(b, write(b, WriterConfig{Nodes: nodes, InputEdges: l.edges(), EdgeIDs: EdgeIDsStored}, l, nil, 1<<20))
	b.ResetTimer()
	var sink base.BlockNo
	for i := range b.N {
		sink += g.Index.Locate(base.NodeID(uint64(i) * 0x9e3779b97f4a7c15 >> 46)).First
	}
	_ = sink
}

func BenchmarkCheckBlock(b *testing.B) {
	f := write(b, WriterConfig{Nodes: 3, InputEdges: 10, EdgeIDs: EdgeIDsStored}, lists{1: make([]base.NodeID, 10)}, nil, 10)
	g := open(b, f)
	b.SetBytes(base.BlockSize)
	b.ReportAllocs()
	for range b.N {
		if err := g.CheckBlock(1, f.block(1)); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkWriter(b *testing.B) {
	r := rand.New(rand.NewPCG(11, 12))
	const nodes = 1 << 17
	l := randomLists(r, nodes, 0.44, skewed(r))
	vs := l.nodes()
	for _, e := range []Encoding{Plain, Compact} {
		b.Run(e.String(), func(b *testing.B) {
			b.SetBytes(int64(8 * l.edges()))
			for range b.N {
				w, _ := NewWriter(&failing{left: 1 << 30}, WriterConfig{Nodes: nodes, InputEdges: l.edges(), EdgeIDs: EdgeIDsStored, Encoding: e})
				for _, v := range vs {
					if err := w.List(v, l[v]); err != nil {
						b.Fatal(err)
					}
				}
				if _, err := w.Finish(nil); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
