//go:build linux

package sampler

import (
	"context"
	"fmt"
	"runtime"
	"sync"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/aether-ooc/aether-ooc/blockcache"
	"github.com/aether-ooc/aether-ooc/internal/base"
	"github.com/aether-ooc/aether-ooc/internal/faultio"
	"github.com/aether-ooc/aether-ooc/internal/offheap"
	"github.com/aether-ooc/aether-ooc/internal/oracle"
	"github.com/aether-ooc/aether-ooc/layout"
	"github.com/aether-ooc/aether-ooc/uring"
)

// shape is a form, and how wide the numbers of Decoded are; 0: as the graph asks
// for.
type shape struct {
	Form
	offset, width int
}

// newResident makes an empty one, in memory that the test gives back.
func (r *rig) newResident(t testing.TB, f shape) *Resident {
	t.Helper()
	s := r.graph.Superblock
	bytes := f.Bytes(s)
	if f.width > 0 {
		bytes = int64((int(s.Nodes+1)*f.offset+7)&^7 + int(s.Edges)*f.width + slack)
	}
	memory, free, err := offheap.Reserve(bytes)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, free()) })
	if f.width > 0 {
		return &Resident{r.graph, newDecoded(r.graph, memory, f.offset, f.width)}
	}
	return NewResident(r.graph, f.Form, memory)
}

// load fills it with several threads, each of which has a part of the blocks.
func (r *rig) load(ctx context.Context, resident *Resident, threads int) error {
	adjacency, _ := r.graph.Table.Find(layout.KindAdjacency, 0, 0)
	part := func(i int) base.BlockNo { return adjacency.First + base.BlockNo(int(adjacency.Blocks)*i/threads) }
	errs := make([]error, threads)
	var wg sync.WaitGroup
	for i := range threads {
		wg.Go(func() {
			errs[i] = r.withRing(func(ring uring.Ring) error {
				room, free, err := offheap.Reserve(LoadBytes)
				if err != nil {
					return err
				}
				defer free()
				_, bytes, err := resident.Load(ctx, ring, r.file, part(i), part(i+1), room)
				if want := int64(part(i+1)-part(i)) * base.BlockSize; err == nil && bytes != want {
					err = fmt.Errorf("%d bytes read, not %d", bytes, want)
				}
				return err
			})
		})
	}
	wg.Wait()
	for _, err := range errs {
		if err != nil {
			return err
		}
	}
	return nil
}

// withRing gives fn a ring on a thread of its own, and sees to it that it comes
// back idle.
func (r *rig) withRing(fn func(uring.Ring) error) error {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	ring, err := uring.Open(uring.Config{Depth: 8})
	if err != nil {
		return err
	}
	if r.plan != nil {
		ring = faultio.Wrap(ring, r.plan)
	}
	err = fn(ring)
	if n := ring.InFlight(); n > 0 {
		return fmt.Errorf("%d reads in flight", n)
	}
	if e := ring.Close(); err == nil {
		err = e
	}
	return err
}

// TestOracleResident asks the oracle's questions of adjacencies in memory, in
// all forms, widths and encodings.
func TestOracleResident(t *testing.T) {
	for _, a := range zoo() {
		lists := a.Lists()
		paths, ask := map[layout.Encoding]string{}, questions(lists)
		for _, e := range []layout.Encoding{layout.Plain, layout.Compact} {
			paths[e] = writeEncoded(t, a.Edges, lists, e)
		}
		want := remember(func(r *rig, i int) oracle.Batch {
			return oracle.Sample(lists, keyFor(r, i), ask[i].seeds, ask[i].spec.Fanouts, ask[i].spec.Replace)
		})
		for _, f := range []struct {
			shape
			layout.Encoding
		}{
			{shape{}, layout.Plain}, {shape{}, layout.Compact}, {shape{Decoded, 4, 4}, layout.Plain}, {shape{Decoded, 8, 5}, layout.Plain},
			{shape{Decoded, 8, 8}, layout.Compact}, {shape{Form: Blocks}, layout.Plain}, {shape{Form: Blocks}, layout.Compact},
		} {
			t.Run(fmt.Sprintf("%s/%v", a.Name, f), func(t *testing.T) {
				r := openRig(t, paths[f.Encoding], blockcache.Config{Slots: 100, Lanes: 2})
				r.plan = faultio.Shuffle(1, 3)
				resident := r.newResident(t, f.shape)
				require.NoError(t, r.load(ctx, resident, 3))
				r.run(t, 2, func(lane int, s *Sampler) error {
					for size := 1; size <= 3; size += 2 {
						for i := range specs {
							s.Use(nil)
							if i%5 > 0 { // now and then from blocks: batches may come from both
								s.Use(resident)
							}
							if err := checkGroup(r, s, ask, i+lane*7, size, want); err != nil {
								return err
							}
						}
					}
					return nil
				})
				if d, ok := resident.store.(*decoded); ok {
					require.Equal(t, make([]byte, slack), d.entries[len(d.entries)-slack:])
				}
			})
		}
	}
}

