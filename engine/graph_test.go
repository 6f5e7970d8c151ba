package engine_test

import (
	"encoding/binary"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"path/filepath"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/aether-ooc/aether-ooc/internal/base"
	"github.com/aether-ooc/aether-ooc/internal/npy"
	"github.com/aether-ooc/aether-ooc/internal/oracle"
	"github.com/aether-ooc/aether-ooc/layout"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// fixture is a graph on disk and what the oracle knows of it.
type fixture struct {
	path  string
	edges oracle.Edges
	lists [][]oracle.Entry
	print base.Fingerprint
	x     []byte // rows of float32, features long
	y     []byte // one int64 for a node

	answers sync.Map // of the oracle
}

const featureDim = 5

// build writes a graph as `aether-ooc build` would, by the layout's own Writer,
// with features x and attribute y if asked to.
func build(t testing.TB, e oracle.Edges, attach bool) *fixture {
	return buildEncoded(t, e, attach, layout.Plain)
}

func buildEncoded(t testing.TB, e oracle.Edges, attach bool, encoding layout.Encoding) *fixture {
	f := &fixture{path: filepath.Join(t.TempDir(), "graph.bin"), edges: e, lists: e.Lists()}
	file, err := os.Create(f.path)
	require.NoError(t, err)
	defer file.Close()
	c := writerConfig(e)
	c.Encoding = encoding
	w, err := layout.NewWriter(file, c)
	require.NoError(t, err)
	var ids []base.EdgeID
	for v, list := range f.lists {
		var neighbours []base.NodeID
		for _, x := range list {
			neighbours, ids = append(neighbours, base.NodeID(x.Neighbour)), append(ids, base.EdgeID(x.ID))
		}
		require.NoError(t, w.List(base.NodeID(v), neighbours))
	}
	f.print, err = w.Fingerprint()
	require.NoError(t, err)
	if !e.Stored {
		require.NoError(t, w.EdgeIDs(ids))
	}
	_, err = w.Finish(f.attach(t, attach))
	require.NoError(t, err)
	return f
}

func writerConfig(e oracle.Edges) layout.WriterConfig {
	c := layout.WriterConfig{Nodes: uint64(e.Nodes), InputEdges: uint64(len(e.Src)), Undirected: e.Undirected, Dedup: e.Dedup, NoLoops: e.DropLoops}
	if e.Out {
		c.Direction = layout.Out
	}
	if e.Stored {
		c.EdgeIDs = layout.EdgeIDsStored
	}
	return c
}

func (f *fixture) attach(t testing.TB, do bool) []layout.Attachment {
	if !do {
		return nil
	}
	n := f.edges.Nodes
	f.x, f.y = noise(n*featureDim*4), noise(n*8)
	y, err := layout.AttrAttachment("y")
	require.NoError(t, err)
	return []layout.Attachment{
		f.write(t, layout.FeaturesAttachment(), "float32", []int64{n, featureDim}, f.x),
		f.write(t, y, "int64", []int64{n}, f.y),
	}
}

func noise(n int64) []byte {
	r := rand.New(rand.NewPCG(uint64(n), 7))
	b := make([]byte, (n+7)/8*8)
	for i := 0; i < len(b); i += 8 {
		binary.LittleEndian.PutUint64(b[i:], r.Uint64())
	}
	return b[:n]
}

// write puts one attachment and its sums beside the graph.
func (f *fixture) write(t testing.TB, a layout.Attachment, dtype string, shape []int64, data []byte) layout.Attachment {
	path := a.Path(f.path)
	file, err := os.Create(path)
	require.NoError(t, err)
	defer file.Close()
	sums, err := os.Create(layout.SumsPath(path))
	require.NoError(t, err)
	defer sums.Close()
	s := layout.NewSumsWriter(sums, f.print)
	out := io.MultiWriter(file, s)
	_, err = out.Write(append(npy.AppendHeader(nil, dtype, shape), data...))
	require.NoError(t, err)
	a.DType = dtype
	for _, d := range shape {
		a.Shape = append(a.Shape, uint64(d))
	}
	a.Bytes, a.Hash, err = s.Finish()
	require.NoError(t, err)
	return a
}

// flip changes one byte of a file.
func flip(t testing.TB, path string, off int64) {
	file, err := os.OpenFile(path, os.O_RDWR, 0)
	require.NoError(t, err)
	defer file.Close()
	var b [1]byte
	_, err = file.ReadAt(b[:], off)
	require.NoError(t, err)
	b[0] ^= 0x40
	_, err = file.WriteAt(b[:], off)
	require.NoError(t, err)
}

// openFiles counts the descriptors of this process.
func openFiles(t testing.TB) int {
	list, err := os.ReadDir("/proc/self/fd")
	require.NoError(t, err)
	return len(list)
}

// mappings counts the memory mappings of this process that are not the heap's.
func mappings(t testing.TB) int {
	b, err := os.ReadFile("/proc/self/maps")
	require.NoError(t, err)
	n := 0
	for _, c := range b {
		if c == '\n' {
			n++
		}
	}
	return n
}

func animal(t testing.TB, name string) oracle.Edges {
	for _, a := range oracle.Zoo() {
		if a.Name == name {
			return a.Edges
		}
	}
	require.Fail(t, fmt.Sprintf("no animal %q", name))
	return oracle.Edges{}
}
