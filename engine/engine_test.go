package engine_test

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"runtime"
	"slices"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/aether-ooc/aether-ooc/engine"
	"github.com/aether-ooc/aether-ooc/internal/base"
	"github.com/aether-ooc/aether-ooc/internal/oracle"
	"github.com/aether-ooc/aether-ooc/internal/rng"
	"github.com/aether-ooc/aether-ooc/layout"
	"github.com/aether-ooc/aether-ooc/sampler"
)

func open(t testing.TB, path string, o engine.Options) *engine.Engine {
	t.Helper()
	e, err := engine.Open(path, o)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, e.Close()) })
	return e
}

// least is the smallest budget that opens the graph.
func least(t testing.TB, path string, o engine.Options) int64 {
	t.Helper()
	o.Memory = 1
	_, err := engine.Open(path, o)
	var be *engine.BudgetError
	require.ErrorAs(t, err, &be)
	require.ErrorIs(t, err, engine.ErrOverBudget)
	return be.Least
}

// want is the batch that the oracle makes; it is asked once for each.
func (f *fixture) want(r engine.Request, number base.BatchIdx, seeds []base.NodeID) oracle.Batch {
	question := fmt.Sprint(r.Fanouts, r.Replace, r.Seed, r.Epoch, number, seeds)
	if b, ok := f.answers.Load(question); ok {
		return b.(oracle.Batch)
	}
	key := rng.BatchKey(f.print, r.Seed, r.Epoch, uint64(number))
	b := oracle.Sample(f.lists, key, seeds, r.Fanouts, r.Replace)
	f.answers.Store(question, b)
	return b
}

// check compares a batch with the oracle's and with the files of rows.
func (f *fixture) check(t testing.TB, r engine.Request, b *engine.Batch, want oracle.Batch) {
	t.Helper()
	same(t, want.NID, b.NID)
	same(t, want.Row, b.Row)
	same(t, want.Col, b.Col)
	if r.EdgeIDs {
		same(t, want.EID, b.EID)
	}
	require.Equal(t, r.EdgeIDs, b.EID != nil)
	require.Equal(t, want.SampledNodes, b.SampledNodes)
	require.Equal(t, want.SampledEdges, b.SampledEdges)
	require.Equal(t, f.print, b.Fingerprint)
	require.Equal(t, "philox4x32-10/1", b.Generator)
	require.Equal(t, r.Epoch, b.Epoch)
	if r.Features && f.x != nil {
		require.Equal(t, engine.Rows{Data: rowsOf(f.x, featureDim*4, want.NID), Dim: featureDim, DType: "float32"}, b.X)
	} else {
		require.Equal(t, engine.Rows{}, b.X)
	}
	require.Len(t, b.Attrs, len(r.Attrs))
	for _, a := range b.Attrs {
		require.Equal(t, engine.Attr{Name: "y", Rows: engine.Rows{Data: rowsOf(f.y, 8, want.NID), DType: "int64"}}, a)
	}
}

// same compares lists; none and empty are the same.
func same(t testing.TB, want, got []int64) {
	t.Helper()
	if !slices.Equal(want, got) {
		require.Equal(t, want, got)
	}
}

func rowsOf(data []byte, size int64, nodes []int64) []byte {
	out := []byte{}
	for _, v := range nodes {
		out = append(out, data[v*size:][:size]...)
	}
	return out
}

// checkAll runs through the request's batches and compares each.
func (f *fixture) checkAll(t testing.TB, e *engine.Engine, r engine.Request) {
	t.Helper()
	ep := oracle.Epoch{N: f.edges.Nodes, BatchSize: int64(r.BatchSize), Shuffle: r.Shuffle, DropLast: r.DropLast,
		Rank: int64(r.Rank), World: max(1, int64(r.WorldSize)), Uneven: r.Uneven.String(), Seed: r.Seed, Epoch: r.Epoch}
	if r.Nodes != nil {
		ep.N = int64(len(r.Nodes))
	}
	list := ep.Batches(f.print)
	n, err := e.NumBatches(r)
	require.NoError(t, err)
	require.Len(t, list, int(n))
	i := 0
	for b, err := range e.Batches(t.Context(), r) {
		require.NoError(t, err)
		var seeds []base.NodeID
		for _, at := range list[i].At {
			seeds = append(seeds, nodeAt(r.Nodes, at))
		}
		require.Equal(t, list[i].Index, b.Index)
		require.Equal(t, list[i].At, b.InputID)
		f.check(t, r, b, f.want(r, b.Index, seeds))
		if i%2 == 0 {
			b.Release()
		}
		i++
	}
	require.Len(t, list, i)
}

