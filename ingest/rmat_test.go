//go:build linux

package ingest

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"math"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/aether-ooc/aether-ooc/internal/npy"
)

func generate(t testing.TB, c RMATConfig) *RMATResult {
	t.Helper()
	res, err := RMAT(context.Background(), c)
	require.NoError(t, err)
	return res
}

func TestRMATIsTheSameInEveryForm(t *testing.T) {
	dir := t.TempDir()
	c := RMATConfig{Scale: 11, EdgeFactor: 32, Seed: 5}
	var want []pair
	k := newKronecker(11, 5)
	for i := range uint64(32 << 11) {
		src, dst := k.edge(i)
		want = append(want, pair{uint64(src), uint64(dst)})
	}
	for _, dtype := range []string{"", "int32", "uint32", "int64", "uint64"} {
		for _, workers := range []int{1, 2, 7} {
			c.Out, c.DType, c.Workers = filepath.Join(dir, "e.npy"), dtype, workers
			res := generate(t, c)
			requireNoStage(t, c.Out)
			st, err := os.Stat(c.Out)
			require.NoError(t, err)
			require.Equal(t, []int64{32 << 11, 1 << 11, st.Size()}, []int64{res.Edges, res.Nodes, res.Bytes})
			got, err := readAll(c.Out)
			require.NoError(t, err)
			require.True(t, textOf(want) == textOf(got), "%s, %d workers", dtype, workers)
			f, err := os.Open(c.Out)
			require.NoError(t, err)
			h, err := npy.ReadHeader(f)
			require.NoError(t, errors.Join(err, f.Close()))
			require.Equal(t, npy.Header{DType: res.DType, Size: h.Size, Shape: []int64{2, 32 << 11}, DataOff: 128}, h)
		}
	}
	var stdout bytes.Buffer
	for _, dtype := range []string{"", "int64"} {
		stdout.Reset()
		res := generate(t, RMATConfig{Scale: 11, EdgeFactor: 32, Seed: 5, Out: "-", Stdout: &stdout, DType: dtype, Workers: 3})
		require.Equal(t, int64(stdout.Len()), res.Bytes)
		got, err := readAll(writeFile(t, dir, "rows.npy", stdout.String()))
		require.NoError(t, err)
		require.True(t, textOf(want) == textOf(got))
	}
	stdout.Reset()
	res := generate(t, RMATConfig{Scale: 11, EdgeFactor: 32, Seed: 5, Out: "-", Format: FormatText, Stdout: &stdout, Workers: 3})
	require.True(t, textOf2(want) == stdout.String())
	require.Equal(t, int64(stdout.Len()), res.Bytes)
	generate(t, RMATConfig{Scale: 11, EdgeFactor: 32, Seed: 5, Out: filepath.Join(dir, "e.txt")})
	content, err := os.ReadFile(filepath.Join(dir, "e.txt"))
	require.NoError(t, err)
	require.True(t, stdout.String() == string(content))
}

func textOf2(edges []pair) string {
	return string(bytes.ReplaceAll([]byte(textOf(edges)), []byte("\t"), []byte(" ")))
}

// The known first edges hold the generator still: a graph made by one version
// must be the graph made by the next.
func TestRMATKnownEdges(t *testing.T) {
	k := newKronecker(20, 1)
	var got []pair
	for i := range uint64(4) {
		src, dst := k.edge(i)
		got = append(got, pair{uint64(src), uint64(dst)})
	}
	require.Equal(t, []pair{{509698, 264968}, {1031881, 30442}, {939096, 358776}, {834445, 843646}}, got)
}

// The first words of the reference implementation (Vigna, splitmix64.c) for
// seed 1234567.
func TestSplitMixKnownAnswers(t *testing.T) {
	for n, want := range []uint64{6457827717110365317, 3203168211198807973, 9817491932198370423, 4593380528125082431, 16408922859458223821} {
		require.Equal(t, want, splitMix(1234567).at(uint64(n)))
	}
}

func TestScrambleIsABijection(t *testing.T) {
	for width := range 17 {
		for seed := range uint64(5) {
			s := newScrambler(width, splitMix(seed))
			seen := make([]bool, 1<<width)
			for x := range uint64(1) << width {
				y := s.scramble(x)
				require.False(t, seen[y], "width %d", width)
				seen[y] = true
			}
		}
	}
}

// unscrambled gives the edges in the ids of the recursive matrix.
func unscrambled(scale int, n uint64) (edges []pair) {
	k := newKronecker(scale, 9)
	back := map[uint64]uint64{}
	for x := range uint64(1) << scale {
		back[uint64(k.names.scramble(x))] = x
	}
	for i := range n {
		src, dst := k.edge(i)
		edges = append(edges, pair{back[uint64(src)], back[uint64(dst)]})
	}
	return edges
}

