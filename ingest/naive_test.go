//go:build linux

package ingest

import (
	"bytes"
	"compress/gzip"
	"context"
	"encoding/binary"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"sort"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/aether-ooc/aether-ooc/ingest/source"
	"github.com/aether-ooc/aether-ooc/inspect"
	"github.com/aether-ooc/aether-ooc/internal/base"
	"github.com/aether-ooc/aether-ooc/internal/npy"
	"github.com/aether-ooc/aether-ooc/layout"
)

// pair is an edge of an input: source, target.
type pair [2]uint64

// entry is a place in a list: the neighbour and the edge's id.
type entry struct{ nbr, id uint64 }

// lists is a graph as a test sees it.
type lists map[uint64][]entry

// naiveLists does by maps and sort.Slice what Run does, from the raw edges.
func naiveLists(edges []pair, c Config) lists {
	l := lists{}
	for row, e := range edges {
		if e[0] == e[1] && c.DropSelfLoops {
			continue
		}
		node, nbr := e[1], e[0]
		if c.Direction == layout.Out {
			node, nbr = nbr, node
		}
		l[node] = append(l[node], entry{nbr, uint64(row)})
		if c.Undirected && node != nbr {
			l[nbr] = append(l[nbr], entry{node, uint64(row)})
		}
	}
	place := uint64(0)
	for _, node := range l.nodes() {
		list := l[node]
		sort.Slice(list, func(i, j int) bool {
			return list[i].nbr < list[j].nbr || list[i].nbr == list[j].nbr && list[i].id < list[j].id
		})
		if c.Dedup {
			list = slices.CompactFunc(list, func(a, b entry) bool { return a.nbr == b.nbr })
		}
		for i := range list {
			if c.EdgeIDs == layout.EdgeIDsStored {
				list[i].id = place
			}
			place++
		}
		l[node] = list
	}
	return l
}

func (l lists) nodes() (ids []uint64) {
	for v := range l {
		ids = append(ids, v)
	}
	slices.Sort(ids)
	return ids
}

// counts are what a Result must say of the lists.
func (l lists) counts(n int64) (edges, duplicates, isolated int64) {
	touched := map[uint64]bool{}
	for v, list := range l {
		edges += int64(len(list))
		for i, e := range list {
			touched[v], touched[e.nbr] = true, true
			if i > 0 && list[i-1].nbr == e.nbr {
				duplicates++
			}
		}
	}
	return edges, duplicates, n - int64(len(touched))
}

// readLists reads a graph back, block by block, after inspect has found nothing
// wrong with it and its attachments.
func readLists(t testing.TB, path string) (*layout.Graph, lists) {
	t.Helper()
	_, err := inspect.Verify(context.Background(), inspect.Config{Path: path})
	require.NoError(t, err)
	g, f := readGraph(t, path)
	l := lists{}
	adjacency, _ := g.Table.Find(layout.KindAdjacency, 0, 0)
	for i := range adjacency.Blocks {
		no := adjacency.First + base.BlockNo(i)
		k, err := layout.ViewBlock(blockOf(f, no))
		require.NoError(t, err)
		for j := range k.Lists() {
			list := k.List(j)
			for r := range list.Len() {
				p := g.Index.FirstEdge(no) + base.EdgeIdx(list.Pos()+r)
				v := uint64(k.Node(j))
				l[v] = append(l[v], entry{uint64(list.At(r)), readEdgeID(g, f, p)})
			}
		}
	}
	return g, l
}

// readGraph reads a whole file, every block of which must be sealed.
func readGraph(t testing.TB, path string) (*layout.Graph, []byte) {
	t.Helper()
	f, err := os.ReadFile(path)
	require.NoError(t, err)
	g, err := layout.OpenGraph(bytes.NewReader(f), int64(len(f)), path)
	require.NoError(t, err)
	for no := range base.BlockNo(len(f) / base.BlockSize) {
		require.NoError(t, g.CheckBlock(no, blockOf(f, no)))
	}
	return g, f
}

func blockOf(f []byte, no base.BlockNo) []byte { return f[no.Off():][:base.BlockSize] }

func readEdgeID(g *layout.Graph, f []byte, p base.EdgeIdx) uint64 {
	if !g.HasEdgeIDs() {
		return uint64(p)
	}
	no, slot := g.EdgeIDBlock(p)
	return uint64(g.EdgeIDAt(blockOf(f, no), slot))
}

func textOf(edges []pair) string {
	var b strings.Builder
	for _, e := range edges {
		fmt.Fprintf(&b, "%d\t%d\n", e[0], e[1])
	}
	return b.String()
}

// arrayOf is the .npy of a (2, E) array of uint64 in C order.
func arrayOf(edges []pair) string {
	b := npy.AppendHeader(nil, "uint64", []int64{2, int64(len(edges))})
	for column := range 2 {
		for _, e := range edges {
			b = binary.LittleEndian.AppendUint64(b, e[column])
		}
	}
	return string(b)
}

func gzipped(members ...string) string {
	var b bytes.Buffer
	for _, m := range members {
		w := gzip.NewWriter(&b)
		w.Write([]byte(m))
		w.Close()
	}
	return b.String()
}

// readAll reads an edge list without building from it.
func readAll(path string) (edges []pair, err error) {
	s, err := source.Open(source.Config{Inputs: []string{path}})
	if err != nil {
		return nil, err
	}
	defer s.Close()
	err = s.Each(context.Background(), func(b *source.Batch) error {
		for i := range b.Src {
			edges = append(edges, pair{uint64(b.Src[i]), uint64(b.Dst[i])})
		}
		return nil
	})
	return edges, err
}

func writeFile(t testing.TB, dir, name, content string) string {
	t.Helper()
	path := filepath.Join(dir, name)
	require.NoError(t, os.WriteFile(path, []byte(content), 0o666))
	return path
}

// smallMemory is enough for the graphs of most tests.
const smallMemory = 64 << 20

// run builds with a small budget, and checks that no temporary file and no
// descriptor is left.
func run(t testing.TB, c Config) (*Result, error) {
	t.Helper()
	if c.Memory == 0 {
		c.Memory = smallMemory
	}
	before := descriptors(t)
	res, err := Run(context.Background(), c)
	require.Equal(t, before, descriptors(t), "descriptors are left")
	requireNoStage(t, c.Out)
	return res, err
}

func descriptors(t testing.TB) int {
	open, err := os.ReadDir("/proc/self/fd")
	require.NoError(t, err)
	return len(open)
}

func requireNoStage(t testing.TB, out string) {
	t.Helper()
	left, err := filepath.Glob(filepath.Join(filepath.Dir(out), ".*"))
	require.NoError(t, err)
	require.Empty(t, left, "temporary files are left")
}

func TestMain(m *testing.M) {
	if os.Getenv(childVariable) != "" {
		childMain()
		return
	}
	goleak.VerifyTestMain(m)
}
