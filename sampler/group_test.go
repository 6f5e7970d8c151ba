//go:build linux

package sampler

import (
	"context"
	"slices"
	"syscall"
	"testing"

	"github.com/aether-ooc/aether-ooc/blockcache"
	"github.com/aether-ooc/aether-ooc/internal/base"
	"github.com/aether-ooc/aether-ooc/internal/faultio"
	"github.com/aether-ooc/aether-ooc/internal/oracle"
	"github.com/aether-ooc/aether-ooc/layout"
	"github.com/stretchr/testify/require"
)

// herd makes draws of single seeds, the i-th with the key of batch i.
func herd(r *rig, seeds ...base.NodeID) []Draw {
	draws := make([]Draw, len(seeds))
	for i := range seeds {
		draws[i] = Draw{Key: keyFor(r, i), Seeds: seeds[i : i+1], Out: &Subgraph{}}
	}
	return draws
}

// theOracles checks the draws that have succeeded.
func theOracles(t *testing.T, lists [][]oracle.Entry, spec Spec, draws []Draw) {
	t.Helper()
	for i := range draws {
		if draws[i].Err == nil {
			want := oracle.Sample(lists, draws[i].Key, draws[i].Seeds, spec.Fanouts, spec.Replace)
			require.NoError(t, same(want, draws[i].Out, question{seeds: draws[i].Seeds, spec: spec}))
		}
	}
}

// TestGroupAsksOnce: a block that several batches need is asked for once.
func TestGroupAsksOnce(t *testing.T) {
	r := newRig(t, animal(t, "rmat"), blockcache.Config{Slots: 2000})
	r.one(t, func(s *Sampler) {
		spec := Spec{Fanouts: []int{5, 5}, EdgeIDs: true}
		alone := herd(r, 1)
		s.SampleGroup(ctx, spec, alone)
		once := r.cache.Stats().Asked()
		require.NotZero(t, once)
		group := slices.Concat(herd(r, 1), herd(r, 1), herd(r, 1))
		s.SampleGroup(ctx, spec, group)
		require.Equal(t, 2*once, r.cache.Stats().Asked())
		theOracles(t, r.lists, spec, append(group, alone...))
	})
}

// TestEveryReadOfAGroupFails: a read that fails once costs a group its company, and
// no batch its result.
func TestEveryReadOfAGroupFails(t *testing.T) {
	e := animal(t, "rmat")
	path, lists, spec := writeGraph(t, e, e.Lists()), e.Lists(), Spec{Fanouts: []int{3, 2}, EdgeIDs: true}
	for k, done := int64(0), false; !done; k++ {
		r := openRig(t, path, blockcache.Config{Slots: 2, Policy: "clock"})
		r.plan = faultio.FailAt(k, syscall.EIO)
		r.one(t, func(s *Sampler) {
			draws := herd(r, 1, 99, 300)
			s.SampleGroup(ctx, spec, draws)
			for i := range draws {
				require.NoError(t, draws[i].Err)
			}
			theOracles(t, lists, spec, draws)
			done = r.plan.Fired() == 0
		})
	}
}

// TestErrorsFindTheirBatches: damage, a node that is none, and a batch that is too
// large are errors of the batches that met them.
func TestErrorsFindTheirBatches(t *testing.T) {
	const hub = 31_234
	r := newRig(t, animal(t, "hub"), blockcache.Config{Slots: 3000})
	small := slices.IndexFunc(r.lists, func(l []oracle.Entry) bool { return len(l) > 0 && len(l) < 10 })
	r.one(t, func(s *Sampler) {
		for name, c := range map[string]struct {
			odd  base.NodeID
			spec Spec
			err  error
		}{
			"unknown":   {base.NodeID(len(r.lists)), Spec{Fanouts: []int{3}}, ErrUnknownNode},
			"too large": {hub, Spec{Fanouts: []int{All}, MaxEdges: 1000}, ErrTooLarge},
			"damaged":   {hub, Spec{Fanouts: []int{All}}, layout.ErrCorrupt},
		} {
			if c.err == layout.ErrCorrupt {
				harmed := r.graph.Index.Locate(hub).First + 1
				s.onAdjacency = func(i int, b []byte) error {
					if s.scratch.blocks[i] == harmed {
						return r.graph.Place(harmed, &layout.CorruptError{Detail: "harmed"})
					}
					return s.takeBlock(i, b)
				}
			}
			draws := herd(r, base.NodeID(small), c.odd, base.NodeID(small))
			s.SampleGroup(ctx, c.spec, draws)
			s.onAdjacency = s.takeBlock
			require.NoError(t, draws[0].Err, name)
			require.ErrorIs(t, draws[1].Err, c.err, name)
			require.NoError(t, draws[2].Err, name)
			theOracles(t, r.lists, c.spec, draws)
		}
	})
}

// TestCancelAmidAGroup: the context's end is everybody's error, and nothing is made
// again for it.
func TestCancelAmidAGroup(t *testing.T) {
	r := newRig(t, animal(t, "rmat"), blockcache.Config{Slots: 40})
	r.one(t, func(s *Sampler) {
		spec := Spec{Fanouts: []int{5, 5}}
		cancelled, cancel := context.WithCancel(ctx)
		seen := 0
		s.onAdjacency = func(i int, b []byte) error {
			if seen++; seen == 2 {
				cancel()
				return context.Cause(cancelled)
			}
			return s.takeBlock(i, b)
		}
		draws := herd(r, 1, 99, 300)
		s.SampleGroup(cancelled, spec, draws)
		for i := range draws {
			require.ErrorIs(t, draws[i].Err, context.Canceled)
		}
		require.Equal(t, 2, seen)
		s.onAdjacency = s.takeBlock
		s.SampleGroup(ctx, spec, draws)
		for i := range draws {
			require.NoError(t, draws[i].Err)
		}
		theOracles(t, r.lists, spec, draws)
	})
}

// TestGroupsAllocateNothing in steady state.
func TestGroupsAllocateNothing(t *testing.T) {
	r := newRig(t, animal(t, "rmat"), blockcache.Config{Slots: 3000, Policy: "clock"})
	r.one(t, func(s *Sampler) {
		spec, draws := Spec{Fanouts: []int{8, 4}, EdgeIDs: true}, herd(r, 1, 99, 300, 7)
		sample := func() { s.SampleGroup(ctx, spec, draws) }
		sample()
		require.Zero(t, testing.AllocsPerRun(20, sample))
	})
}
