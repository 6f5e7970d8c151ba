//go:build linux

package ingest

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/aether-ooc/aether-ooc/internal/base"
	"github.com/aether-ooc/aether-ooc/layout"
)

// tinyEdges are what the files of testdata/ingest hold; NumPy wrote them.
var tinyEdges = []pair{{1, 0}, {2, 0}, {3, 0}, {1, 0}, {4, 4}, {0, 5}, {7, 0}, {5, 7}, {4, 4}, {3, 1}, {2, 3}}

func TestEveryFormOfTheSameEdges(t *testing.T) {
	files, err := filepath.Glob("../testdata/ingest/tiny*")
	require.NoError(t, err)
	require.Len(t, files, 14)
	want := naiveLists(tinyEdges, Config{})
	var first []byte
	for _, file := range files {
		out := filepath.Join(t.TempDir(), "g.bin")
		res, err := run(t, Config{Input: file, Out: out})
		require.NoError(t, err, file)
		_, got := readLists(t, out)
		require.Equal(t, want, got, file)
		require.Equal(t, []int64{11, 8, 11, 2, 2, 1}, []int64{res.InputRows, res.Nodes, res.Edges, res.SelfLoops, res.Duplicates, res.IsolatedNodes}, file)
		b, err := os.ReadFile(out)
		require.NoError(t, err)
		if first == nil {
			first = b
		}
		require.Equal(t, first, b, "%s: other bytes", file)
	}
}

// graphs are edge lists of many characters, by name.
func graphs() map[string][]pair {
	r := rand.New(rand.NewPCG(7, 7))
	random := func(n, nodes int) (edges []pair) {
		for range n {
			edges = append(edges, pair{r.Uint64N(uint64(nodes)), r.Uint64N(uint64(nodes))})
		}
		return edges
	}
	var star, sorted []pair
	for i := range uint64(5000) {
		star = append(star, pair{(i * 7919) % 5000, 3})
		sorted = append(sorted, pair{i % 5, i / 5})
	}
	return map[string][]pair{
		"none":      nil,
		"one":       {{2, 5}},
		"loop":      {{0, 0}},
		"loops":     {{3, 3}, {3, 3}, {1, 1}},
		"both ways": {{1, 2}, {2, 1}, {1, 2}, {2, 2}, {2, 1}},
		"dense":     random(3000, 12),
		"sparse":    random(3000, 5000),
		"star":      star,
		"canonical": sorted,
		"wide":      {{1 << 32, 5}, {5, 1 << 33}, {1 << 40, 1<<40 + 1}, {5, 5}, {1 << 32, 5}},
		"edge of 2": {{1<<31 - 1, 1<<32 - 1}, {1<<32 - 1, 0}},
	}
}

// combinations gives every setting of the options.
func combinations() (cs []Config) {
	for bits := range 32 {
		on := func(i int) bool { return bits>>i&1 == 1 }
		c := Config{Undirected: on(0), Dedup: on(1), DropSelfLoops: on(2)}
		if on(3) {
			c.Direction = layout.Out
		}
		if on(4) {
			c.EdgeIDs = layout.EdgeIDsStored
		}
		cs = append(cs, c)
	}
	return cs
}

func (c Config) name() string {
	return fmt.Sprintf("undirected=%v dedup=%v noloops=%v %v ids=%v", c.Undirected, c.Dedup, c.DropSelfLoops, c.Direction, c.EdgeIDs)
}