func nodeAt(nodes []base.NodeID, at int64) base.NodeID {
	if nodes == nil {
		return base.NodeID(at)
	}
	return nodes[at]
}

// requests covers the ways to ask, in batches that suit the graph.
func requests(f *fixture) []engine.Request {
	n := int(f.edges.Nodes)
	rs := []engine.Request{
		{Fanouts: []int{3, 2}, BatchSize: min(max(1, n/3), 3000), EdgeIDs: true, Features: true},
		{Fanouts: []int{2, -1}, BatchSize: min(max(1, n/2), 3000), Replace: true, Shuffle: true, Seed: 5, Epoch: 1 << 40, WorldSize: 3, Rank: 2},
	}
	if n > 0 {
		var nodes []base.NodeID
		for i := range 40 {
			nodes = append(nodes, base.NodeID(i*i*7919%n))
		}
		rs = append(rs, engine.Request{Nodes: nodes, Fanouts: []int{-1, 4, 2}, BatchSize: 3, EdgeIDs: true, Features: true, Seed: 1, Shuffle: true})
	}
	for i := range rs {
		if f.y != nil {
			rs[i].Attrs = []string{"y"}
		}
	}
	return rs
}

// The same batches come out of every configuration, and they are the oracle's.
func TestBatchesAreTheOracles(t *testing.T) {
	configs := []engine.Options{
		{Lanes: 1},
		{Lanes: 3, Depth: 4, Policy: "clock"},
		{Lanes: 2, Depth: 1, Backend: "pread", Merge: 4},
		{Lanes: 2, Backend: "pread", Buffered: true, Policy: "clock", Memory: 1},
		{Lanes: 2, Memory: 1},
		{Memory: 8 << 20, Merge: 8},
		{Lanes: 1, Resident: engine.ResidentOff},
		{Lanes: 1, Lockstep: 1, Resident: engine.ResidentOff},
		{Lanes: 2, Lockstep: 3, Policy: "clock", Resident: engine.ResidentOff},
		{Lanes: 3, Depth: 4, Policy: "clock", Resident: engine.ResidentOff},
	}
	for _, a := range oracle.Zoo() {
		t.Run(a.Name, func(t *testing.T) {
			plain := build(t, a.Edges, a.Edges.Nodes > 0)
			compact := buildEncoded(t, a.Edges, a.Edges.Nodes > 0, layout.Compact)
			for i, o := range configs {
				f := []*fixture{plain, compact}[i%2]
				switch o.Memory {
				case 0:
					o.Memory = 256 << 20
				case 1:
					o.Memory = least(t, f.path, o)
				}
				e := open(t, f.path, o)
				for _, r := range requests(f) {
					f.checkAll(t, e, r)
				}
				require.NoError(t, e.Close())
			}
		})
	}
}

func TestManyRequestsAtOnce(t *testing.T) {
	f := build(t, animal(t, "rmat"), true)
	tight := engine.Options{Lanes: 3, Memory: least(t, f.path, engine.Options{Lanes: 3})}
	for _, o := range []engine.Options{{Memory: 64 << 20, Lanes: 3}, tight} {
		e := open(t, f.path, o)
		var wg sync.WaitGroup
		for range 2 {
			for _, r := range requests(f) {
				wg.Go(func() { f.checkAll(t, e, r) })
			}
		}
		wg.Wait()
		if o.Memory == tight.Memory {
			require.NotZero(t, e.Stats().Alone)
		}
	}
}

