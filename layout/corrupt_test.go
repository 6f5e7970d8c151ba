package layout

import (
	"bytes"
	"encoding/binary"
	"errors"
	"io"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/aether-ooc/aether-ooc/internal/base"
	"github.com/aether-ooc/aether-ooc/internal/binfmt"
)

// sample is a small file with every section, a hub and a table to damage.
//
//	0 superblock · 1–3 adjacency · 4–8 edge ids · 9 10 11 12 index · 13 presence · 14 attachments · 15 table
func sample(t testing.TB) *memFile {
	l := lists{1: {9}, 2: make([]base.NodeID, 5000), 4: {70}}
	ids := make([]base.EdgeID, l.edges())
	for i := range ids {
		ids[i] = base.EdgeID(len(ids) - 1 - i)
	}
	a, err := AttrAttachment("y")
	require.NoError(t, err)
	return write(t, WriterConfig{Nodes: 1000, InputEdges: l.edges()}, l, ids, 500, a, FeaturesAttachment())
}

// patch changes bytes of a block and seals it again: damage that no seal sees.
func (f *memFile) patch(no base.BlockNo, at int, b ...byte) {
	copy(f.block(no)[at:], b)
	binfmt.Seal(f.block(no), no)
}

func u64(x uint64) []byte { return binary.LittleEndian.AppendUint64(nil, x) }

func TestOpenRefuses(t *testing.T) {
	const firstNode, firstEdge, contIn, contOut, attachments, table = 9, 10, 11, 12, 14, 15
	for _, c := range []struct {
		name  string
		no    base.BlockNo
		at    int
		bytes []byte
		want  string
	}{
		{"magic", 0, 0, []byte("GIF89a"), "no graph"},
		{"version 0", 0, 8, []byte{0}, "version must be at least 1"},
		{"block size", 0, 12, []byte{1}, "block size"},
		{"file length odd", 0, 32, []byte{1}, "multiple of 4096"},
		{"file length", 0, 32, u64(1 << 30), "want 1073741824 bytes"},
		{"nodes", 0, 40, u64(1 << 63), "2^63"},
		{"no nodes", 0, 40, u64(0), "edges without nodes"},
		{"no edges", 0, 48, u64(0), "blocks without edges"},
		{"edges", 0, 48, u64(1 << 40), "do not fit"},
		{"blocks", 0, 56, u64(1 << 60), "more adjacency blocks"},
		{"direction", 0, 72, []byte{2}, "unknown direction: 2"},
		{"edge id mode", 0, 73, []byte{3}, "edge id mode"},
		{"ids that are not wanted", 0, 73, []byte{2}, "edge_ids"},
		{"table outside", 0, 76, []byte{255, 255, 255, 255}, "outside the file"},
		{"table huge", 0, 80, u64(1 << 60), "outside the file"},
		{"table entries", 0, 88, u64(1 << 60), "too short"},
		{"fewer sections", 0, 88, []byte{7}, "belong to no section"},
		{"section overlaps", table, 8 + 32, u64(2), "overlaps"},
		{"section past the end", table, 8, u64(1 << 32), "16 TiB"},
		{"section longer than 64 bits", table, 16, u64(^uint64(0)), "16 TiB"},
		{"values", table, 24 + 32, u64(^uint64(0)), "do not take"},
		{"kind", table, 0, []byte{77}, "adjacency is there 0 times"},
		{"column twice", table, 4 + 3*32, []byte{1}, "first_node is there 2 times"},
		{"width", table, 6 + 4*32, []byte{1}, "1 bytes"},
		{"first nodes descend", firstNode, 0, []byte{3}, "first nodes 3 and 2"},
		{"first node out of range", firstNode, 0, []byte{255, 255}, "of 1000 nodes"},
		{"first edge of the first block", firstEdge, 0, []byte{1}, "must begin with edge 0"},
		{"first edges descend", firstEdge, 4, u64(0), "must ascend"},
		{"last block past the end", firstEdge, 8, []byte{0x8a, 0x13}, "first nodes 2 and 2"},
		{"continued without cause", contIn, 2, []byte{0, 0}, "exactly when"},
		{"goes on at the end", contOut, 4, []byte{1}, "last list"},
		{"attachments", attachments, 0, []byte("{"), "attachments"},
	} {
		t.Run(c.name, func(t *testing.T) {
			f := sample(t)
			f.patch(c.no, c.at, c.bytes...)
			_, err := OpenGraph(f, int64(len(f.b)), "graph.bin")
			requireCorrupt(t, err, c.want)
		})
	}
}

