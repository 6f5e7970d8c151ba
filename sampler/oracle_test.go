//go:build linux

package sampler

import (
	"context"
	"fmt"
	"math/rand/v2"
	"reflect"
	"sync"
	"testing"

	"github.com/aether-ooc/aether-ooc/blockcache"
	"github.com/aether-ooc/aether-ooc/internal/base"
	"github.com/aether-ooc/aether-ooc/internal/faultio"
	"github.com/aether-ooc/aether-ooc/internal/oracle"
	"github.com/aether-ooc/aether-ooc/internal/rng"
)

var ctx = context.Background()

// question is one batch to sample.
type question struct {
	name  string
	seeds []base.NodeID
	spec  Spec
}

// questions asks for every kind of batch.
func questions(lists [][]oracle.Entry) []question {
	var all []question
	for _, q := range seedLists(lists) {
		for _, fanouts := range [][]int{{}, {1}, {5, 3}, {2, 2, 2, 2}, {All}, {10, All, 2}, {3, 0, 3}} {
			for _, replace := range []bool{false, true} {
				for _, ids := range []bool{false, true} {
					name := fmt.Sprintf("%s, fanouts %v, replace %v, edge ids %v", q.name, fanouts, replace, ids)
					all = append(all, question{name, q.seeds, Spec{Fanouts: fanouts, Replace: replace, EdgeIDs: ids}})
				}
			}
		}
	}
	return all
}

func seedLists(lists [][]oracle.Entry) []question {
	all := []question{{name: "no seeds"}}
	if len(lists) == 0 {
		return all
	}
	r := rand.New(rand.NewPCG(1, 3))
	last, widest := base.NodeID(len(lists)-1), base.NodeID(0)
	for v := range lists {
		if len(lists[v]) > len(lists[widest]) {
			widest = base.NodeID(v)
		}
	}
	random := []base.NodeID{widest, last, 0}
	for range 30 {
		random = append(random, base.NodeID(r.IntN(len(lists))))
	}
	return append(all, question{name: "random seeds", seeds: random},
		question{name: "repeated seeds", seeds: []base.NodeID{last, widest, last, 0, widest, last, last / 2}})
}

// TestOracle asks the same questions of the engine, in several configurations,
// and of the oracle.
func TestOracle(t *testing.T) {
	configs := []struct {
		name string
		blockcache.Config
		reorder bool // the ring gives blocks in a random order
	}{
		{"all cached", blockcache.Config{Slots: 2000}, false},
		{"tiny", blockcache.Config{Slots: 3}, false},
		{"clock", blockcache.Config{Slots: 40, Policy: "clock"}, true},
		{"three lanes", blockcache.Config{Slots: 60, Lanes: 3, Group: 2}, true},
	}
	for _, a := range zoo() {
		lists := a.Lists()
		path, ask := writeGraph(t, a.Edges, lists), questions(lists)
		want := remember(func(r *rig, i int) oracle.Batch {
			return oracle.Sample(lists, keyFor(r, i), ask[i].seeds, ask[i].spec.Fanouts, ask[i].spec.Replace)
		})
		for _, c := range configs {
			t.Run(a.Name+"/"+c.name, func(t *testing.T) {
				r := openRig(t, path, c.Config)
				if c.reorder {
					r.plan = faultio.Shuffle(1, 5)
				}
				r.run(t, max(1, c.Lanes), func(lane int, s *Sampler) error {
					var out Subgraph
					for i := range ask {
						i = (i + lane*7) % len(ask) // lanes sample different batches at a time
						if err := s.Sample(ctx, keyFor(r, i), ask[i].seeds, ask[i].spec, &out); err != nil {
							return err
						}
						if err := same(want(r, i), &out, ask[i]); err != nil {
							return err
						}
					}
					return nil
				})
			})
		}
	}
}

func keyFor(r *rig, i int) rng.Key {
	return rng.BatchKey(r.graph.Superblock.Fingerprint, 42, uint64(i%3), uint64(i))
}

func same(want oracle.Batch, got *Subgraph, q question) error {
	if !q.spec.EdgeIDs {
		if got.EID != nil {
			return fmt.Errorf("%s: edge ids that nobody asked for", q.name)
		}
		want.EID = []int64{}
	}
	if got.Seeds != len(q.seeds) {
		return fmt.Errorf("%s: %d seeds", q.name, got.Seeds)
	}
	if b := batchOf(got); !reflect.DeepEqual(want, b) {
		return fmt.Errorf("%s:\nwant %v\ngot  %v", q.name, want, b)
	}
	return nil
}

// remember calls fn once for each i.
func remember(fn func(r *rig, i int) oracle.Batch) func(r *rig, i int) oracle.Batch {
	var mu sync.Mutex
	known := map[int]oracle.Batch{}
	return func(r *rig, i int) oracle.Batch {
		mu.Lock()
		defer mu.Unlock()
		b, ok := known[i]
		if !ok {
			b = fn(r, i)
			known[i] = b
		}
		return b
	}
}