func TestSample(t *testing.T) {
	f := build(t, animal(t, "rmat"), true)
	e := open(t, f.path, engine.Options{Memory: 32 << 20})
	r := engine.Request{Fanouts: []int{3, 2}, Seed: 9, EdgeIDs: true, Features: true, Attrs: []string{"y"}}
	seeds := []base.NodeID{7, 3, 7, 500}
	a, err := e.Sample(t.Context(), seeds, r)
	require.NoError(t, err)
	key := rng.BatchKey(f.print, r.Seed, 0, engine.SeedHash(r.Seed, seeds))
	f.check(t, r, a, oracle.Sample(f.lists, key, seeds, r.Fanouts, false))
	require.Equal(t, base.BatchIdx(-1), a.Index)
	require.Equal(t, []int64{0, 1, 2, 3}, a.InputID)

	r.InputIDs = []int64{9, 8, 7, 6}
	b, err := e.Sample(t.Context(), seeds, r)
	require.NoError(t, err)
	require.Equal(t, a.Subgraph, b.Subgraph)
	require.Equal(t, r.InputIDs, b.InputID)

	r.InputIDs = nil
	none, err := e.Sample(t.Context(), nil, r)
	require.NoError(t, err)
	require.Empty(t, none.NID)
	_, err = e.Sample(t.Context(), []base.NodeID{1, 1 << 40}, r)
	require.ErrorIs(t, err, sampler.ErrUnknownNode)
}

func TestRequestsAreRefused(t *testing.T) {
	f := build(t, animal(t, "rmat"), true)
	e := open(t, f.path, engine.Options{Memory: 32 << 20})
	before := e.Stats()
	for _, c := range []struct {
		r    engine.Request
		text string
	}{
		{engine.Request{BatchSize: 1}, "Fanouts is empty"},
		{engine.Request{BatchSize: 1, Fanouts: []int{2, -2}}, "fanout -2"},
		{engine.Request{BatchSize: 1, Fanouts: make([]int, 300)}, "at most 255"},
		{engine.Request{Fanouts: []int{1}}, "BatchSize is 0"},
		{engine.Request{BatchSize: 1, Fanouts: []int{1}, Nodes: []base.NodeID{512}}, "0 … 511"},
		{engine.Request{BatchSize: 1, Fanouts: []int{1}, Attrs: []string{"z"}}, "it has y"},
		{engine.Request{BatchSize: 1, Fanouts: []int{1}, Attrs: []string{"y", "y"}}, "once"},
	} {
		var re *engine.RequestError
		n := 0
		for b, err := range e.Batches(t.Context(), c.r) {
			require.Nil(t, b)
			require.ErrorContains(t, err, c.text)
			require.ErrorAs(t, err, &re)
			n++
		}
		require.Equal(t, 1, n)
		_, err := e.NumBatches(c.r)
		require.ErrorContains(t, err, c.text)
	}
	require.Equal(t, before, e.Stats())
	f.checkAll(t, e, requests(f)[0])
}

// A batch whose seeds alone are too large is refused, with the budget that
// would do; and that budget does.
func TestBatchBeyondAllBudget(t *testing.T) {
	f := build(t, animal(t, "isolated"), true)
	o := engine.Options{Lanes: 1, Memory: least(t, f.path, engine.Options{Lanes: 1})}
	r := engine.Request{Fanouts: []int{1}, BatchSize: 5000, Features: true, Attrs: []string{"y"}, Nodes: make([]base.NodeID, 5000)}
	for range 8 {
		r.Nodes = append(r.Nodes, r.Nodes...)
	}
	r.BatchSize = len(r.Nodes)
	e := open(t, f.path, o)
	_, err := e.NumBatches(r)
	var be *engine.BudgetError
	require.ErrorAs(t, err, &be)
	require.Greater(t, be.Least, o.Memory)
	require.NoError(t, e.Close())

	o.Memory = be.Least - 1
	e = open(t, f.path, o)
	_, err = e.NumBatches(r)
	require.ErrorIs(t, err, engine.ErrOverBudget)
	require.NoError(t, e.Close())

	o.Memory = be.Least
	e = open(t, f.path, o)
	n, err := e.NumBatches(r)
	require.NoError(t, err)
	require.Equal(t, int64(1), n)
}