func requireCorrupt(t *testing.T, err error, want string) *CorruptError {
	t.Helper()
	require.ErrorIs(t, err, ErrCorrupt)
	require.ErrorContains(t, err, want)
	require.ErrorContains(t, err, "graph.bin: ")
	require.ErrorContains(t, err, "build it again")
	var c *CorruptError
	require.ErrorAs(t, err, &c)
	return c
}

func TestLaterVersionsAreRefusedAndUnknownCompatibleFeaturesPass(t *testing.T) {
	for _, c := range []struct {
		at   int
		want string
	}{{8, "version 2"}, {24, "features 0x2"}} {
		f := sample(t)
		f.patch(0, c.at, 2)
		_, err := OpenGraph(f, int64(len(f.b)), "graph.bin")
		require.ErrorIs(t, err, ErrVersion)
		require.NotErrorIs(t, err, ErrCorrupt)
		require.ErrorContains(t, err, c.want)
		require.ErrorContains(t, err, "graph.bin: ")
	}
	f := sample(t)
	f.patch(0, 16, 2)
	require.EqualValues(t, 2, open(t, f).Superblock.Compat)
}

// Sections of kinds that this version does not know are passed over.
func TestUnknownSectionsPass(t *testing.T) {
	f := &memFile{}
	w, err := NewWriter(f, WriterConfig{Nodes: 10, InputEdges: 1, EdgeIDs: EdgeIDsStored})
	require.NoError(t, err)
	require.NoError(t, w.List(3, []base.NodeID{1}))
	require.NoError(t, w.endLists())
	require.NoError(t, w.putBytes(Kind(900), []byte("of tomorrow")))
	_, err = w.Finish(nil)
	require.NoError(t, err)
	g := open(t, f)
	require.Equal(t, "kind 900 column 0", g.SectionName(2))
	requireSame(t, f, g, lists{3: {1}}, allNodes(10))
	validate(t, g, f)
}

func TestTruncatedFilesSayWhatIsMissing(t *testing.T) {
	whole := sample(t)
	for n := range len(whole.b) / 512 {
		f := &memFile{b: whole.b[:n*512]}
		_, err := OpenGraph(f, int64(len(f.b)), "graph.bin")
		c := requireCorrupt(t, err, "cut short")
		require.Contains(t, c.Got, "bytes")
	}
	longer := &memFile{b: append(whole.b, 0)}
	_, err := OpenGraph(longer, int64(len(longer.b)), "graph.bin")
	requireCorrupt(t, err, "longer than it says: want 65536 bytes, got 65537 bytes")

	// A file that shrinks under its reader, and a disk that fails.
	_, err = OpenGraph(&memFile{b: whole.b[:8192]}, int64(len(whole.b)), "graph.bin")
	requireCorrupt(t, err, "section table")
	_, err = OpenGraph(broken{}, int64(len(whole.b)), "graph.bin")
	require.ErrorIs(t, err, io.ErrNoProgress)
	require.NotErrorIs(t, err, ErrCorrupt)
}

type broken struct{}

func (broken) ReadAt([]byte, int64) (int, error) { return 0, io.ErrNoProgress }

// Whatever one flipped bit hits, opening or the block's own check names it.
func TestEveryFlippedByteHasItsPlace(t *testing.T) {
	for _, f := range []*memFile{sample(t), compactSample(t)} {
		flipEveryByte(t, f)
	}
}

func flipEveryByte(t *testing.T, f *memFile) {
	whole := open(t, f)
	for at := range len(f.b) {
		f.b[at] ^= 1 << (at % 8)
		no := base.BlockNo(at / base.BlockSize)
		if no == 0 {
			_, err := OpenGraph(f, int64(len(f.b)), "graph.bin")
			requireCorrupt(t, err, "superblock: block 0")
		}
		c, ok := whole.CheckBlock(no, f.block(no)).(*CorruptError)
		if !ok || c.File != "graph.bin" || c.Section != whole.SectionName(no) || c.Block != no || c.Offset != no.Off() {
			t.Fatalf("byte %d: %+v", at, c)
		}
		f.b[at] ^= 1 << (at % 8)
	}
}

