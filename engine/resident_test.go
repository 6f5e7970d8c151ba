package engine_test

import (
	"bytes"
	"context"
	"errors"
	"log/slog"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/aether-ooc/aether-ooc/engine"
	"github.com/aether-ooc/aether-ooc/internal/oracle"
	"github.com/aether-ooc/aether-ooc/layout"
)

// adjacencyAt is where block i of the adjacency begins in the file.
func adjacencyAt(t testing.TB, path string, i int64) int64 {
	g := graphOf(t, path)
	s, ok := g.Table.Find(layout.KindAdjacency, 0, 0)
	require.True(t, ok)
	return (int64(s.First) + i) * 4096
}

// waitFor waits until the engine says that it is in a mode.
func waitFor(t testing.TB, e *engine.Engine, mode string) {
	t.Helper()
	require.Eventually(t, func() bool { return e.Stats().Mode == mode }, time.Minute, time.Millisecond)
}

// A graph that is asked about enough becomes resident by itself; batches are the
// same before, meanwhile and afterwards, and then read nothing.
func TestBecomesResident(t *testing.T) {
	for _, attach := range []bool{false, true} {
		f := build(t, animal(t, "hub"), attach)
		e := open(t, f.path, engine.Options{Memory: 64 << 20, Lanes: 2})
		require.Equal(t, engine.ModeCached, e.Stats().Mode)
		require.Positive(t, e.Info().Budget.Resident)
		for _, r := range requests(f) {
			f.checkAll(t, e, r)
		}
		waitFor(t, e, engine.ModeResident)
		s := e.Stats()
		require.GreaterOrEqual(t, s.Adjacency.ReadBytes, int64(e.Info().Blocks)*4096)
		for _, r := range requests(f) {
			f.checkAll(t, e, r)
		}
		require.Equal(t, s.Adjacency, e.Stats().Adjacency)
		require.Greater(t, e.Stats().Batches, s.Batches)
	}
}

// A graph of which little is asked stays where it is.
func TestStaysCached(t *testing.T) {
	f := build(t, animal(t, "hub"), false)
	e := open(t, f.path, engine.Options{Memory: 64 << 20, Lanes: 2})
	for range 20 {
		_, err := e.Sample(t.Context(), []engine.NodeID{3}, engine.Request{Fanouts: []int{2}})
		require.NoError(t, err)
	}
	require.Equal(t, engine.ModeCached, e.Stats().Mode)
	require.Less(t, e.Stats().Adjacency.Reads, int64(e.Info().Blocks)/4)
}

func TestPreloadMakesResident(t *testing.T) {
	f := build(t, animal(t, "hub"), true)
	e := open(t, f.path, engine.Options{Memory: 64 << 20, Lanes: 2})
	var wg sync.WaitGroup
	for range 3 { // one loads, the others wait for it
		wg.Go(func() { require.NoError(t, e.Preload(t.Context())) })
	}
	wg.Wait()
	s := e.Stats()
	require.Equal(t, engine.ModeResident, s.Mode)
	require.Equal(t, int64(e.Info().Blocks)*4096, s.Total.ReadBytes)
	require.Less(t, s.Total.Reads, int64(e.Info().Blocks)/8, "large reads")
	for _, r := range requests(f) {
		f.checkAll(t, e, r)
	}
	require.Equal(t, s.Adjacency, e.Stats().Adjacency)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	require.ErrorIs(t, e.Preload(ctx), context.Canceled)
	require.NoError(t, e.Close())
	require.ErrorIs(t, e.Preload(t.Context()), engine.ErrClosed)
}

// One byte less than it takes, and the graph stays in blocks.
func TestResidentNeedsItsBudget(t *testing.T) {
	f := build(t, animal(t, "hub"), true)
	budget := func(memory int64) engine.Budget {
		e := open(t, f.path, engine.Options{Memory: memory, Lanes: 2})
		return e.Info().Budget
	}
	lo, hi := least(t, f.path, engine.Options{Lanes: 2}), int64(64<<20)
	for hi-lo > 1 {
		if mid := (lo + hi) / 2; budget(mid).Resident > 0 {
			hi = mid
		} else {
			lo = mid
		}
	}
	for memory, mode := range map[int64]string{hi: engine.ModeResident, hi - 1: engine.ModeCached} {
		e := open(t, f.path, engine.Options{Memory: memory, Lanes: 2})
		require.NoError(t, e.Preload(t.Context()))
		require.Equal(t, mode, e.Stats().Mode)
		b := e.Info().Budget
		require.LessOrEqual(t, b.Index+b.Lanes+b.Resident+b.Cache+b.Batches, memory)
		f.checkAll(t, e, requests(f)[0])
	}
}

