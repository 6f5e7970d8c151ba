package bench

import (
	"fmt"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/cockroachdb/datadriven"
	"github.com/stretchr/testify/require"

	"github.com/aether-ooc/aether-ooc/ingest"
	"github.com/aether-ooc/aether-ooc/internal/invariants"
)

// TestCounts guards what does not depend on the machine: what a fixed graph,
// seed and budget make the engine read. A commit that changes a count says so by
// rewriting testdata/counts (go test ./bench -run TestCounts -rewrite).
//
// The runs have one lane, and either room for all blocks or one read in flight:
// else what is evicted would hang on the order in which reads arrive. System calls
// and allocations are only bounded, by max-syscalls and max-allocs.
func TestCounts(t *testing.T) {
	dir := t.TempDir()
	edges, graph := filepath.Join(dir, "edges.npy"), filepath.Join(dir, "graph.bin")
	_, err := ingest.RMAT(t.Context(), ingest.RMATConfig{Scale: 14, EdgeFactor: 16, Seed: 1, Out: edges})
	require.NoError(t, err)
	x := filepath.Join(dir, "x.npy")
	require.NoError(t, (&LayoutConfig{Rows: 1 << 14, Dim: 32, DType: "float32", Seed: 1}).make(x, env{}))
	_, err = ingest.Run(t.Context(), ingest.Config{Input: edges, Out: graph, Features: x})
	require.NoError(t, err)

	datadriven.RunTest(t, "testdata/counts", func(t *testing.T, d *datadriven.TestData) string {
		s := settingsOf(t, "sample", "target="+graph+" seed=1 lanes=1 lockstep=1 resident=off policy=clock calibrate=0 batches=16 batch-size=256 ramp=0")
		for _, line := range strings.Fields(d.Input) {
			name, word, _ := strings.Cut(line, "=")
			require.NoError(t, s.Set(name, word))
		}
		doc, err := Run(t.Context(), []Section{{"counts", s}}, Hooks{})
		require.NoError(t, err)
		r := doc.single().(*SampleResult)
		checkBounds(t, d, r)
		return counts(r)
	})
}

func counts(r *SampleResult) string {
	return fmt.Sprintf("batches %d\nedges %d\nnodes %d\nblocks asked %d\nreads %d\nbytes read %d\nbytes used %d\n",
		r.Batches, r.SampledEdges, r.SampledNodes, r.Blocks, r.Reads, r.ReadBytes, r.UsedBytes)
}

func checkBounds(t *testing.T, d *datadriven.TestData, r *SampleResult) {
	bound := func(name string) float64 {
		var word string
		d.ScanArgs(t, name, &word)
		n, err := strconv.ParseFloat(word, 64)
		require.NoError(t, err)
		return n
	}
	t.Logf("%d syscalls, %.0f allocations a batch", r.Syscalls, r.AllocsPerBatch)
	if r.Info.Backend == "uring" {
		require.LessOrEqual(t, float64(r.Syscalls), bound("max-syscalls"), d.Pos)
	}
	if !invariants.Enabled {
		require.LessOrEqual(t, r.AllocsPerBatch, bound("max-allocs"), d.Pos)
	}
}
