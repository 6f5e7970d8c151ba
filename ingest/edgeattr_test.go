//go:build linux

package ingest

import (
	"context"
	"encoding/binary"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/aether-ooc/aether-ooc/ingest/source"
	"github.com/aether-ooc/aether-ooc/inspect"
	"github.com/aether-ooc/aether-ooc/internal/npy"
	"github.com/aether-ooc/aether-ooc/layout"
)

// words reads a .npy of 64-bit values.
func words(t *testing.T, path, dtype string) (list []uint64) {
	t.Helper()
	b, err := os.ReadFile(path)
	require.NoError(t, err)
	h, err := npy.ParseHeader(b)
	require.NoError(t, err)
	require.Equal(t, dtype, h.DType)
	for b = b[h.DataOff:]; len(b) > 0; b = b[8:] {
		list = append(list, binary.LittleEndian.Uint64(b))
	}
	require.Len(t, list, int(h.Shape[0]))
	return list
}

func TestWeightsAndTimesLieBesideTheGraph(t *testing.T) {
	var text strings.Builder
	const rows = 1000
	for i := range rows {
		fmt.Fprintf(&text, "%d,%d,%d,%g\n", i%7, i*i%13, 1<<60+i, float64(i)/8) // many parallel edges, some loops
	}
	for name, c := range map[string]Config{
		"plain":      {},
		"fewer":      {Dedup: true, DropSelfLoops: true},
		"undirected": {Undirected: true},
		"relabelled": {Relabel: layout.OriginalIDs, Memory: 256 << 20},
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			input := filepath.Join(dir, "edges.csv")
			require.NoError(t, os.WriteFile(input, []byte(text.String()), 0o600))
			c.Out = filepath.Join(dir, "g.bin")
			c.Source = source.Config{Inputs: []string{input}, Columns: []string{"1", "2", "4", "3"}}
			_, err := Run(context.Background(), c)
			require.NoError(t, err)
			weights, times := words(t, c.Out+".edge.weight.npy", "float64"), words(t, c.Out+".edge.time.npy", "int64")
			require.Len(t, weights, rows)
			for i := range rows {
				require.Equal(t, float64(i)/8, math.Float64frombits(weights[i]))
				require.EqualValues(t, 1<<60+i, times[i])
			}
			_, err = inspect.Verify(context.Background(), inspect.Config{Path: c.Out})
			require.NoError(t, err)
			left, err := os.ReadDir(dir)
			require.NoError(t, err)
			require.Len(t, left, 6) // the input, the graph, two arrays with their sums
		})
	}
}

func TestMergeRefusesWhatNewRowsDoNotHave(t *testing.T) {
	dir := t.TempDir()
	input := filepath.Join(dir, "edges.csv")
	require.NoError(t, os.WriteFile(input, []byte("0,1,0.5\n1,2,0.25\n"), 0o600))
	base := filepath.Join(dir, "g.bin")
	weighted := source.Config{Inputs: []string{input}, Columns: []string{"1", "2", "3"}}
	_, err := Run(context.Background(), Config{Out: base, Source: weighted})
	require.NoError(t, err)
	more := MergeConfig{Base: base, Out: filepath.Join(dir, "new.bin"), Source: source.Config{Inputs: []string{input}}}
	_, err = Merge(context.Background(), more)
	require.ErrorIs(t, err, ErrOption)
	require.ErrorContains(t, err, "--drop-attachments")
	more.DropAttachments, more.Source.Columns = true, weighted.Columns
	_, err = Merge(context.Background(), more)
	require.ErrorContains(t, err, "weight")
	more.Source.Columns = weighted.Columns[:2]
	_, err = Merge(context.Background(), more)
	require.NoError(t, err)
}