// Where decoding would take too much, here since most nodes have no edges, the
// blocks themselves become resident.
func TestResidentAsBlocks(t *testing.T) {
	edges := oracle.Edges{Nodes: 200_000}
	for i := range int64(30_000) {
		edges.Src, edges.Dst = append(edges.Src, i*7919%edges.Nodes), append(edges.Dst, i*i%300)
	}
	f := build(t, edges, false)
	o := engine.Options{Lanes: 2, Memory: least(t, f.path, engine.Options{Lanes: 2})}
	var e *engine.Engine
	for ; ; o.Memory += 100 << 10 {
		if e = open(t, f.path, o); e.Info().Budget.Resident > 0 {
			break
		}
		require.NoError(t, e.Close())
	}
	require.Equal(t, "blocks", e.Info().Budget.Form)
	require.NoError(t, e.Preload(t.Context()))
	require.Equal(t, engine.ModeResident, e.Stats().Mode)
	for _, r := range requests(f)[2:] {
		f.checkAll(t, e, r)
	}
	_, err := e.Sample(t.Context(), []engine.NodeID{0, 1, 299, 100_000}, engine.Request{Fanouts: []int{-1, -1}})
	require.NoError(t, err)
	require.Zero(t, e.Stats().Adjacency.Misses)

	o.Memory = 64 << 20
	require.Equal(t, "decoded", open(t, f.path, o).Info().Budget.Form)
}

// A damaged block ends the load with one warning, Preload with its error, and
// otherwise is the error of the batches that need it, not of others.
func TestResidentDamaged(t *testing.T) {
	f := build(t, animal(t, "hub"), false)
	flip(t, f.path, adjacencyAt(t, f.path, 200)+100)
	var log bytes.Buffer
	e := open(t, f.path, engine.Options{Memory: 64 << 20, Lanes: 2, Log: slog.New(slog.NewTextHandler(&log, nil))})
	require.ErrorIs(t, e.Preload(t.Context()), layout.ErrCorrupt)
	fine, bad := 0, 0
	for v := range f.lists {
		_, err := e.Sample(t.Context(), []engine.NodeID{engine.NodeID(v)}, engine.Request{Fanouts: []int{-1}})
		if err == nil {
			fine++
			continue
		}
		require.ErrorIs(t, err, layout.ErrCorrupt)
		bad++
	}
	require.Positive(t, fine)
	require.Positive(t, bad)
	require.Less(t, bad, len(f.lists)/2)
	require.NoError(t, e.Close())
	require.Equal(t, engine.ModeCached, e.Stats().Mode)
	require.Equal(t, 1, bytes.Count(log.Bytes(), []byte("could not be brought into memory")), log.String())
}

// Loads that are cancelled leave nothing; closing ends them.
func TestResidentCancelled(t *testing.T) {
	f := build(t, animal(t, "hub"), false)
	fds, maps := openFiles(t), mappings(t)
	for i := range 20 {
		e := open(t, f.path, engine.Options{Memory: 64 << 20, Lanes: 2})
		ctx, cancel := context.WithTimeout(t.Context(), time.Duration(i)*50*time.Microsecond)
		err := e.Preload(ctx)
		cancel()
		if err != nil {
			require.ErrorIs(t, err, context.DeadlineExceeded)
			require.NoError(t, e.Preload(t.Context()))
		}
		require.Equal(t, engine.ModeResident, e.Stats().Mode)
		require.NoError(t, e.Close())
	}
	for i := range 20 {
		e := open(t, f.path, engine.Options{Memory: 64 << 20, Lanes: 2})
		time.AfterFunc(time.Duration(i)*50*time.Microsecond, func() { e.Close() })
		if err := e.Preload(t.Context()); err != nil && !errors.Is(err, engine.ErrClosed) {
			require.NoError(t, err)
		}
		require.NoError(t, e.Close())
	}
	require.Equal(t, fds, openFiles(t))
	require.LessOrEqual(t, mappings(t), maps+8)
}