// TestResidentLimits: what is too much from blocks is too much from memory.
func TestResidentLimits(t *testing.T) {
	r := newRig(t, animal(t, "hub"), blockcache.Config{Slots: 200})
	uses := []*Resident{nil, r.newResident(t, shape{}), r.newResident(t, shape{Form: Blocks})}
	for _, use := range uses[1:] {
		require.NoError(t, r.load(ctx, use, 1))
	}
	r.one(t, func(s *Sampler) {
		for _, seeds := range [][]base.NodeID{{0}, {0, 1, 2, 3, 4, 5, 6, 7}} {
			spec, all := Spec{Fanouts: []int{4, All}}, Subgraph{}
			require.NoError(t, s.Sample(ctx, keyFor(r, 1), seeds, spec, &all))
			for _, use := range uses {
				s.Use(use)
				spec.MaxEdges = int64(len(all.Row))
				require.NoError(t, s.Sample(ctx, keyFor(r, 1), seeds, spec, &Subgraph{}))
				spec.MaxEdges--
				require.ErrorIs(t, s.Sample(ctx, keyFor(r, 1), seeds, spec, &Subgraph{}), ErrTooLarge)
			}
			require.ErrorIs(t, s.Sample(ctx, keyFor(r, 1), []base.NodeID{base.NodeID(r.graph.Superblock.Nodes)}, spec, &all), ErrUnknownNode)
			s.Use(nil)
		}
	})
}

// TestResidentReadsFail fails and shortens every read of a load in turn.
func TestResidentReadsFail(t *testing.T) {
	path := writeGraph(t, animal(t, "hub"), animal(t, "hub").Lists())
	for _, kind := range []struct {
		plan func(k int64) *faultio.Plan
		want string
	}{
		{func(k int64) *faultio.Plan { return faultio.FailAt(k, syscall.EIO) }, "input/output error"},
		{func(k int64) *faultio.Plan { return faultio.ShortenAt(k, 5000) }, "has become shorter"},
	} {
		for k := int64(0); ; k++ {
			r := openRig(t, path, blockcache.Config{Slots: 10})
			r.plan = kind.plan(k)
			err := r.load(ctx, r.newResident(t, shape{Form: Form(k % 2)}), 2)
			if r.plan.Fired() == 0 {
				require.NoError(t, err)
				require.Positive(t, k)
				break
			}
			require.ErrorContains(t, err, kind.want)
		}
	}
}

// TestResidentLoadCancelled: a load that is cancelled at any of its reads ends
// with that, and with nothing in flight.
func TestResidentLoadCancelled(t *testing.T) {
	path := writeGraph(t, animal(t, "hub"), animal(t, "hub").Lists())
	for k := int64(0); ; k++ {
		r := openRig(t, path, blockcache.Config{Slots: 10})
		ctx, cancel := context.WithCancel(ctx)
		late := true
		r.plan = faultio.NewPlan(func(i int64) faultio.Fault {
			if i == k {
				late = false
				cancel()
			}
			return faultio.Fault{}
		})
		err := r.load(ctx, r.newResident(t, shape{}), 1)
		cancel()
		if late {
			require.NoError(t, err)
			return
		}
		require.ErrorIs(t, err, context.Canceled)
	}
}