func TestBlocksInTheWrongPlace(t *testing.T) {
	f := sample(t)
	g := open(t, f)
	requireCorrupt(t, g.CheckBlock(2, f.block(3)), "adjacency: block 2 at offset 8192: the seal does not match")
	k, err := ViewBlock(f.block(3))
	require.NoError(t, err)
	requireCorrupt(t, g.CheckRow(2, k), "not the one that the index describes")
	requireCorrupt(t, g.CheckBlock(1, nil), "another length")
}

func TestValidateFinds(t *testing.T) {
	// One list of node 1 (entry 9), one of node 2 (2,033 zeros): 2-byte entries, 1-byte deltas.
	const deltas, ends, entries = 16, 18, 22
	for _, c := range []struct {
		name  string
		at    int
		bytes []byte
		want  string
	}{
		{"encoding", 0, []byte{3}, "unknown encoding"},
		{"entry width", 1, []byte{9}, "entry width"},
		{"delta width", 2, []byte{3}, "delta width"},
		{"flags", 3, []byte{4}, "flags"},
		{"no lists", 12, []byte{0}, "lists"},
		{"more lists than entries", 12, []byte{255, 255}, "lists"},
		{"more entries than fit", 14, []byte{255, 255}, "bytes in the block"},
		{"first node", 4, u64(^uint64(0)), "node id"},
		{"first delta", deltas, []byte{1}, "first list"},
		{"deltas descend", deltas + 1, []byte{0}, "nodes must ascend"},
		{"node out of range", 4, u64(999), "node id"},
		{"ends descend", ends, []byte{0}, "ends of lists"},
		{"end past the entries", ends + 2, []byte{255, 255}, "ends of lists"},
		{"entries left over", ends + 2, []byte{200, 0}, "does not end"},
		{"neighbour out of range", entries, []byte{0xe8, 3}, "below the node count"},
		{"neighbours descend", entries + 2, []byte{5, 0}, "must ascend"},
		{"padding", 4090, []byte{7}, "padding"},
	} {
		t.Run(c.name, func(t *testing.T) {
			l := lists{1: {9}, 2: make([]base.NodeID, 2033)}
			f := write(t, WriterConfig{Nodes: 1000, InputEdges: l.edges(), EdgeIDs: EdgeIDsStored}, l, nil, 5000)
			g := open(t, f)
			copy(f.block(1)[c.at:], c.bytes)
			k, err := ViewBlock(f.block(1))
			if err == nil {
				err = k.Validate(1000)
			}
			d := requireCorrupt(t, g.Place(1, err), c.want)
			require.EqualValues(t, 1, d.Block)
			require.Contains(t, []string{"adjacency"}, d.Section)
			require.True(t, d.Offset >= 4096 && d.Offset < 8192)
		})
	}
	require.NoError(t, (&Graph{}).Place(1, nil))
	require.Equal(t, io.EOF, (&Graph{}).Place(1, io.EOF))
}

func TestPaddingMustBeZero(t *testing.T) {
	f := sample(t)
	g := open(t, f)
	for no := range base.BlockNo(len(f.b) / base.BlockSize) {
		if g.usedBytes(no) == binfmt.PayloadSize {
			continue
		}
		f.patch(no, binfmt.PayloadSize-1, 1)
		requireCorrupt(t, g.CheckPadding(no, f.block(no)), "padding must be zero")
	}
}

// mutate applies a program of patches to a sample, seals all blocks again, and
// asks everything that a reader asks.
func mutate(t testing.TB, f *memFile, program []byte) {
	for ; len(program) >= 5; program = program[5:] {
		at := int(binary.LittleEndian.Uint16(program)) % len(f.b)
		if program[2]&1 == 0 { // most fields stand at the front of their block
			at = at/base.BlockSize*base.BlockSize + at%256
		}
		n := 1 << (program[2] >> 1 & 3)
		for i := range min(n, len(f.b)-at) {
			f.b[at+i] = program[3] + byte(i)*program[4]
		}
	}
	for no := range base.BlockNo(len(f.b) / base.BlockSize) {
		binfmt.Seal(f.block(no), no)
	}
	g, err := OpenGraph(f, int64(len(f.b)), "graph.bin")
	if err != nil {
		require.True(t, errors.Is(err, ErrCorrupt) || errors.Is(err, ErrVersion), "%v", err)
		return
	}
	ask(t, g, f)
}

