//go:build linux

package sampler

import (
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"sync"
	"testing"

	"github.com/aether-ooc/aether-ooc/blockcache"
	"github.com/aether-ooc/aether-ooc/internal/base"
	"github.com/aether-ooc/aether-ooc/internal/faultio"
	"github.com/aether-ooc/aether-ooc/internal/oracle"
	"github.com/aether-ooc/aether-ooc/layout"
	"github.com/aether-ooc/aether-ooc/uring"
	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// rig is an open graph with a cache, for any number of lanes.
type rig struct {
	lists [][]oracle.Entry
	graph *layout.Graph
	file  *uring.File
	cache *blockcache.Cache
	id    blockcache.FileID
	plan  *faultio.Plan // what befalls the lanes' reads, if anything
}

// zoo is made once: its hub is large.
var zoo = sync.OnceValue(oracle.Zoo)

func animal(t testing.TB, name string) oracle.Edges {
	t.Helper()
	i := slices.IndexFunc(zoo(), func(a oracle.Animal) bool { return a.Name == name })
	require.GreaterOrEqual(t, i, 0, name)
	return zoo()[i].Edges
}

// writeGraph writes graph.bin with the given lists, plain.
func writeGraph(t testing.TB, e oracle.Edges, lists [][]oracle.Entry) string {
	t.Helper()
	return writeEncoded(t, e, lists, layout.Plain)
}

func writeEncoded(t testing.TB, e oracle.Edges, lists [][]oracle.Entry, encoding layout.Encoding) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "graph.bin")
	f, err := os.Create(path)
	require.NoError(t, err)
	c := writerConfig(e, lists)
	c.Encoding = encoding
	w, err := layout.NewWriter(f, c)
	require.NoError(t, err)
	for v, list := range lists {
		require.NoError(t, w.List(base.NodeID(v), neighbours(list)))
	}
	if c.EdgeIDs == layout.EdgeIDsInput {
		for _, list := range lists {
			require.NoError(t, w.EdgeIDs(edgeIDs(list)))
		}
	}
	_, err = w.Finish(nil)
	require.NoError(t, err)
	require.NoError(t, f.Close())
	return path
}

func writerConfig(e oracle.Edges, lists [][]oracle.Entry) layout.WriterConfig {
	c := layout.WriterConfig{
		Nodes: uint64(e.Nodes), InputEdges: uint64(len(e.Src)),
		Undirected: e.Undirected, Dedup: e.Dedup, NoLoops: e.DropLoops,
	}
	if e.Out {
		c.Direction = layout.Out
	}
	switch {
	case e.Stored:
		c.EdgeIDs = layout.EdgeIDsStored
	case inOrder(lists, len(e.Src)):
		c.EdgeIDs = layout.EdgeIDsCanonical
	}
	return c
}

// inOrder: the input's rows are in canonical order.
func inOrder(lists [][]oracle.Entry, rows int) bool {
	n := int64(0)
	for _, list := range lists {
		for _, x := range list {
			if x.ID != n {
				return false
			}
			n++
		}
	}
	return int(n) == rows
}

func neighbours(list []oracle.Entry) (out []base.NodeID) {
	for _, x := range list {
		out = append(out, base.NodeID(x.Neighbour))
	}
	return out
}

func edgeIDs(list []oracle.Entry) (out []base.EdgeID) {
	for _, x := range list {
		out = append(out, base.EdgeID(x.ID))
	}
	return out
}

// newRig writes the edges as a graph and opens it with so many slots and lanes.
func newRig(t testing.TB, e oracle.Edges, c blockcache.Config) *rig {
	t.Helper()
	lists := e.Lists()
	r := openRig(t, writeGraph(t, e, lists), c)
	r.lists = lists
	return r
}

func openRig(t testing.TB, path string, c blockcache.Config) *rig {
	t.Helper()
	f, err := uring.OpenFile(path, uring.Buffered)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, f.Close()) })
	g, err := layout.OpenGraph(f, f.Size(), path)
	require.NoError(t, err)
	cache, err := blockcache.New(c)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, cache.Close()) })
	return &rig{graph: g, file: f, cache: cache, id: cache.AddFile(f, g.CheckBlock)}
}

// run gives each of so many lanes, each on a thread of its own, to fn. A lane
// must not be made twice: one run for each rig.
func (r *rig) run(t testing.TB, lanes int, fn func(lane int, s *Sampler) error) {
	t.Helper()
	errs := make([]error, lanes)
	var wg sync.WaitGroup
	for i := range lanes {
		wg.Add(1)
		go func() {
			defer wg.Done()
			errs[i] = r.runLane(i, fn)
		}()
	}
	wg.Wait()
	for i, err := range errs {
		require.NoError(t, err, "lane %d", i)
	}
}

func (r *rig) runLane(i int, fn func(lane int, s *Sampler) error) (err error) {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	ring, err := uring.Open(uring.Config{Depth: 16})
	if err != nil {
		return err
	}
	if r.plan != nil {
		ring = faultio.Wrap(ring, r.plan)
	}
	defer func() {
		if n := ring.InFlight(); n > 0 && err == nil {
			err = fmt.Errorf("%d reads in flight after the last batch", n)
		}
		if e := ring.Close(); err == nil {
			err = e
		}
	}()
	return fn(i, New(r.graph, Files{r.id, r.id}, r.cache.NewLane(ring)))
}

// one is run with one lane, whose errors are the test's.
func (r *rig) one(t testing.TB, fn func(s *Sampler)) {
	t.Helper()
	r.run(t, 1, func(_ int, s *Sampler) error { fn(s); return nil })
}

// batchOf is the subgraph as the oracle gives it.
func batchOf(g *Subgraph) oracle.Batch {
	full := func(s []int64) []int64 { return append([]int64{}, s...) }
	return oracle.Batch{
		NID: full(g.NID), Row: full(g.Row), Col: full(g.Col), EID: full(g.EID),
		SampledNodes: full(g.SampledNodes), SampledEdges: full(g.SampledEdges),
	}
}
