package engine_test

import (
	"context"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/aether-ooc/aether-ooc/engine"
	"github.com/aether-ooc/aether-ooc/internal/base"
	"github.com/aether-ooc/aether-ooc/layout"
	"github.com/aether-ooc/aether-ooc/sampler"
)

// withOwn copies a graph and gives its nodes ids of their own.
func withOwn(t testing.TB, f *fixture) (path string, own []int64) {
	t.Helper()
	r := rand.New(rand.NewPCG(5, 6))
	seen := map[int64]bool{0: true, 1<<53 + 1: true, 1<<63 - 2: true}
	for int64(len(seen)) < f.edges.Nodes {
		seen[r.Int64N(1<<63-1)] = true
	}
	var ids []base.NodeID
	for id := range seen {
		ids = append(ids, base.NodeID(id))
	}
	slices.Sort(ids)
	path = filepath.Join(t.TempDir(), "own.bin")
	file, err := os.Create(path)
	require.NoError(t, err)
	defer file.Close()
	c := writerConfig(f.edges)
	c.Original = layout.OriginalIDs
	w, err := layout.NewWriter(file, c)
	require.NoError(t, err)
	var eids []base.EdgeID
	for v, list := range f.lists {
		for _, x := range list {
			require.NoError(t, w.List(base.NodeID(v), []base.NodeID{base.NodeID(x.Neighbour)}))
			eids = append(eids, base.EdgeID(x.ID))
		}
	}
	require.NoError(t, w.EdgeIDs(eids))
	require.NoError(t, w.OriginalIDs(ids))
	_, err = w.Finish(nil)
	require.NoError(t, err)
	for _, id := range ids {
		own = append(own, int64(id))
	}
	return path, own
}

func TestOriginalIDs(t *testing.T) {
	f := build(t, animal(t, "rmat"), false)
	path, own := withOwn(t, f)
	for _, o := range []engine.Options{{Memory: 64 << 20, Lanes: 2}, {Memory: 64 << 20, Lanes: 1, Lockstep: 1, Backend: "pread", Resident: engine.ResidentOff}} {
		e := open(t, path, o)
		require.Equal(t, "ids", e.Info().Original)
		r := engine.Request{Fanouts: []int{3, 2}, BatchSize: 50, EdgeIDs: true, Shuffle: true}
		without := e.Stats().Original
		f.checkAll(t, e, r)
		require.Equal(t, without, e.Stats().Original, "ids that nobody asked for")
		r.OriginalIDs = true
		f.checkAll(t, e, r)
		batches := 0
		for b, err := range e.Batches(context.Background(), r) {
			require.NoError(t, err)
			require.Len(t, b.Original, len(b.NID))
			for i, v := range b.NID {
				require.Equal(t, own[v], b.Original[i])
			}
			b.Release()
			batches++
		}
		require.Positive(t, batches)
		require.Positive(t, e.Stats().Original.Asked)
	}
}

func TestLookup(t *testing.T) {
	f := build(t, animal(t, "rmat"), false)
	path, own := withOwn(t, f)
	e := open(t, path, engine.Options{Memory: 64 << 20})
	ctx := context.Background()
	dice := rand.New(rand.NewPCG(1, 1))
	for _, n := range []int{0, 1, 7, 3000} {
		var want []engine.NodeID
		var originals []int64
		for range n {
			v := dice.IntN(len(own))
			want, originals = append(want, engine.NodeID(v)), append(originals, own[v])
		}
		got, err := e.Lookup(ctx, originals)
		require.NoError(t, err)
		require.True(t, slices.Equal(want, got))
	}
	for _, id := range []int64{-1, own[3] + 1, 1<<63 - 1} {
		_, err := e.Lookup(ctx, []int64{own[5], id})
		require.ErrorIs(t, err, sampler.ErrUnknownNode)
		require.ErrorContains(t, err, "Nodes[1]")
	}
	cancelled, cancel := context.WithCancel(ctx)
	cancel()
	_, err := e.Lookup(cancelled, own[:5])
	require.ErrorIs(t, err, context.Canceled)
}

func TestOriginalIDsOfAGraphThatKeepsNone(t *testing.T) {
	f := build(t, animal(t, "rmat"), false)
	e := open(t, f.path, engine.Options{Memory: 64 << 20})
	require.Equal(t, "none", e.Info().Original)
	_, err := e.Lookup(context.Background(), []int64{1})
	require.ErrorContains(t, err, "--relabel")
	_, err = e.NumBatches(engine.Request{Fanouts: []int{3}, BatchSize: 50, OriginalIDs: true})
	require.ErrorContains(t, err, "--relabel")
}
