package inspect

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/aether-ooc/aether-ooc/internal/base"
	"github.com/aether-ooc/aether-ooc/layout"
)

// Parquet, .npy and .npz are read back by pyarrow, NumPy and SciPy: see
// python/tests/test_export.py.

// lines are the fixture's edges as text.
func (x *fixture) lines(ids bool) string {
	var b strings.Builder
	for i, e := range x.edges {
		src, dst := e.nbr, e.node
		if x.c.Direction == layout.Out {
			src, dst = dst, src
		}
		fmt.Fprintf(&b, "%d\t%d", src, dst)
		if ids {
			fmt.Fprintf(&b, "\t%d", x.idOf(i))
		}
		b.WriteByte('\n')
	}
	return b.String()
}

// idOf is e_id of the i-th edge in canonical order.
func (x *fixture) idOf(i int) base.EdgeID {
	if x.c.EdgeIDs == layout.EdgeIDsInput {
		return x.edges[i].id
	}
	return base.EdgeID(i)
}

var exportConfigs = map[string]layout.WriterConfig{
	"in": {}, "out": {Direction: layout.Out}, "stored": {EdgeIDs: layout.EdgeIDsStored}, "undirected": {Undirected: true},
}

func TestExportText(t *testing.T) {
	for name, c := range exportConfigs {
		for _, ids := range []bool{false, true} {
			t.Run(fmt.Sprint(name, ids), func(t *testing.T) {
				x := small(t, c)
				var b bytes.Buffer
				r, err := Export(context.Background(), ExportConfig{Path: x.path, EdgeIDs: ids, Stdout: &b})
				require.NoError(t, err)
				require.EqualValues(t, len(x.edges), r.Edges)
				head, rest, _ := strings.Cut(b.String(), "\n")
				require.Contains(t, head, "--num-nodes 300")
				require.Equal(t, x.lines(ids), rest)
			})
		}
	}
}

func TestExportOfNothing(t *testing.T) {
	x := build(t, layout.WriterConfig{Nodes: 3}, nil)
	for _, suffix := range []string{".txt", ".npy", ".npz", ".parquet"} {
		out := filepath.Join(t.TempDir(), "x"+suffix)
		r, err := Export(context.Background(), ExportConfig{Path: x.path, Out: out, EdgeIDs: true})
		require.NoError(t, err)
		require.Zero(t, r.Edges)
		require.FileExists(t, out)
	}
}

func TestExportLeavesNothingBehind(t *testing.T) {
	x := small(t, layout.WriterConfig{})
	b, err := os.ReadFile(x.path)
	require.NoError(t, err)
	b[base.BlockSize+100] ^= 1 // of the first adjacency block
	require.NoError(t, os.WriteFile(x.path, b, 0o600))
	for _, x1 := range exports {
		dir := t.TempDir()
		_, err := Export(context.Background(), ExportConfig{Path: x.path, Out: filepath.Join(dir, "x"+x1.suffix)})
		require.ErrorIs(t, err, layout.ErrCorrupt)
		left, err := os.ReadDir(dir)
		require.NoError(t, err)
		require.Empty(t, left)
	}
}

func TestExportRefuses(t *testing.T) {
	x := small(t, layout.WriterConfig{})
	for want, c := range map[string]ExportConfig{
		"names no format":     {Out: "x.dat"},
		"there is no format":  {Out: "x.dat", Format: "dot"},
		"name a file":         {Format: FormatCSR},
		"is an input too":     {Out: x.path, Format: FormatNPY},
		"choose a folder":     {Out: filepath.Join(t.TempDir(), "none", "x.npy")},
		"choose one of csr, ": {Out: "x", Format: "dot"},
	} {
		c.Path = x.path
		_, err := Export(context.Background(), c)
		require.ErrorContains(t, err, want)
	}
}

func TestExportStops(t *testing.T) {
	x := small(t, layout.WriterConfig{})
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	dir := t.TempDir()
	_, err := Export(ctx, ExportConfig{Path: x.path, Out: filepath.Join(dir, "x.npz")})
	require.ErrorIs(t, err, context.Canceled)
	left, err := os.ReadDir(dir)
	require.NoError(t, err)
	require.Empty(t, left)
}

func TestExtract(t *testing.T) {
	for name, c := range exportConfigs {
		t.Run(name, func(t *testing.T) {
			x := small(t, c)
			nodes := []base.NodeID{299, 5, 0, 7, 7}
			want := ""
			for _, v := range nodes {
				var nbrs, ids []string
				for i, e := range x.edges {
					if e.node == v {
						nbrs, ids = append(nbrs, fmt.Sprint(e.nbr)), append(ids, fmt.Sprint(x.idOf(i)))
					}
				}
				want += fmt.Sprintf("%d\t%d\t%s\t%s\n", v, len(nbrs), strings.Join(nbrs, " "), strings.Join(ids, " "))
			}
			var b bytes.Buffer
			require.NoError(t, Extract(context.Background(), ExtractConfig{Path: x.path, Nodes: nodes, EdgeIDs: true, Out: &b}))
			require.Equal(t, want, b.String())
		})
	}
	x := small(t, layout.WriterConfig{})
	var b bytes.Buffer
	require.NoError(t, Extract(context.Background(), ExtractConfig{Path: x.path, Nodes: []base.NodeID{2, 1}, JSON: true, Out: &b}))
	require.Equal(t, `{"node":2,"degree":1,"neighbours":[2]}`+"\n"+`{"node":1,"degree":0,"neighbours":[]}`+"\n", b.String())
	err := Extract(context.Background(), ExtractConfig{Path: x.path, Nodes: []base.NodeID{1, 300}, Out: &b})
	require.ErrorIs(t, err, ErrOption)
	require.ErrorContains(t, err, "node 300")
}

func TestDegreeHistogram(t *testing.T) {
	x := small(t, layout.WriterConfig{})
	r, err := Run(context.Background(), Config{Path: x.path, Degrees: true})
	require.NoError(t, err)
	var nodes, edges uint64
	for _, d := range r.Degrees.Histogram {
		nodes, edges = nodes+d.Nodes, edges+d.Edges
	}
	require.Equal(t, []uint64{r.Nodes, r.Edges}, []uint64{nodes, edges})
	h := r.Degrees.Histogram
	require.Equal(t, DegreeRange{0, 0, 294, 0}, h[0])
	require.Equal(t, DegreeRange{1, 1, 4, 4}, h[1])
	require.Equal(t, DegreeRange{2, 3, 1, 2}, h[2])
	require.Equal(t, DegreeRange{2048, 4095, 1, 3000}, h[len(h)-1])
	require.Contains(t, r.Text(), "2,048–4,095")
}
