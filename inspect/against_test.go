package inspect

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/aether-ooc/aether-ooc/ingest/source"
	"github.com/aether-ooc/aether-ooc/internal/base"
	"github.com/aether-ooc/aether-ooc/layout"
)

// input writes rows as the edge list that x was built from.
func (x *fixture) input(t *testing.T, rows []row) source.Config {
	t.Helper()
	var b strings.Builder
	for _, r := range rows {
		src, dst := r.nbr, r.node
		if x.c.Direction == layout.Out {
			src, dst = dst, src
		}
		fmt.Fprintf(&b, "%d %d\n", src, dst)
	}
	path := filepath.Join(t.TempDir(), "edges.txt")
	require.NoError(t, os.WriteFile(path, []byte(b.String()), 0o600))
	return source.Config{Inputs: []string{path}, Workers: 2}
}

func (x *fixture) against(t *testing.T, rows []row, memory int64) (*VerifyResult, error) {
	t.Helper()
	return Verify(context.Background(), Config{Path: x.path, Memory: memory, Against: x.input(t, rows)})
}

func TestVerifyAgainstItsInput(t *testing.T) {
	for name, c := range map[string]layout.WriterConfig{
		"in": {}, "out": {Direction: layout.Out}, "stored": {EdgeIDs: layout.EdgeIDsStored}, "undirected": {Undirected: true},
		"both": {Undirected: true, EdgeIDs: layout.EdgeIDsStored}, "compact": {Encoding: layout.Compact},
	} {
		t.Run(name, func(t *testing.T) {
			x := small(t, c)
			for _, memory := range []int64{1, 10 * perEdge, 1000 * perEdge, 1 << 20} {
				var last, total int64
				r, err := Verify(context.Background(), Config{Path: x.path, Memory: memory, Against: x.input(t, x.rows), Progress: func(d, all int64) { last, total = d, all }})
				require.NoError(t, err)
				require.LessOrEqual(t, last, total)
				require.Contains(t, r.Text(), "edges.txt")
			}
		})
	}
	x := build(t, layout.WriterConfig{Nodes: 1 << 26}, []row{{1 << 25, 3}, {1<<26 - 1, 0}})
	_, err := x.against(t, x.rows, 0)
	require.NoError(t, err)
	_, err = x.against(t, x.rows[:1], 0)
	require.ErrorContains(t, err, "0 → 67108863 (e_id 1)")
}

func TestVerifyAgainstAnotherInput(t *testing.T) {
	for name, c := range map[string]layout.WriterConfig{"in": {}, "out": {Direction: layout.Out}, "stored": {EdgeIDs: layout.EdgeIDsStored}, "undirected": {Undirected: true}} {
		t.Run(name, func(t *testing.T) {
			x := small(t, c)
			at := slices.Index(x.rows, row{9, 299})
			for what, change := range map[string]func([]row) []row{
				"a row less":      func(r []row) []row { return slices.Delete(r, at, at+1) },
				"a row more":      func(r []row) []row { return append(r, row{9, 299}) },
				"a new edge":      func(r []row) []row { return append(r, row{0, 0}) },
				"another target":  func(r []row) []row { r[at].node = 10; return r },
				"another source":  func(r []row) []row { r[at].nbr = 298; return r },
				"beyond the rest": func(r []row) []row { r[at].nbr = 300; return r },
			} {
				for _, memory := range []int64{1, 1 << 20} {
					_, err := x.against(t, change(slices.Clone(x.rows)), memory)
					require.Error(t, err, what)
				}
			}
			if c.EdgeIDs == layout.EdgeIDsInput {
				swapped := slices.Clone(x.rows)
				other := slices.Index(x.rows, row{2, 2})
				swapped[at], swapped[other] = swapped[other], swapped[at]
				_, err := x.against(t, swapped, 0)
				require.ErrorIs(t, err, layout.ErrCorrupt)
				require.ErrorContains(t, err, "but not with e_id")
			}
		})
	}
}

func TestVerifyAgainstDropsWhatTheGraphDropped(t *testing.T) {
	rows := []row{{1, 2}, {1, 2}, {3, 3}, {1, 0}, {3, 1}, {1, 2}}
	x := &fixture{path: filepath.Join(t.TempDir(), "g.bin"), c: layout.WriterConfig{Nodes: 4, InputEdges: 6, Dedup: true, NoLoops: true}}
	x.edges = []edge{{row{1, 0}, 3}, {row{1, 2}, 0}, {row{3, 1}, 4}}
	x.write(t, nil)
	_, err := x.against(t, rows, 0)
	require.NoError(t, err)
	_, err = x.against(t, append([]row{{1, 2}}, rows...), 0)
	require.ErrorContains(t, err, "e_id")

	x.edges[1].id = base.EdgeID(1) // not the lowest
	x.write(t, nil)
	_, err = x.against(t, rows, 0)
	require.ErrorContains(t, err, "row 0")
}