func TestEveryCombinationOfOptions(t *testing.T) {
	for name, edges := range graphs() {
		dir := t.TempDir()
		text := writeFile(t, dir, "e.txt", textOf(edges))
		array := writeFile(t, dir, "e.npy", arrayOf(edges))
		nodes, loops := int64(0), int64(0)
		for _, e := range edges {
			nodes = max(nodes, int64(e[0])+1, int64(e[1])+1)
			if e[0] == e[1] {
				loops++
			}
		}
		for i, c := range combinations() {
			c.Input, c.Out = []string{text, array}[i%2], filepath.Join(dir, "g.bin")
			about := name + ": " + c.name()
			res, err := run(t, c)
			require.NoError(t, err, about)
			g, got := readLists(t, c.Out)
			want := naiveLists(edges, c)
			require.Equal(t, want, got, about)

			edgeCount, duplicates, isolated := want.counts(nodes)
			if c.Dedup {
				_, duplicates, _ = naiveLists(edges, Config{Direction: c.Direction, Undirected: c.Undirected, DropSelfLoops: c.DropSelfLoops}).counts(nodes)
			}
			require.Equal(t, []int64{nodes, edgeCount, duplicates, isolated, loops},
				[]int64{res.Nodes, res.Edges, res.Duplicates, res.IsolatedNodes, res.SelfLoops}, about)
			c.Out, c.tune = filepath.Join(dir, "external.bin"), &sizes{pile: 10, parts: 7, extent: extentUnit, sorters: 2, unit: 8 * extentUnit}
			other, err := run(t, c)
			require.NoError(t, err, about)
			require.Equal(t, len(edges) > 10 && edgeCount+duplicates > 10, other.Way == External, about)
			other.Way = InMemory
			requireSameGraph(t, res, other)

			require.Equal(t, layout.WriterConfig{Nodes: uint64(nodes), InputEdges: uint64(len(edges)), Direction: c.Direction,
				EdgeIDs: g.Superblock.EdgeIDs, Undirected: c.Undirected, Dedup: c.Dedup, NoLoops: c.DropSelfLoops}, configOf(g), about)
		}
	}
}

func configOf(g *layout.Graph) layout.WriterConfig {
	s := g.Superblock
	return layout.WriterConfig{Nodes: s.Nodes, InputEdges: s.InputEdges, Direction: s.Direction, EdgeIDs: s.EdgeIDs,
		Undirected: s.Undirected, Dedup: s.Dedup, NoLoops: s.NoLoops}
}

func TestIDsAreStoredOnlyWhereNeeded(t *testing.T) {
	for _, c := range []struct {
		graph string
		c     Config
		want  layout.EdgeIDMode
	}{
		{"canonical", Config{}, layout.EdgeIDsCanonical},
		{"canonical", Config{Direction: layout.Out}, layout.EdgeIDsInput},
		{"canonical", Config{EdgeIDs: layout.EdgeIDsStored}, layout.EdgeIDsStored},
		{"canonical", Config{Undirected: true}, layout.EdgeIDsInput},
		{"canonical", Config{Dedup: true}, layout.EdgeIDsCanonical},
		{"canonical", Config{DropSelfLoops: true}, layout.EdgeIDsInput},
		{"star", Config{}, layout.EdgeIDsInput},
		{"none", Config{}, layout.EdgeIDsCanonical},
	} {
		dir := t.TempDir()
		c.c.Input, c.c.Out = writeFile(t, dir, "e.txt", textOf(graphs()[c.graph])), filepath.Join(dir, "g.bin")
		_, err := run(t, c.c)
		require.NoError(t, err)
		g, _ := readLists(t, c.c.Out)
		require.Equal(t, c.want, g.Superblock.EdgeIDs, "%s: %s", c.graph, c.c.name())
	}
}

func TestSameBytesForAnyWorkersAndMemory(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 4))
	var edges []pair
	for range 200_000 {
		edges = append(edges, pair{r.Uint64N(30_000), r.Uint64N(30_000)})
	}
	dir := t.TempDir()
	inputs := []string{writeFile(t, dir, "e.txt", textOf(edges)), writeFile(t, dir, "e.npy", arrayOf(edges))}
	var first []byte
	for i, workers := range []int{1, 2, 3, 8, 8} {
		out := filepath.Join(dir, "g.bin")
		_, err := run(t, Config{Input: inputs[i%2], Out: out, Workers: workers, Memory: int64(64+16*i) << 20, Undirected: true})
		require.NoError(t, err)
		b, err := os.ReadFile(out)
		require.NoError(t, err)
		if first == nil {
			first = b
		}
		require.True(t, string(first) == string(b), "workers %d", workers)
	}
}

func TestNumNodes(t *testing.T) {
	dir := t.TempDir()
	text, array := writeFile(t, dir, "e.txt", "# c\n0 1\n\n7 2\n3 9\n"), writeFile(t, dir, "e.npy", arrayOf([]pair{{0, 1}, {7, 2}, {3, 9}}))
	out := filepath.Join(dir, "g.bin")
	for _, n := range []int64{10, 11, 1 << 33, 1<<63 - 1} {
		res, err := run(t, Config{Input: text, Out: out, NumNodes: n})
		require.NoError(t, err)
		require.Equal(t, []int64{n, n - 6}, []int64{res.Nodes, res.IsolatedNodes})
		_, got := readLists(t, out)
		require.Equal(t, naiveLists([]pair{{0, 1}, {7, 2}, {3, 9}}, Config{}), got)
	}
	_, err := run(t, Config{Input: text, Out: out, NumNodes: 9})
	require.ErrorIs(t, err, ErrInput)
	require.EqualError(t, err, text+`, line 5, column 2: "9": no such node: the number of nodes was given as 9; raise it to the largest id + 1, or leave it out`)
	_, err = run(t, Config{Input: array, Out: out, NumNodes: 3})
	require.EqualError(t, err, array+`, row 1, column 1: "7": no such node: the number of nodes was given as 3; raise it to the largest id + 1, or leave it out`)
}

