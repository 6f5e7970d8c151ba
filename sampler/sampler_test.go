//go:build linux

package sampler

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"syscall"
	"testing"

	"github.com/aether-ooc/aether-ooc/blockcache"
	"github.com/aether-ooc/aether-ooc/internal/base"
	"github.com/aether-ooc/aether-ooc/internal/faultio"
	"github.com/aether-ooc/aether-ooc/internal/oracle"
	"github.com/aether-ooc/aether-ooc/internal/rng"
	"github.com/aether-ooc/aether-ooc/layout"
	"github.com/stretchr/testify/require"
)

func TestUnknownNode(t *testing.T) {
	for _, c := range []struct {
		graph string
		seeds []base.NodeID
		names string
	}{
		{"path", []base.NodeID{0, 299, 300}, "seed 300 (at position 2"},
		{"path", []base.NodeID{1<<64 - 1}, "seed 18446744073709551615"},
		{"empty", []base.NodeID{0}, "has 0 nodes"},
	} {
		r := newRig(t, animal(t, c.graph), blockcache.Config{Slots: 4})
		r.one(t, func(s *Sampler) {
			var out Subgraph
			err := s.Sample(ctx, rng.Key{}, c.seeds, Spec{Fanouts: []int{2}}, &out)
			require.ErrorIs(t, err, ErrUnknownNode)
			require.ErrorContains(t, err, c.names)
			require.Zero(t, r.cache.Stats().Asked())
		})
	}
}

// TestFewBlocksOfALongList: only blocks that hold a pick are read.
func TestFewBlocksOfALongList(t *testing.T) {
	e := oracle.Edges{Nodes: 1_000_000}
	for v := range e.Nodes {
		e.Src, e.Dst = append(e.Src, v), append(e.Dst, 0)
	}
	path := writeGraph(t, e, e.Lists())
	for _, c := range []struct {
		fanout  int
		replace bool
		most    int64
	}{{10, false, 10}, {1, false, 1}, {10, true, 10}, {0, false, 0}} {
		r := openRig(t, path, blockcache.Config{Slots: 2000})
		r.one(t, func(s *Sampler) {
			var out Subgraph
			require.NoError(t, s.Sample(ctx, rng.Key{}, []base.NodeID{0}, Spec{Fanouts: []int{c.fanout}, Replace: c.replace}, &out))
			require.Len(t, out.Row, c.fanout)
			require.LessOrEqual(t, r.cache.Stats().Asked(), c.most)
			require.Equal(t, r.cache.Stats().Misses, r.cache.Stats().Asked())
		})
	}
}

// TestNoReadForIsolatedNodes: the presence bitmap knows them.
func TestNoReadForIsolatedNodes(t *testing.T) {
	e := oracle.Edges{Nodes: 20_000}
	for i := range int64(200_000) { // enough for the bitmap to be worth its place
		e.Src, e.Dst = append(e.Src, i%e.Nodes), append(e.Dst, i*7919%e.Nodes/2*2)
	}
	r := newRig(t, e, blockcache.Config{Slots: 2000})
	require.NotNil(t, r.graph.Index.Presence())
	r.one(t, func(s *Sampler) {
		var out Subgraph
		var odd []base.NodeID
		for v := base.NodeID(1); v < 20_000; v += 2 {
			odd = append(odd, v)
		}
		require.NoError(t, s.Sample(ctx, rng.Key{}, odd, Spec{Fanouts: []int{5, 5}, EdgeIDs: true}, &out))
		require.Zero(t, r.cache.Stats().Asked())
		require.Equal(t, []int64{10_000, 0, 0}, out.SampledNodes)
		require.Equal(t, []int64{0, 0}, out.SampledEdges)
		require.NotNil(t, out.EID)
		require.Empty(t, out.EID)
	})
}

// TestWideIDs: nodes past 2^32 are met, expanded and met again.
func TestWideIDs(t *testing.T) {
	const far, end = 1<<33 + 1, 1<<40 - 1
	path := filepath.Join(t.TempDir(), "graph.bin")
	f, err := os.Create(path)
	require.NoError(t, err)
	w, err := layout.NewWriter(f, layout.WriterConfig{Nodes: end + 1, InputEdges: 5, EdgeIDs: layout.EdgeIDsCanonical})
	require.NoError(t, err)
	require.NoError(t, w.List(1, []base.NodeID{1, far}))
	require.NoError(t, w.List(far, []base.NodeID{end}))
	require.NoError(t, w.List(end, []base.NodeID{1, far}))
	_, err = w.Finish(nil)
	require.NoError(t, err)
	require.NoError(t, f.Close())
	r := openRig(t, path, blockcache.Config{Slots: 2})
	r.one(t, func(s *Sampler) {
		var out Subgraph
		require.NoError(t, s.Sample(ctx, rng.Key{}, []base.NodeID{end}, Spec{Fanouts: []int{All, All}, EdgeIDs: true}, &out))
		require.Equal(t, oracle.Batch{
			NID: []int64{end, 1, far}, Row: []int64{1, 2, 1, 2, 0}, Col: []int64{0, 0, 1, 1, 2}, EID: []int64{3, 4, 0, 1, 2},
			SampledNodes: []int64{1, 2, 0}, SampledEdges: []int64{2, 3},
		}, batchOf(&out))
	})
}

