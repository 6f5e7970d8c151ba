//go:build linux

package ingest

import (
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/aether-ooc/aether-ooc/ingest/source"
	"github.com/aether-ooc/aether-ooc/inspect"
	"github.com/aether-ooc/aether-ooc/layout"
)

// corners are ids that pass through nothing smaller or rounder than 64 bits.
var corners = []uint64{0, 1, 1<<31 - 1, 1 << 31, 1<<31 + 1, 1<<32 - 1, 1 << 32, 1 << 53, 1<<53 + 1, 1<<62 + 1, 1<<63 - 3, 1<<63 - 2}

// relabelled does by a sort and a search what Relabel does.
func relabelled(edges []pair) (dense []pair, own []uint64) {
	for _, e := range edges {
		own = append(own, e[0], e[1])
	}
	slices.Sort(own)
	own = slices.Compact(own)
	for _, e := range edges {
		src, _ := slices.BinarySearch(own, e[0])
		dst, _ := slices.BinarySearch(own, e[1])
		dense = append(dense, pair{uint64(src), uint64(dst)})
	}
	return dense, own
}

// ownIDs reads a column of original ids.
func ownIDs(t testing.TB, path string, column uint16) (values []uint64) {
	t.Helper()
	g, f := readGraph(t, path)
	s, ok := g.Table.Find(layout.KindOriginal, 0, column)
	require.True(t, ok)
	for i := range s.Values {
		no, slot := s.Place(i)
		values = append(values, s.Value(blockOf(f, no), slot))
	}
	return values
}

func sparseGraphs() map[string][]pair {
	r := rand.New(rand.NewPCG(9, 9))
	pick := func(n int, id func() uint64) (edges []pair) {
		for range n {
			edges = append(edges, pair{id(), id()})
		}
		return edges
	}
	all := graphs()
	all["corners"] = pick(300, func() uint64 { return corners[r.IntN(len(corners))] })
	all["sparse 64 bits"] = pick(5000, func() uint64 { return r.Uint64N(1<<63 - 1) })
	all["few of many"] = pick(5000, func() uint64 { return r.Uint64N(400) * 12345678901234567 })
	return all
}

func TestRelabel(t *testing.T) {
	ways := map[Way]int{}
	for name, edges := range sparseGraphs() {
		dir := t.TempDir()
		input := writeFile(t, dir, "e.npy", arrayOf(edges))
		dense, own := relabelled(edges)
		for i, c := range combinations() {
			if i%5 != 0 {
				continue
			}
			about := name + ": " + c.name()
			c.Input, c.Out, c.Relabel, c.Memory = input, filepath.Join(dir, "g.bin"), layout.OriginalIDs, 2*smallMemory
			res, err := run(t, c)
			require.NoError(t, err, about)
			g, got := readLists(t, c.Out)
			require.Equal(t, naiveLists(dense, c), got, about)
			require.EqualValues(t, len(own), g.Superblock.Nodes)
			require.Equal(t, layout.OriginalIDs, g.Original())
			require.Equal(t, own, ownIDs(t, c.Out, layout.ColOriginalIDs), about)
			require.Equal(t, "ids", res.Original)

			c.Out, c.tune = filepath.Join(dir, "external.bin"), tiny()
			other, err := run(t, c)
			require.NoError(t, err, about)
			requireSameBytes(t, res.Graph, other.Graph)
			ways[other.Way]++
		}
	}
	require.Greater(t, ways[External], 20)
}

// The dictionary does not fit, the edges do not fit, the input is a pipe.
func TestRelabelInLittleMemory(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 9))
	edges := make([]pair, 1_200_000)
	for i := range edges {
		edges[i] = pair{r.Uint64N(1<<63 - 1), r.Uint64N(1 << 20)}
	}
	dense, own := relabelled(edges)
	dir := t.TempDir()
	c := Config{Source: source.Config{Inputs: []string{"-"}, Stdin: strings.NewReader(textOf(edges))}, Relabel: layout.OriginalIDs, Undirected: true, Workers: 1, Temp: t.TempDir()}
	c.Memory = overhead(c) + leastRoom + c.leastRelabel()
	c.Out = filepath.Join(dir, "g.bin")
	res, err := run(t, c)
	require.NoError(t, err)
	require.Equal(t, External, res.Way)
	require.Positive(t, res.RelabelPeak)
	require.Equal(t, own, ownIDs(t, c.Out, layout.ColOriginalIDs))
	plain := Config{Input: writeFile(t, dir, "dense.npy", arrayOf(dense)), Out: filepath.Join(dir, "plain.bin"), Undirected: true, NumNodes: int64(len(own))}
	want, err := run(t, plain)
	require.NoError(t, err)
	require.Equal(t, want.Fingerprint, res.Fingerprint)
	require.NotEqual(t, want.ContentID, res.ContentID)
	left, err := os.ReadDir(c.Temp)
	require.NoError(t, err)
	require.Empty(t, left)
	c.Memory--
	_, err = run(t, c)
	require.ErrorIs(t, err, ErrOverBudget)
}