// A batch whose size only sampling shows is refused when it would exhaust the
// machine, and the engine goes on.
func TestBatchThatGrowsBeyondAllBudget(t *testing.T) {
	f := build(t, animal(t, "rmat"), true)
	e := open(t, f.path, engine.Options{Lanes: 1, Memory: least(t, f.path, engine.Options{Lanes: 1})})
	seeds := make([]base.NodeID, 64)
	for i := range seeds {
		seeds[i] = base.NodeID(i)
	}
	for _, fanouts := range [][]int{{100_000}, {4000, 4000}} {
		r := engine.Request{Nodes: seeds, Fanouts: fanouts, BatchSize: len(seeds), Replace: true, EdgeIDs: true}
		var refused error
		for _, err := range e.Batches(context.Background(), r) {
			refused = err
		}
		require.ErrorIs(t, refused, sampler.ErrTooLarge)
		require.ErrorContains(t, refused, "smaller batch size or fanout, or a larger budget")
	}
	require.Less(t, e.Stats().LargestMem, int64(128<<20))
	f.checkAll(t, e, requests(f)[0])
}

func TestCancelInEveryPhase(t *testing.T) {
	f := build(t, animal(t, "hub"), true)
	e := open(t, f.path, engine.Options{Memory: 16 << 20, Lanes: 2})
	r := engine.Request{Fanouts: []int{10, 10}, BatchSize: 512, EdgeIDs: true, Features: true}
	for stop := range 6 {
		ctx, cancel := context.WithCancelCause(t.Context())
		defer cancel(nil)
		why := errors.New("enough")
		if stop == 0 {
			cancel(why)
		}
		n, ended := 0, error(nil)
		for b, err := range e.Batches(ctx, r) {
			if err != nil {
				ended = err
				require.Nil(t, b)
				continue
			}
			if n++; n == stop {
				cancel(why)
			}
		}
		require.ErrorIs(t, ended, why)
		require.Equal(t, stop, n)
	}
	for stop := range 4 { // leaving the loop early
		n := 0
		for _, err := range e.Batches(t.Context(), r) {
			require.NoError(t, err)
			if n++; n > stop {
				break
			}
		}
	}
	func() { // and by a panic of the consumer's
		defer func() { require.Equal(t, "mine", recover()) }()
		for range e.Batches(t.Context(), r) {
			panic("mine")
		}
	}()
	f.checkAll(t, e, engine.Request{Fanouts: []int{2}, BatchSize: 20_000})
}

func TestSlowConsumer(t *testing.T) {
	f := build(t, animal(t, "rmat"), false)
	e := open(t, f.path, engine.Options{Memory: 4 << 20, Lanes: 2})
	r := engine.Request{Fanouts: []int{5, 5}, BatchSize: 4}
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	for range e.Batches(ctx, r) { // asleep in its first batch while others run
		for range 3 {
			f.checkAll(t, e, engine.Request{Fanouts: []int{3, 3}, BatchSize: 64})
		}
		break
	}
}

func TestClose(t *testing.T) {
	f := build(t, animal(t, "rmat"), true)
	e := open(t, f.path, engine.Options{Memory: 16 << 20, Lanes: 2})
	r := engine.Request{Fanouts: []int{5, 5}, BatchSize: 4, Features: true}
	var kept *engine.Batch
	var ended error
	for b, err := range e.Batches(t.Context(), r) {
		if err != nil {
			ended = err
			break
		}
		kept = b
		require.NoError(t, e.Close()) // from within the loop
	}
	require.ErrorIs(t, ended, engine.ErrClosed)
	require.NoError(t, e.Close())
	f.check(t, r, kept, f.want(r, 0, []base.NodeID{0, 1, 2, 3}))
	kept.Release()

	for _, err := range e.Batches(t.Context(), r) {
		require.ErrorIs(t, err, engine.ErrClosed)
	}
	_, err := e.Sample(t.Context(), []base.NodeID{1}, r)
	require.ErrorIs(t, err, engine.ErrClosed)
	require.ErrorIs(t, e.Preload(t.Context()), engine.ErrClosed)
	require.NotZero(t, e.Stats().Batches)
	require.Equal(t, uint64(512), e.Info().Nodes)
}

