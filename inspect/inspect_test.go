package inspect

import (
	"context"
	"encoding/binary"
	"encoding/json"
	"errors"
	"io"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/aether-ooc/aether-ooc/internal/base"
	"github.com/aether-ooc/aether-ooc/internal/binfmt"
	"github.com/aether-ooc/aether-ooc/internal/npy"
	"github.com/aether-ooc/aether-ooc/layout"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// row is one line of an edge list: the edge from nbr in node's list.
type row struct{ node, nbr base.NodeID }

// fixture is a graph on disk and what it was made of.
type fixture struct {
	path  string
	rows  []row
	c     layout.WriterConfig
	edges []edge // in canonical order
}

type edge struct {
	row
	id base.EdgeID
}

// build writes rows as ingest would. An edge of an undirected graph goes into
// both lists.
func build(t testing.TB, c layout.WriterConfig, rows []row, attachments ...layout.Attachment) *fixture {
	t.Helper()
	x := &fixture{path: filepath.Join(t.TempDir(), "graph.bin"), rows: rows, c: c}
	x.c.InputEdges = uint64(len(rows))
	for i, r := range rows {
		x.edges = append(x.edges, edge{r, base.EdgeID(i)})
		if c.Undirected && r.node != r.nbr {
			x.edges = append(x.edges, edge{row{r.nbr, r.node}, base.EdgeID(i)})
		}
	}
	slices.SortFunc(x.edges, func(a, b edge) int {
		return slices.Compare([]uint64{uint64(a.node), uint64(a.nbr), uint64(a.id)}, []uint64{uint64(b.node), uint64(b.nbr), uint64(b.id)})
	})
	x.write(t, attachments)
	return x
}

func (x *fixture) write(t testing.TB, attachments []layout.Attachment) {
	f, err := os.Create(x.path)
	require.NoError(t, err)
	defer f.Close()
	w, err := layout.NewWriter(f, x.c)
	require.NoError(t, err)
	for _, e := range x.edges {
		require.NoError(t, w.List(e.node, []base.NodeID{e.nbr}))
	}
	if x.c.EdgeIDs == layout.EdgeIDsInput {
		for _, e := range x.edges {
			require.NoError(t, w.EdgeIDs([]base.EdgeID{e.id}))
		}
	}
	fp, err := w.Fingerprint()
	require.NoError(t, err)
	for i := range attachments {
		x.attach(t, &attachments[i], fp)
	}
	_, err = w.Finish(attachments)
	require.NoError(t, err)
}

// attach writes random values of shape and dtype beside the graph.
func (x *fixture) attach(t testing.TB, a *layout.Attachment, fp base.Fingerprint) {
	f, err := os.Create(a.Path(x.path))
	require.NoError(t, err)
	defer f.Close()
	s, err := os.Create(layout.SumsPath(a.Path(x.path)))
	require.NoError(t, err)
	defer s.Close()
	shape, n := []int64{}, uint64(2)
	for _, d := range a.Shape {
		shape, n = append(shape, int64(d)), n*d
	}
	sums := layout.NewSumsWriter(s, fp)
	w := io.MultiWriter(f, sums)
	_, err = w.Write(npy.AppendHeader(nil, map[string]string{"bfloat16": "int16"}[a.DType]+map[bool]string{true: a.DType}[a.DType != "bfloat16"], shape))
	require.NoError(t, err)
	data := make([]byte, n)
	for i := range data {
		data[i] = byte(i * i)
	}
	_, err = w.Write(data)
	require.NoError(t, err)
	a.Bytes, a.Hash, err = sums.Finish()
	require.NoError(t, err)
}

// twoByte attachments: features of bfloat16, labels of int16.
func twoByte(t testing.TB, nodes uint64, dim uint64) []layout.Attachment {
	x := layout.FeaturesAttachment()
	x.DType, x.Shape = "bfloat16", []uint64{nodes, dim}
	y, err := layout.AttrAttachment("y")
	require.NoError(t, err)
	y.DType, y.Shape = "int16", []uint64{nodes}
	return []layout.Attachment{x, y}
}

// small has a hub over three blocks, loops, parallel edges and nodes without edges.
func small(t testing.TB, c layout.WriterConfig) *fixture {
	c.Nodes = 300
	rows := []row{{7, 3}, {7, 3}, {2, 2}, {299, 0}, {9, 299}, {3, 7}}
	for i := range 3000 {
		rows = append(rows, row{5, base.NodeID(i * 7 % 300)})
	}
	rand.New(rand.NewPCG(1, 2)).Shuffle(len(rows), func(i, j int) { rows[i], rows[j] = rows[j], rows[i] })
	return build(t, c, rows, twoByte(t, 300, 10)...)
}

func TestCompact(t *testing.T) {
	plain, compact := small(t, layout.WriterConfig{}), small(t, layout.WriterConfig{Encoding: layout.Compact})
	want, err := Run(context.Background(), Config{Path: plain.path})
	require.NoError(t, err)
	got, err := Run(context.Background(), Config{Path: compact.path})
	require.NoError(t, err)
	a := got.Adjacency
	require.Equal(t, "compact", a.Encoding)
	require.Equal(t, 9, a.EntryBits)
	require.Equal(t, a.Bytes, a.DirectoryBytes+a.SealBytes+a.PaddingBytes+a.EntryBytes)
	require.EqualValues(t, 1, a.EliasFanoLists)
	require.EqualValues(t, 3000, a.EliasFanoEntries)
	require.Contains(t, got.Text(), "compact, 9 bits an entry")
	require.Contains(t, got.Text(), "3,000 entries (99.80 %) in 1 lists in Elias-Fano")
	require.Equal(t, want.Fingerprint, got.Fingerprint)
	want.Degrees.SpanningLists, want.Degrees.Hubs, want.Degrees.HubEdges = 0, 0, 0 // a compact block holds it
	require.Equal(t, want.Degrees, got.Degrees)
	v, err := verify(compact.path)
	require.NoError(t, err)
	require.Equal(t, want.ContentID, v.ContentID)
}

func verify(path string) (*VerifyResult, error) {
	return Verify(context.Background(), Config{Path: path})
}

func TestRun(t *testing.T) {
	x := small(t, layout.WriterConfig{})
	var last int64
	r, err := Run(context.Background(), Config{Path: x.path, Progress: func(done, total int64) {
		require.Greater(t, done, last)
		require.LessOrEqual(t, done, total)
		last = done
	}})
	require.NoError(t, err)
	require.EqualValues(t, r.Adjacency.Bytes, last)
	require.Equal(t, Degrees{Max: 3000, MaxNode: 5, Mean: 3006.0 / 300, EmptyLists: 294, SpanningLists: 1, Hubs: 1, HubEdges: 3000,
		SelfLoops: 11, ParallelEdges: 2701}, r.Degrees)
	a := r.Adjacency
	require.Equal(t, a.Bytes, a.DirectoryBytes+a.SealBytes+a.PaddingBytes+a.EntryBytes)
	require.Equal(t, 16, a.EntryBits)
	require.Equal(t, 2*r.Edges, a.EntryBytes)
	require.EqualValues(t, 2, a.Blocks)
	require.InDelta(t, 8*8192.0/3006, a.BitsPerEdge, 1e-9)
	require.Equal(t, "input", r.EdgeIDs)
	require.Equal(t, x.path+".attr.y.npy", r.Attachments[0].Path)

	b, err := json.Marshal(r)
	require.NoError(t, err)
	var back Result
	require.NoError(t, json.Unmarshal(b, &back))
	require.Equal(t, *r, back)
	for _, words := range []string{"300, of them 294 without in-neighbours", "3,006 from 3,006 rows", "max 3,000 (node 5)", "1 of them hubs", r.Fingerprint, "bfloat16 [300 10]", "presence", "row in the input"} {
		require.Contains(t, r.Text(), words)
	}
}

func TestVerifyPasses(t *testing.T) {
	for name, c := range map[string]layout.WriterConfig{
		"input": {}, "stored": {EdgeIDs: layout.EdgeIDsStored, Direction: layout.Out}, "undirected": {Undirected: true},
	} {
		t.Run(name, func(t *testing.T) {
			x := small(t, c)
			var last, total int64
			r, err := Verify(context.Background(), Config{Path: x.path, Progress: func(d, all int64) { last, total = d, all }})
			require.NoError(t, err)
			require.Equal(t, total, last)
			require.EqualValues(t, len(x.edges), r.Edges)
			require.Empty(t, r.Unchecked)
			require.NotEmpty(t, r.Checks)
			require.Contains(t, r.Text(), "whole")
			_, err = json.Marshal(r)
			require.NoError(t, err)
		})
	}
	for nodes := range uint64(3) {
		x := build(t, layout.WriterConfig{Nodes: nodes}, nil)
		_, err := verify(x.path)
		require.NoError(t, err)
		r, err := Run(context.Background(), Config{Path: x.path})
		require.NoError(t, err)
		require.Equal(t, nodes, r.Degrees.EmptyLists)
		require.NotContains(t, r.Text(), "NaN")
	}
	canonical := build(t, layout.WriterConfig{Nodes: 4, EdgeIDs: layout.EdgeIDsCanonical}, []row{{0, 1}, {0, 1}, {2, 0}})
	_, err := verify(canonical.path)
	require.NoError(t, err)
}

func TestVerifySaysWhatItCouldNotCheck(t *testing.T) {
	x := small(t, layout.WriterConfig{})
	r, err := Verify(context.Background(), Config{Path: x.path, Memory: 100})
	require.NoError(t, err)
	require.Contains(t, r.Unchecked[0], "no edge id occurs too often")
	require.Contains(t, r.Text(), "NOT checked")
}

func TestOtherFiles(t *testing.T) {
	for _, f := range []func(context.Context, string) error{
		func(ctx context.Context, p string) error { _, err := Run(ctx, Config{Path: p}); return err },
		func(ctx context.Context, p string) error { _, err := Verify(ctx, Config{Path: p}); return err },
	} {
		ctx := context.Background()
		require.ErrorIs(t, f(ctx, filepath.Join(t.TempDir(), "none")), os.ErrNotExist)
		require.ErrorContains(t, f(ctx, t.TempDir()), "not a regular file")
		pipe := filepath.Join(t.TempDir(), "pipe")
		require.NoError(t, syscall.Mkfifo(pipe, 0o600))
		require.ErrorContains(t, f(ctx, pipe), "not a regular file", "nobody waits for a writer")
		stopped, stop := context.WithCancelCause(ctx)
		why := errors.New("a signal came")
		stop(why)
		require.ErrorIs(t, f(stopped, small(t, layout.WriterConfig{}).path), why)
	}
}

// files gives the paths of a graph and of all that lies beside it.
func (x *fixture) files(t testing.TB) []string {
	list, err := filepath.Glob(x.path + "*")
	require.NoError(t, err)
	require.Len(t, list, 5)
	return list
}

var flipStep = 1

// Whatever byte of whatever file is flipped, verify names the place.
func TestEveryFlippedByteIsFound(t *testing.T) {
	x := small(t, layout.WriterConfig{})
	for _, path := range x.files(t) {
		f, err := os.OpenFile(path, os.O_RDWR, 0)
		require.NoError(t, err)
		defer f.Close()
		whole, err := os.ReadFile(path)
		require.NoError(t, err)
		for at := 0; at < len(whole); at += flipStep {
			put(t, f, at, whole[at]^1<<(at%8))
			_, err := verify(x.path)
			requireAt(t, err, path, base.BlockNo(at/base.BlockSize))
			put(t, f, at, whole[at])
		}
	}
	_, err := verify(x.path)
	require.NoError(t, err)
}

func put(t testing.TB, f *os.File, at int, b ...byte) {
	if _, err := f.WriteAt(b, int64(at)); err != nil {
		t.Fatal(err)
	}
}

func requireAt(t testing.TB, err error, path string, no base.BlockNo) {
	t.Helper()
	c, ok := err.(*layout.CorruptError)
	if !ok || c.File != path || c.Block != no || c.Offset/base.BlockSize != base.ByteOff(no) || c.Section == "" {
		t.Fatalf("%s, block %d: %v (%+v)", path, no, err, c)
	}
}

func TestEveryTruncationIsFound(t *testing.T) {
	x := small(t, layout.WriterConfig{})
	for _, path := range x.files(t) {
		whole, err := os.ReadFile(path)
		require.NoError(t, err)
		for _, n := range append(steps(len(whole), 509), len(whole)-1, len(whole)+1, len(whole)+4096) {
			require.NoError(t, os.Truncate(path, int64(n)))
			_, err := verify(x.path)
			require.ErrorIs(t, err, layout.ErrCorrupt, "%d bytes", n)
			require.ErrorContains(t, err, path+": ")
			require.NoError(t, os.WriteFile(path, whole, 0o644))
		}
		require.NoError(t, os.Remove(path))
		_, err = verify(x.path)
		require.Error(t, err)
		require.ErrorContains(t, err, path)
		require.NoError(t, os.WriteFile(path, whole, 0o644))
	}
	_, err := verify(x.path)
	require.NoError(t, err)
}

func steps(n, by int) (out []int) {
	for i := 0; i < n; i += by {
		out = append(out, i)
	}
	return out
}

// Damage under a right seal: a bug of ours, or a forger.
func TestVerifyFindsWhatSealsCannot(t *testing.T) {
	x := small(t, layout.WriterConfig{})
	f, err := os.OpenFile(x.path, os.O_RDWR, 0)
	require.NoError(t, err)
	defer f.Close()
	whole, err := os.ReadFile(x.path)
	require.NoError(t, err)
	g, err := layout.OpenGraph(f, int64(len(whole)), x.path)
	require.NoError(t, err)
	first := func(k layout.Kind, column uint16) base.BlockNo {
		s, ok := g.Table.Find(k, 0, column)
		require.True(t, ok)
		return s.First
	}
	ids := first(layout.KindEdgeIDs, 0)
	// Block 1: lists 2, 3, 5; block 2: 5, 7, 9, 299; two-byte entries, from byte 25 of block 1 on.
	for _, c := range []struct {
		name  string
		no    base.BlockNo
		at    int
		bytes []byte
		want  string
	}{
		{"a neighbour", 1, 25, []byte{1, 0}, "fingerprint is not that of the lists"},
		{"neighbours descend", 1, 25 + 4, []byte{0xff, 0}, "must ascend"},
		{"neighbours descend over the seam", 1, 4089, []byte{0x2b, 1}, "from block to block"},
		{"node id", 1, 16 + 1, []byte{2}, "presence"},
		{"a node twice", 2, 16 + 2, []byte{0}, "nodes must ascend"},
		{"another node goes on", 2, 4, []byte{4}, "not the one that the index describes"},
		{"flags", 2, 3, []byte{0}, "not the one that the index describes"},
		{"padding of a block", 2, 4091, []byte{1}, "padding"},
		{"padding of the superblock", 0, 4000, []byte{1}, "padding"},
		{"padding of the table", first(layout.KindAttachments, 0) + 1, 4000, []byte{1}, "padding"},
		{"padding of the index", first(layout.KindIndex, layout.ColContIn), 4000, []byte{1}, "padding"},
		{"padding of the ids", ids + 2, 4091, []byte{1}, "padding"},
		{"presence: a bit too many", first(layout.KindPresence, 0), 0, []byte{0xad}, "bit of node 0 is wrong"},
		{"presence: a bit too few", first(layout.KindPresence, 0), 0, []byte{0x2c}, "bit of node 7 is wrong"},
		{"presence: a bit past the last node", first(layout.KindPresence, 0), 37, []byte{0x18}, "bit of node 300 is wrong"},
		{"id twice", ids, 0, whole[int(ids)*4096+4:][:4], "too often"},
		{"id out of range", ids, 0, []byte{255, 255}, "below 3006"},
		{"fingerprint", 0, 96, []byte{whole[96] + 1}, "fingerprint"},
		{"content id", 0, 112, []byte{whole[112] + 1}, "content id"},
		{"another list of attachments", first(layout.KindAttachments, 0), 3, []byte("Rol"), "content id"},
	} {
		t.Run(c.name, func(t *testing.T) {
			b := slices.Clone(whole[c.no.Off():][:base.BlockSize])
			copy(b[c.at:], c.bytes)
			binfmt.Seal(b, c.no)
			put(t, f, int(c.no.Off()), b...)
			defer put(t, f, int(c.no.Off()), whole[c.no.Off():][:base.BlockSize]...)
			_, err := verify(x.path)
			require.ErrorIs(t, err, layout.ErrCorrupt)
			require.ErrorContains(t, err, c.want)
		})
	}
	swapIDs(t, f, whole, ids)
}

// swapIDs exchanges the ids of two parallel edges: a permutation still, but not
// in canonical order.
func swapIDs(t *testing.T, f *os.File, whole []byte, ids base.BlockNo) {
	const p = 2 + 1 // the hub's first entries are ten times node 0
	b := slices.Clone(whole[ids.Off():][:base.BlockSize])
	x, y := binary.LittleEndian.Uint32(b[4*p:]), binary.LittleEndian.Uint32(b[4*p+4:])
	binary.LittleEndian.PutUint32(b[4*p:], y)
	binary.LittleEndian.PutUint32(b[4*p+4:], x)
	binfmt.Seal(b, ids)
	put(t, f, int(ids.Off()), b...)
	_, err := verify(f.Name())
	require.ErrorIs(t, err, layout.ErrCorrupt)
	require.ErrorContains(t, err, "parallel edges must ascend")
}

func TestFilesBesideMustBelong(t *testing.T) {
	x, other := small(t, layout.WriterConfig{}), small(t, layout.WriterConfig{Direction: layout.Out})
	path := func(x *fixture, suffix string) string { return x.path + suffix }
	move := func(from, to string) {
		b, err := os.ReadFile(from)
		require.NoError(t, err)
		require.NoError(t, os.WriteFile(to, b, 0o644))
	}
	const y, features = ".attr.y.npy", ".features.npy"
	move(path(other, y+".sums"), path(x, y+".sums"))
	_, err := verify(x.path)
	require.ErrorContains(t, err, "another graph")
	move(path(x, features+".sums"), path(x, y+".sums"))
	_, err = verify(x.path)
	require.ErrorContains(t, err, "another file")

	rows := layout.FeaturesAttachment()
	rows.DType, rows.Shape = "int16", []uint64{299, 3}
	short := build(t, layout.WriterConfig{Nodes: 300}, x.rows, rows)
	_, err = verify(short.path)
	require.ErrorContains(t, err, "one row per node")
}