func ask(t testing.TB, g *Graph, f *memFile) {
	n := g.Superblock.Nodes
	adj, _ := g.Table.Find(KindAdjacency, 0, 0)
	for _, v := range []base.NodeID{0, 1, 2, 3, 4, 5, 999, 1000, base.NodeID(n / 2), base.NodeID(n - 1), base.NodeID(n), 1 << 63} {
		s := g.Index.Locate(v)
		if s.Where == Absent {
			continue
		}
		require.True(t, adj.Contains(s.First) && adj.Contains(s.Last) && s.First <= s.Last)
		if s.Where == Many {
			require.True(t, s.Degree > 0 && s.First < s.Last)
			for _, k := range []uint64{0, s.Degree / 2, s.Degree - 1} {
				no := g.Index.RankBlock(s, k)
				lo, hi := g.Index.Ranks(s, no)
				require.True(t, no >= s.First && no <= s.Last && lo <= k && k < hi)
			}
		}
		for no := s.First; no <= s.Last; no++ {
			walk(f.block(no), v)
		}
	}
	if g.HasEdgeIDs() && g.Superblock.Edges > 0 {
		no, slot := g.EdgeIDBlock(base.EdgeIdx(g.Superblock.Edges - 1))
		g.EdgeIDAt(f.block(no), slot)
	}
	for no := range base.BlockNo(len(f.b) / base.BlockSize) {
		_ = g.CheckPadding(no, f.block(no))
	}
}

// walk asks everything of bytes that may be no block.
func walk(b []byte, v base.NodeID) (sum base.NodeID) {
	k, err := ViewBlock(b)
	if err != nil {
		return 0
	}
	for i := range k.Lists() {
		sum += k.Node(i)
		l := k.List(i)
		for j := range l.Len() {
			sum += l.At(j)
		}
		l.Take(make([]uint64, min(l.Len(), 1)))
	}
	if l := k.Find(v); l.Len() > 0 {
		sum += l.At(l.Len() - 1)
	}
	_ = k.Validate(1000)
	return sum + base.NodeID(k.ContIn()+k.ContOut()+k.Padding())
}

func TestHostileFilesMakeErrorsNotPanics(t *testing.T) {
	r := rand.New(rand.NewPCG(13, 14))
	samples := []*memFile{sample(t), compactSample(t)}
	for i := range 4_000 {
		program := make([]byte, 5*(1+r.IntN(3)))
		for i := range program {
			program[i] = byte(r.Uint32() >> (r.IntN(4) * 8 % 32) % 256)
		}
		mutate(t, &memFile{b: bytes.Clone(samples[i%2].b)}, program)
	}
}

func FuzzOpenGraph(f *testing.F) {
	samples := map[bool]*memFile{false: sample(f), true: compactSample(f)}
	f.Add([]byte{}, false)
	f.Add([]byte{40, 0, 0, 1, 0, 4, 0x60, 0, 9, 9}, false)
	f.Add([]byte{20, 0x10, 0, 1, 0, 4, 0x60, 0, 9, 9}, true)
	f.Fuzz(func(t *testing.T, program []byte, compact bool) {
		mutate(t, &memFile{b: bytes.Clone(samples[compact].b)}, program)
	})
}

func FuzzOpenGraphRaw(f *testing.F) {
	whole := sample(f)
	f.Add(whole.b)
	f.Add(whole.b[:4096])
	f.Add([]byte("1 2\n2 3\n"))
	f.Fuzz(func(t *testing.T, b []byte) {
		m := &memFile{b: b}
		if g, err := OpenGraph(m, int64(len(b)), "graph.bin"); err == nil {
			ask(t, g, m)
		}
	})
}

func FuzzViewBlock(f *testing.F) {
	whole := sample(f)
	f.Add(whole.block(1), uint64(2))
	f.Add(whole.block(3), uint64(4))
	compact := compactSample(f)
	f.Add(compact.block(1), uint64(2))
	f.Add(compact.block(3), uint64(90))
	f.Fuzz(func(t *testing.T, b []byte, v uint64) {
		if len(b) > base.BlockSize {
			b = b[:base.BlockSize]
		}
		walk(append(b, make([]byte, base.BlockSize-len(b))...), base.NodeID(v))
	})
}