func TestOpenCloseLeavesNothing(t *testing.T) {
	f := build(t, animal(t, "rmat"), true)
	cycle := func(i int) {
		o := engine.Options{Memory: 8 << 20, Lanes: 2, Backend: []string{"uring", "pread"}[i%2], Policy: []string{"ristretto", "clock"}[i/2%2]}
		e, err := engine.Open(f.path, o)
		require.NoError(t, err)
		for _, err := range e.Batches(t.Context(), engine.Request{Fanouts: []int{2}, BatchSize: 100, Features: true}) {
			require.NoError(t, err)
			break
		}
		require.NoError(t, e.Close())
	}
	for i := range 4 {
		cycle(i)
	}
	fds, maps := openFiles(t), mappings(t)
	for i := range 200 {
		cycle(i)
	}
	require.LessOrEqual(t, openFiles(t), fds)
	require.LessOrEqual(t, mappings(t), maps+64, "thread stacks and heap arenas come and go, one mapping for a cycle would be 200")
}

func TestDamagedBlock(t *testing.T) {
	f := build(t, animal(t, "long lists"), true)
	g := graphOf(t, f.path)
	section := func(k layout.Kind) layout.Section {
		s, ok := g.Table.Find(k, 0, 0)
		require.True(t, ok)
		return s
	}
	good := engine.Request{Nodes: []base.NodeID{59, 58, 57}, Fanouts: []int{-1}, BatchSize: 3}
	for _, c := range []struct {
		path, name string
		off        int64
		bad        engine.Request
	}{
		{f.path, "adjacency", int64(section(layout.KindAdjacency).First.Off()) + 100,
			engine.Request{Nodes: []base.NodeID{0}, Fanouts: []int{-1}, BatchSize: 1}},
		{f.path, "edge_ids", int64(section(layout.KindEdgeIDs).First.Off()) + 9,
			engine.Request{Nodes: []base.NodeID{0}, Fanouts: []int{-1}, BatchSize: 1, EdgeIDs: true}},
		{layout.FeaturesAttachment().Path(f.path), "features", 4096 * 3,
			engine.Request{Nodes: []base.NodeID{610}, Fanouts: []int{0}, BatchSize: 1, Features: true}},
	} {
		flip(t, c.path, c.off)
		for _, backend := range []string{"uring", "pread"} {
			e := open(t, f.path, engine.Options{Memory: 16 << 20, Lanes: 2, Backend: backend})
			for range 2 {
				_, err := drain(e, t.Context(), c.bad)
				var ce *layout.CorruptError
				require.ErrorAs(t, err, &ce, c.name)
				require.Contains(t, err.Error(), c.path)
				f.checkAll(t, e, good)
			}
			require.NoError(t, e.Close())
		}
		flip(t, c.path, c.off)
	}
}

func drain(e *engine.Engine, ctx context.Context, r engine.Request) (n int, err error) {
	for _, err := range e.Batches(ctx, r) {
		if err != nil {
			return n, err
		}
		n++
	}
	return n, nil
}

func graphOf(t testing.TB, path string) *layout.Graph {
	file, err := os.Open(path)
	require.NoError(t, err)
	defer file.Close()
	st, err := file.Stat()
	require.NoError(t, err)
	g, err := layout.OpenGraph(file, st.Size(), path)
	require.NoError(t, err)
	return g
}