func TestNoEdges(t *testing.T) {
	dir := t.TempDir()
	for name, content := range map[string]string{
		"empty.txt": "", "comments.txt": "# a\n% b\n\n  \n", "bom.csv": "\xef\xbb\xbf", "c.npy": arrayOf(nil),
	} {
		in, out := writeFile(t, dir, name, content), filepath.Join(dir, "g.bin")
		for _, n := range []int64{0, 5} {
			res, err := run(t, Config{Input: in, Out: out, NumNodes: n})
			require.NoError(t, err, name)
			require.Equal(t, []int64{n, 0, n}, []int64{res.Nodes, res.Edges, res.IsolatedNodes}, name)
			g, got := readLists(t, out)
			require.Empty(t, got)
			require.Equal(t, uint64(n), g.Superblock.Nodes)
		}
	}
}

func TestStarOfMillions(t *testing.T) {
	const n = 5_000_000
	dir := t.TempDir()
	edges := make([]pair, n)
	for i := range edges {
		edges[i] = pair{uint64(n - i), 0}
	}
	out := filepath.Join(dir, "g.bin")
	_, err := run(t, Config{Input: writeFile(t, dir, "e.npy", arrayOf(edges)), Out: out, Memory: 512 << 20})
	require.NoError(t, err)
	g, f := readGraph(t, out)
	span := g.Index.Locate(0)
	require.Equal(t, uint64(n), span.Degree)
	for _, k := range []uint64{0, 1, n / 2, n - 1} {
		no := g.Index.RankBlock(span, k)
		lo, _ := g.Index.Ranks(span, no)
		b, err := layout.ViewBlock(blockOf(f, no))
		require.NoError(t, err)
		list := b.Find(0)
		require.Equal(t, k+1, uint64(list.At(int(k-lo))))
		require.Equal(t, uint64(n-1-k), readEdgeID(g, f, g.Index.FirstEdge(no)+base.EdgeIdx(list.Pos()+int(k-lo))))
	}
}

func TestResultMarshalsAndReads(t *testing.T) {
	dir := t.TempDir()
	res, err := run(t, Config{Input: "../testdata/ingest/tiny.txt", Out: filepath.Join(dir, "g.bin"), Undirected: true, Dedup: true, DropSelfLoops: true})
	require.NoError(t, err)
	require.Equal(t, int64(13), res.Lines)
	require.Equal(t, int64(2), res.SkippedLines)
	st, err := os.Stat(res.Graph)
	require.NoError(t, err)
	require.Equal(t, st.Size(), res.GraphBytes)
	require.Greater(t, res.PeakRSSBytes, int64(1<<20))
	text := res.Text()
	for _, word := range []string{"13, 2 skipped", "11", "undirected", "dropped", res.Fingerprint, res.ContentID, "budget of 64 MiB"} {
		require.Contains(t, text, word)
	}
	b, err := json.Marshal(res)
	require.NoError(t, err)
	var back map[string]any
	require.NoError(t, json.Unmarshal(b, &back))
	require.Equal(t, float64(11), back["input_rows"])
	require.Equal(t, "text", back["format"])
}

func TestProgressIsInOrder(t *testing.T) {
	dir := t.TempDir()
	var phases []string
	_, err := run(t, Config{Input: "../testdata/ingest/tiny.txt", Out: filepath.Join(dir, "g.bin"), Progress: func(phase string, done, total int64) {
		require.GreaterOrEqual(t, done, int64(0))
		if total > 0 {
			require.LessOrEqual(t, done, total)
		}
		if len(phases) == 0 || phases[len(phases)-1] != phase {
			phases = append(phases, phase)
		}
	}})
	require.NoError(t, err)
	require.Equal(t, []string{"read", "sort", "write lists", "write edge ids", "sync"}, phases)
}