func TestEdgeIDsAreReadOnlyOnDemand(t *testing.T) {
	asked := func(e oracle.Edges, ids bool) (n int64) {
		r := newRig(t, e, blockcache.Config{Slots: 2000})
		r.one(t, func(s *Sampler) {
			var out Subgraph
			require.NoError(t, s.Sample(ctx, rng.Key{}, []base.NodeID{1, 2, 3}, Spec{Fanouts: []int{5, 5}, EdgeIDs: ids}, &out))
			n = r.cache.Stats().Asked()
		})
		return n
	}
	require.Greater(t, asked(animal(t, "rmat"), true), asked(animal(t, "rmat"), false))
	require.Equal(t, asked(animal(t, "rmat stored ids"), true), asked(animal(t, "rmat stored ids"), false))
}

func TestCancel(t *testing.T) {
	r := newRig(t, animal(t, "rmat"), blockcache.Config{Slots: 40})
	r.one(t, func(s *Sampler) {
		cancelled, cancel := context.WithCancel(ctx)
		cancel()
		var out Subgraph
		require.ErrorIs(t, s.Sample(cancelled, rng.Key{}, []base.NodeID{1}, Spec{Fanouts: []int{5, 5}}, &out), context.Canceled)
		require.NoError(t, s.Sample(ctx, rng.Key{}, []base.NodeID{1}, Spec{Fanouts: []int{5, 5}}, &out))
	})
}

// TestEveryReadFails fails the k-th read for k = 0, 1, 2 … until the batch
// succeeds. The sampler serves the next batch as if nothing had been.
func TestEveryReadFails(t *testing.T) {
	e := animal(t, "rmat")
	path, lists := writeGraph(t, e, e.Lists()), e.Lists()
	seeds, spec := []base.NodeID{1, 99, 300}, Spec{Fanouts: []int{3, 2}, EdgeIDs: true}
	faults := map[string]func(k int64) *faultio.Plan{
		"failed":    func(k int64) *faultio.Plan { return faultio.FailAt(k, syscall.EIO) },
		"cut short": func(k int64) *faultio.Plan { return faultio.ShortenAt(k, 100) },
	}
	for name, fault := range faults {
		t.Run(name, func(t *testing.T) {
			for k, done := int64(0), false; !done; k++ {
				r := openRig(t, path, blockcache.Config{Slots: 2, Policy: "clock"})
				r.plan = fault(k)
				r.one(t, func(s *Sampler) {
					var out Subgraph
					err := s.Sample(ctx, keyFor(r, 0), seeds, spec, &out)
					if done = r.plan.Fired() == 0; done {
						require.Greater(t, k, int64(4))
					} else {
						require.Error(t, err)
						require.ErrorContains(t, err, path)
						err = s.Sample(ctx, keyFor(r, 0), seeds, spec, &out)
					}
					require.NoError(t, err)
					require.Equal(t, oracle.Sample(lists, keyFor(r, 0), seeds, spec.Fanouts, false), batchOf(&out))
				})
			}
		})
	}
}

// TestBatchesDiffer: every part of a batch's name changes its draws, and the
// same name gives the same draws.
func TestBatchesDiffer(t *testing.T) {
	r := newRig(t, animal(t, "hub"), blockcache.Config{Slots: 2000})
	r.one(t, func(s *Sampler) {
		sample := func(seed, epoch, batch uint64) string {
			var out Subgraph
			key := rng.BatchKey(r.graph.Superblock.Fingerprint, seed, epoch, batch)
			require.NoError(t, s.Sample(ctx, key, []base.NodeID{31_234, 31_234}, Spec{Fanouts: []int{5, 2}}, &out))
			require.NotEqual(t, out.Row[:5], out.Row[5:10], "copies draw for themselves")
			return fmt.Sprint(out)
		}
		first := sample(1, 1, 1)
		require.Equal(t, first, sample(1, 1, 1))
		for _, other := range [][3]uint64{{2, 1, 1}, {1, 2, 1}, {1, 1, 2}} {
			require.NotEqual(t, first, sample(other[0], other[1], other[2]))
		}
	})
}

// TestSteadyStateAllocatesNothing: a batch like those before it needs no memory
// (ristretto, the other policy, allocates on its own account).
func TestSteadyStateAllocatesNothing(t *testing.T) {
	r := newRig(t, animal(t, "hub"), blockcache.Config{Slots: 3000, Policy: "clock"})
	r.one(t, func(s *Sampler) {
		seeds := make([]base.NodeID, 500)
		for i := range seeds {
			seeds[i] = base.NodeID(i * 140)
		}
		seeds[0] = 31_234
		var out Subgraph
		spec := Spec{Fanouts: []int{8, 4}, EdgeIDs: true}
		sample := func() { require.NoError(t, s.Sample(ctx, rng.Key{1, 2}, seeds, spec, &out)) }
		sample()
		require.Zero(t, testing.AllocsPerRun(20, sample))
	})
}