func TestOpenRefuses(t *testing.T) {
	fds := openFiles(t)
	f := build(t, animal(t, "rmat"), true)
	x := layout.FeaturesAttachment().Path(f.path)
	st, err := os.Stat(f.path)
	require.NoError(t, err)
	for _, c := range []struct {
		name   string
		damage func(t *testing.T, path string)
		kind   error
		text   string
	}{
		{"missing graph", remove, fs.ErrNotExist, "graph.bin"},
		{"truncated graph", func(t *testing.T, p string) { require.NoError(t, os.Truncate(p, st.Size()-4096)) }, layout.ErrCorrupt, "graph.bin"},
		{"empty graph", func(t *testing.T, p string) { require.NoError(t, os.Truncate(p, 0)) }, layout.ErrCorrupt, "graph.bin"},
		{"damaged superblock", func(t *testing.T, p string) { flip(t, p, 20) }, layout.ErrCorrupt, "superblock"},
		{"damaged table", func(t *testing.T, p string) { flip(t, p, st.Size()-4000) }, layout.ErrCorrupt, "section table"},
		{"missing features", func(t *testing.T, p string) { remove(t, layout.FeaturesAttachment().Path(p)) }, fs.ErrNotExist, ".features.npy"},
		{"missing sums", func(t *testing.T, p string) { remove(t, layout.SumsPath(layout.FeaturesAttachment().Path(p))) }, fs.ErrNotExist, ".sums"},
		{"missing attribute", func(t *testing.T, p string) { remove(t, p+".attr.y.npy") }, fs.ErrNotExist, ".attr.y.npy"},
		{"truncated features", func(t *testing.T, p string) {
			require.NoError(t, os.Truncate(layout.FeaturesAttachment().Path(p), 1000))
		}, layout.ErrCorrupt, ".features.npy"},
	} {
		t.Run(c.name, func(t *testing.T) {
			path := copyAll(t, f.path)
			c.damage(t, path)
			_, err := engine.Open(path, engine.Options{Memory: 16 << 20})
			require.ErrorIs(t, err, c.kind)
			require.ErrorContains(t, err, c.text)
		})
	}
	for _, c := range []struct {
		o    engine.Options
		text string
	}{
		{engine.Options{Memory: -1}, "Memory is -1"},
		{engine.Options{Lanes: -2}, "Lanes is -2"},
		{engine.Options{Depth: 1 << 20}, "depth"},
		{engine.Options{Policy: "lru"}, "one of clock"},
		{engine.Options{Backend: "dma"}, "one of auto, pread"},
		{engine.Options{Features: x + ".none"}, ".none"},
		{engine.Options{Features: f.path}, "npy"},
		{engine.Options{Memory: 1000}, "at least"},
	} {
		_, err := engine.Open(f.path, c.o)
		require.ErrorContains(t, err, c.text)
	}
	require.Equal(t, fds, openFiles(t))
}

func remove(t *testing.T, path string) { require.NoError(t, os.Remove(path)) }

// copyAll copies a graph with all that lies beside it.
func copyAll(t *testing.T, path string) string {
	dir := t.TempDir()
	require.NoError(t, os.CopyFS(dir+"/copy", os.DirFS(parent(path))))
	return dir + "/copy/graph.bin"
}

func parent(path string) string { return path[:len(path)-len("/graph.bin")] }

// Features of four times the budget come out whole, within the budget.
func TestFeaturesLargerThanTheBudget(t *testing.T) {
	e0 := oracle.Edges{Nodes: 600_000}
	for v := range e0.Nodes {
		e0.Src, e0.Dst = append(e0.Src, v*7919%e0.Nodes), append(e0.Dst, v)
	}
	f := build(t, e0, true)
	o := engine.Options{Lanes: 2, Memory: int64(len(f.x)) / 4}
	e := open(t, f.path, o)
	b := e.Info().Budget
	require.LessOrEqual(t, b.Index+b.Lanes+b.Cache+b.Batches, o.Memory)
	r := engine.Request{Fanouts: []int{1}, BatchSize: 512, Features: true, Shuffle: true, Attrs: []string{"y"}, Count: 40}
	for b, err := range e.Batches(t.Context(), r) {
		require.NoError(t, err)
		require.Equal(t, rowsOf(f.x, featureDim*4, b.NID), b.X.Data)
		b.Release()
	}
	s := e.Stats()
	require.NotZero(t, s.Evictions)
	require.Equal(t, s.Total.Asked, s.Adjacency.Asked+s.EdgeIDs.Asked+s.Features.Asked+s.Attrs["y"].Asked)
	require.Equal(t, int64(40), s.Batches)
	require.Equal(t, s.Total.Asked, s.Total.Hits+s.Total.Misses+s.Total.Waits)
}

// What edge ids cost is an account of its own, and nothing where nobody asks.
func TestEdgeIDsAreCountedApart(t *testing.T) {
	f := build(t, animal(t, "rmat"), false)
	ask := func(edgeIDs bool) engine.Stats {
		e := open(t, f.path, engine.Options{Memory: 16 << 20, Lanes: 1, Lockstep: 1, Resident: engine.ResidentOff}) // both depend on time
		for _, err := range e.Batches(t.Context(), engine.Request{Fanouts: []int{4, 4}, BatchSize: 128, EdgeIDs: edgeIDs}) {
			require.NoError(t, err)
		}
		s := e.Stats()
		require.Equal(t, s.Total.Asked, s.Adjacency.Asked+s.EdgeIDs.Asked)
		require.Equal(t, s.Total.ReadBytes, s.Adjacency.ReadBytes+s.EdgeIDs.ReadBytes)
		return s
	}
	with, without := ask(true), ask(false)
	require.Positive(t, with.EdgeIDs.Asked)
	require.Equal(t, engine.IO{}, without.EdgeIDs)
	require.Equal(t, without.Adjacency.Asked, with.Adjacency.Asked)
	require.Greater(t, with.UsedBytes, without.UsedBytes)
}