func TestRelabelRefuses(t *testing.T) {
	dir := t.TempDir()
	for _, c := range []struct {
		text string
		c    Config
		kind error
		want string
	}{
		{"1 2\n", Config{NumNodes: 5}, ErrOption, "leave the number of nodes out"},
		{"1 2\n", Config{Source: source.Config{Base: 1}}, ErrOption, "leave --base out"},
		{"1 2\n", Config{Relabel: layout.OriginalNames, NodeAttrs: []NodeAttr{{"y", "y.npy"}}}, ErrOption, "rows of features"},
		{"1 9223372036854775807\n", Config{}, ErrInput, "9223372036854775807"},
		{"1 -2\n", Config{}, ErrInput, "-2"},
		{"1 2.0\n", Config{}, ErrInput, "2.0"},
	} {
		c.c.Out, c.c.Memory = filepath.Join(dir, "g.bin"), 2*smallMemory
		c.c.Source.Inputs = []string{writeFile(t, dir, "e.txt", c.text)}
		if c.c.Relabel == layout.NoOriginal {
			c.c.Relabel = layout.OriginalIDs
		}
		_, err := run(t, c.c)
		require.ErrorIs(t, err, c.kind)
		require.ErrorContains(t, err, c.want)
		require.NoFileExists(t, c.c.Out)
	}
}

func TestMergeRefusesNumbersThatWouldMove(t *testing.T) {
	dir := t.TempDir()
	input, graph := writeFile(t, dir, "e.txt", "7 1000\n"), filepath.Join(dir, "g.bin")
	_, err := run(t, Config{Input: input, Out: graph, Relabel: layout.OriginalIDs, Memory: 2 * smallMemory})
	require.NoError(t, err)
	_, err = Merge(context.Background(), MergeConfig{Base: graph, Source: source.Config{Inputs: []string{input}}, Out: filepath.Join(dir, "m.bin"), Memory: 2 * smallMemory})
	require.ErrorIs(t, err, ErrOption)
	require.ErrorContains(t, err, "original.ids, which cannot be merged")
}

// nameLists are the lists of a graph of names.
func nameLists(t *testing.T, path string) map[string][]string {
	t.Helper()
	_, got := readLists(t, path)
	ends, all := ownIDs(t, path, layout.ColNameEnds), ownIDs(t, path, layout.ColNames)
	name := func(v uint64) string {
		begin := uint64(0)
		if v > 0 {
			begin = ends[v-1]
		}
		var b []byte
		for _, x := range all[begin:ends[v]] {
			b = append(b, byte(x))
		}
		return string(b)
	}
	lists := map[string][]string{}
	for v, list := range got {
		for _, e := range list {
			lists[name(v)] = append(lists[name(v)], name(e.nbr))
		}
		slices.Sort(lists[name(v)])
	}
	return lists
}

func TestRelabelNames(t *testing.T) {
	r := rand.New(rand.NewPCG(2, 2))
	words := []string{"Zürich", "日本", `with "quotes"`, "a b", "12", "NA", "#tag", "x,y;z", strings.Repeat("long", 1<<18)}
	for i := range 3000 {
		words = append(words, fmt.Sprint("node", i))
	}
	want := map[string][]string{}
	var text strings.Builder
	quoted := func(s string) string { return `"` + strings.ReplaceAll(s, `"`, `""`) + `"` }
	for i := range 20_000 {
		src, dst := words[r.IntN(len(words))], words[r.IntN(len(words))]
		if i > 100 && len(src)+len(dst) > 1000 { // enough of the long one
			continue
		}
		fmt.Fprintf(&text, "%s,%s\n", quoted(src), quoted(dst))
		want[dst] = append(want[dst], src)
	}
	for _, list := range want {
		slices.Sort(list)
	}
	dir := t.TempDir()
	c := Config{Input: writeFile(t, dir, "e.csv", text.String()), Out: filepath.Join(dir, "g.bin"), Relabel: layout.OriginalNames, Memory: 2 * smallMemory}
	res, err := run(t, c)
	require.NoError(t, err)
	require.Equal(t, "names", res.Original)
	require.Equal(t, want, nameLists(t, c.Out))
	_, err = inspect.Verify(context.Background(), inspect.Config{Path: c.Out, Against: source.Config{Inputs: []string{c.Input}}})
	require.NoError(t, err)

	c.Out, c.tune = filepath.Join(dir, "external.bin"), tiny()
	_, err = run(t, c)
	require.NoError(t, err)
	requireSameBytes(t, res.Graph, c.Out)

	c.Out, c.RelabelSeed = filepath.Join(dir, "seeded.bin"), 99
	other, err := run(t, c)
	require.NoError(t, err)
	require.NotEqual(t, res.Fingerprint, other.Fingerprint, "nodes lie in another order")
	require.Equal(t, want, nameLists(t, c.Out))

	for _, suffix := range []string{".parquet", ".txt"} { // and back
		back := filepath.Join(dir, "back"+suffix)
		_, err = inspect.Export(context.Background(), inspect.ExportConfig{Path: res.Graph, Out: back, Original: true})
		require.NoError(t, err)
		again := Config{Input: back, Out: filepath.Join(dir, "again.bin"), Relabel: layout.OriginalNames, Memory: 2 * smallMemory}
		built, err := run(t, again)
		require.NoError(t, err, suffix)
		require.Equal(t, res.Fingerprint, built.Fingerprint, suffix)
	}
	again := Config{Input: filepath.Join(dir, "back.parquet"), Out: filepath.Join(dir, "again.bin"), Relabel: layout.OriginalIDs, Memory: 2 * smallMemory}
	_, err = run(t, again)
	require.ErrorContains(t, err, "--relabel names")
}