// TestScratchShrinks: what one huge batch needed is given back.
func TestScratchShrinks(t *testing.T) {
	r := newRig(t, animal(t, "hub"), blockcache.Config{Slots: 3000})
	r.one(t, func(s *Sampler) {
		sample := func(fanout int) {
			var out Subgraph
			require.NoError(t, s.Sample(ctx, rng.Key{}, []base.NodeID{31_234}, Spec{Fanouts: []int{fanout}}, &out))
		}
		sample(All)
		huge := s.MemoryBytes()
		for range 2 * reviewEvery {
			sample(3)
		}
		require.Greater(t, huge, int64(2_000_000))
		require.Less(t, s.MemoryBytes(), int64(100_000))
	})
}

// TestBounds compares the worst case with what batches take.
func TestBounds(t *testing.T) {
	for _, a := range zoo() {
		r := newRig(t, a.Edges, blockcache.Config{Slots: 100})
		sb := r.graph.Superblock
		r.one(t, func(s *Sampler) {
			for i, q := range questions(r.lists) {
				if len(q.spec.Fanouts) > 0 && q.spec.Fanouts[0] == All { // a bound is promised for seeds that differ
					slices.Sort(q.seeds)
					q.seeds = slices.Compact(q.seeds)
				}
				fresh, out := New(s.graph, s.files, s.lane), Subgraph{}
				require.NoError(t, fresh.Sample(ctx, keyFor(r, i), q.seeds, q.spec, &out))
				b := q.spec.Bound(len(q.seeds), sb.Nodes, sb.Edges)
				require.LessOrEqual(t, int64(len(out.NID)), b.Nodes, "%s: %s", a.Name, q.name)
				require.LessOrEqual(t, int64(len(out.Row)), b.Edges, "%s: %s", a.Name, q.name)
				require.LessOrEqual(t, out.MemoryBytes(), b.ResultBytes, "%s: %s", a.Name, q.name)
				require.LessOrEqual(t, fresh.MemoryBytes(), b.ScratchBytes, "%s: %s", a.Name, q.name)
			}
		})
	}
}

// TestTooManyPicks: numbers that outgrow 32 bits are an error before they are
// memory.
func TestTooManyPicks(t *testing.T) {
	for _, graph := range []string{"path", "hub"} { // lists in one block, and in many
		r := newRig(t, animal(t, graph), blockcache.Config{Slots: 100})
		r.one(t, func(s *Sampler) {
			var out Subgraph
			spec := Spec{Fanouts: []int{1 << 40}, Replace: true}
			seeds := []base.NodeID{1, base.NodeID(min(31_234, len(r.lists)-1))}
			require.ErrorIs(t, s.Sample(ctx, rng.Key{}, seeds, spec, &out), ErrTooLarge)
			require.NoError(t, s.Sample(ctx, rng.Key{}, seeds, Spec{Fanouts: []int{1 << 40}}, &out))
		})
	}
}

// TestDamagedBlocks: a block that passes its seal but does not fit the index or
// the graph is corruption, named with its place.
func TestDamagedBlocks(t *testing.T) {
	e := animal(t, "hub")
	path := writeGraph(t, e, e.Lists())
	for _, c := range []struct {
		name string
		harm func(b []byte)
		says string
	}{
		{"a neighbour beyond the nodes", func(b []byte) { copy(b[len(b)-100:], slices.Repeat([]byte{0xff}, 90)) }, "no node of the graph"},
		{"fewer entries", func(b []byte) { b[14], b[15] = 2, 0; b[12] = 1 }, "not what the index says"},
		{"another encoding", func(b []byte) { b[0] = 77 }, "encoding"},
	} {
		t.Run(c.name, func(t *testing.T) {
			r := openRig(t, path, blockcache.Config{Slots: 1000})
			r.one(t, func(s *Sampler) {
				span := r.graph.Index.Locate(31_234)
				require.Equal(t, layout.Many, span.Where)
				harmed := span.First + 1
				s.onAdjacency = func(i int, b []byte) error { // in place of a check that lets the damage pass
					if s.scratch.blocks[i] == harmed {
						b = slices.Clone(b)
						c.harm(b)
					}
					return s.takeBlock(i, b)
				}
				var out Subgraph
				err := s.Sample(ctx, rng.Key{}, []base.NodeID{31_234}, Spec{Fanouts: []int{All}}, &out)
				require.ErrorIs(t, err, layout.ErrCorrupt)
				require.ErrorContains(t, err, c.says)
				var at *layout.CorruptError
				require.True(t, errors.As(err, &at))
				require.Equal(t, harmed, at.Block)
				require.Equal(t, r.graph.Name, at.File)
				s.onAdjacency = s.takeBlock
				require.NoError(t, s.Sample(ctx, rng.Key{}, []base.NodeID{31_234}, Spec{Fanouts: []int{All}}, &out))
			})
		})
	}
}