func TestEpochsDifferAndRepeat(t *testing.T) {
	f := build(t, animal(t, "rmat"), false)
	e := open(t, f.path, engine.Options{Memory: 16 << 20})
	collect := func(seed, epoch uint64) (all []int64) {
		r := engine.Request{Fanouts: []int{4, 4}, BatchSize: 128, Shuffle: true, Seed: seed, Epoch: epoch}
		for b, err := range e.Batches(t.Context(), r) {
			require.NoError(t, err)
			all = append(append(all, b.NID...), b.Row...)
		}
		return all
	}
	a := collect(1, 0)
	require.Equal(t, a, collect(1, 0))
	require.NotEqual(t, a, collect(1, 1))
	require.NotEqual(t, a, collect(2, 0))
}

// 500 epochs neither leak nor grow.
func TestManyEpochs(t *testing.T) {
	f := build(t, animal(t, "rmat"), true)
	e := open(t, f.path, engine.Options{Memory: 8 << 20, Lanes: 2})
	heap := func() int64 {
		var m runtime.MemStats
		runtime.GC()
		runtime.ReadMemStats(&m)
		return int64(m.HeapAlloc)
	}
	var early int64
	for epoch := range uint64(500) {
		r := engine.Request{Fanouts: []int{5, 5}, BatchSize: 128, Shuffle: true, Epoch: epoch, Features: true, EdgeIDs: true}
		for b, err := range e.Batches(t.Context(), r) {
			require.NoError(t, err)
			if epoch%2 == 0 {
				b.Release()
			}
		}
		if epoch == 50 {
			early = heap()
		}
	}
	require.Less(t, heap()-early, int64(1<<20))
}

func TestPreloadMakesWarm(t *testing.T) {
	f := build(t, animal(t, "hub"), false)
	e := open(t, f.path, engine.Options{Memory: 64 << 20, Lanes: 2, Policy: "clock", Resident: engine.ResidentOff})
	require.NoError(t, e.Preload(t.Context()))
	before := e.Stats()
	require.Equal(t, engine.ModeCached, before.Mode)
	require.Equal(t, int64(e.Info().Blocks), before.Total.Asked)
	_, err := drain(e, t.Context(), engine.Request{Fanouts: []int{5, 5}, BatchSize: 5000})
	require.NoError(t, err)
	require.Equal(t, before.Total.Misses, e.Stats().Total.Misses)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	require.ErrorIs(t, e.Preload(ctx), context.Canceled)
}

func TestInfo(t *testing.T) {
	f := build(t, animal(t, "rmat out"), true)
	e := open(t, f.path, engine.Options{Memory: 16 << 20, Lanes: 2, Depth: 8, Backend: "pread", Policy: "clock", Buffered: true})
	i := e.Info()
	require.Equal(t, "out pread clock 2 8 false", fmt.Sprint(i.Direction, " ", i.Backend, " ", i.Policy, " ", i.Lanes, " ", i.Depth, " ", i.Direct))
	require.Equal(t, uint64(512), i.Nodes)
	require.Equal(t, uint64(4096), i.Edges)
	require.Equal(t, f.print.String(), i.Fingerprint)
	require.Equal(t, "philox4x32-10/1", i.Generator)
	require.Equal(t, &engine.TableInfo{Name: "x", Path: f.path + ".features.npy", Dim: featureDim, DType: "float32"}, i.Features)
	require.Equal(t, []engine.TableInfo{{Name: "y", Path: f.path + ".attr.y.npy", DType: "int64"}}, i.Attrs)
	require.Equal(t, int64(16<<20), i.Budget.Memory)
	require.True(t, slices.IsSortedFunc(i.Attrs, func(a, b engine.TableInfo) int { return len(a.Name) - len(b.Name) }))
}