// At every level the quarters are met in the proportions 57, 19, 19, 5, and
// levels are independent of each other: all 16 pairs of two levels fit too.
func TestRMATQuarters(t *testing.T) {
	const scale, n = 8, 400_000
	chance := [4]float64{0.57, 0.19, 0.19, 0.05}
	edges := unscrambled(scale, n)
	quarter := func(e pair, level int) int { return int(e[0]>>level&1<<1 | e[1]>>level&1) }
	for a := range scale {
		for b := range a {
			var seen [16]float64
			for _, e := range edges {
				seen[quarter(e, a)<<2|quarter(e, b)]++
			}
			chi := 0.0
			for i, s := range seen {
				want := n * chance[i>>2] * chance[i&3]
				chi += (s - want) * (s - want) / want
			}
			require.Less(t, chi, 45.0, "levels %d and %d", a, b) // 15 degrees of freedom: p < 1e-4
		}
	}
}

func TestSeedsDiffer(t *testing.T) {
	seen := map[pair]bool{}
	for seed := range uint64(100) {
		src, dst := newKronecker(30, seed).edge(0)
		seen[pair{uint64(src), uint64(dst)}] = true
	}
	require.Len(t, seen, 100)
}

func TestRMATOptions(t *testing.T) {
	dir := t.TempDir()
	out := filepath.Join(dir, "e.npy")
	for name, c := range map[string]RMATConfig{
		"scale -1":                {Scale: -1, EdgeFactor: 1, Out: out},
		"scale 57":                {Scale: 57, EdgeFactor: 1, Out: out},
		"edge factor -1":          {Scale: 3, EdgeFactor: -1, Out: out},
		"edge factor":             {Scale: 40, EdgeFactor: math.MaxInt64, Out: out},
		"no output given":         {Scale: 3, EdgeFactor: 1},
		"no standard output":      {Scale: 3, EdgeFactor: 1, Out: "-"},
		"workers":                 {Scale: 3, EdgeFactor: 1, Out: out, Workers: -1},
		"the suffix \".gz\"":      {Scale: 3, EdgeFactor: 1, Out: "e.gz"},
		"text has no dtype":       {Scale: 3, EdgeFactor: 1, Out: "e.txt", DType: "int32"},
		"format \"csv\"":          {Scale: 3, EdgeFactor: 1, Out: out, Format: "csv"},
		"dtype \"float32\"":       {Scale: 3, EdgeFactor: 1, Out: out, DType: "float32"},
		"cannot hold ids of scal": {Scale: 32, EdgeFactor: 1, Out: out, DType: "int32"},
		"is a folder":             {Scale: 3, EdgeFactor: 1, Out: dir, Format: FormatNPY},
	} {
		_, err := RMAT(context.Background(), c)
		require.ErrorIs(t, err, ErrOption, name)
		require.ErrorContains(t, err, name)
	}
	for scale, dtype := range map[int]string{31: "int32", 32: "int64", 56: "int64"} {
		c, err := RMATConfig{Scale: scale, EdgeFactor: 1, Out: out}.withDefaults()
		require.NoError(t, err)
		require.Equal(t, dtype, c.DType)
	}
}

func TestSmallestRMAT(t *testing.T) {
	dir := t.TempDir()
	for _, c := range []RMATConfig{{Scale: 0, EdgeFactor: 3}, {Scale: 1, EdgeFactor: 0}, {Scale: 1, EdgeFactor: 1}} {
		c.Out = filepath.Join(dir, "e.npy")
		res := generate(t, c)
		got, err := readAll(c.Out)
		require.NoError(t, err)
		require.Len(t, got, int(res.Edges))
		b, err := json.Marshal(res)
		require.NoError(t, err)
		require.Contains(t, string(b), `"edges":`)
		require.Contains(t, res.Text(), c.Out)
	}
}

func TestRMATStopsWithItsContext(t *testing.T) {
	dir := t.TempDir()
	ctx, cancel := context.WithCancel(context.Background())
	_, err := RMAT(ctx, RMATConfig{Scale: 30, EdgeFactor: 16, Out: filepath.Join(dir, "e.txt"), Progress: func(_ string, done, total int64) {
		require.Equal(t, int64(16<<30), total)
		cancel()
	}})
	require.ErrorIs(t, err, context.Canceled)
	left, err := os.ReadDir(dir)
	require.NoError(t, err)
	require.Empty(t, left)
}

func BenchmarkRMATEdge(b *testing.B) {
	k := newKronecker(24, 1)
	i := uint64(0)
	for b.Loop() {
		k.edge(i)
		i++
	}
}
