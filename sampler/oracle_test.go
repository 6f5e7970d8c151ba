//go:build linux

package sampler

import (
	"context"
	"fmt"
	"math/rand/v2"
	"reflect"
	"slices"
	"sync"
	"testing"

	"github.com/aether-ooc/aether-ooc/blockcache"
	"github.com/aether-ooc/aether-ooc/internal/base"
	"github.com/aether-ooc/aether-ooc/internal/faultio"
	"github.com/aether-ooc/aether-ooc/internal/oracle"
	"github.com/aether-ooc/aether-ooc/internal/rng"
	"github.com/aether-ooc/aether-ooc/layout"
)

var ctx = context.Background()

// question is one batch to sample.
type question struct {
	name  string
	seeds []base.NodeID
	spec  Spec
}

const specs = 7 * 2 * 2 // of questions with the same seeds

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
	return append(all, question{name: "one seed", seeds: random[:1]}, question{name: "random seeds", seeds: random},
		question{name: "repeated seeds", seeds: []base.NodeID{last, widest, last, 0, widest, last, last / 2}})
}

// TestOracle asks the same questions of the engine, in several configurations,
// and of the oracle.
func TestOracle(t *testing.T) {
	configs := []struct {
		name string
		blockcache.Config
		reorder  bool  // the ring gives blocks in a random order
		groups   []int // sizes
		encoding layout.Encoding
	}{
		{"all cached", blockcache.Config{Slots: 2000}, false, []int{1, 3}, layout.Plain},
		{"tiny", blockcache.Config{Slots: 3}, false, []int{2}, layout.Plain},
		{"clock", blockcache.Config{Slots: 40, Policy: "clock"}, true, []int{8}, layout.Plain},
		{"three lanes", blockcache.Config{Slots: 60, Lanes: 3, Group: 2}, true, []int{1, 3}, layout.Plain},
		{"compact, all cached", blockcache.Config{Slots: 2000}, false, []int{3}, layout.Compact},
		{"compact, tiny", blockcache.Config{Slots: 3}, true, []int{2}, layout.Compact},
	}
	for _, a := range zoo() {
		lists := a.Lists()
		paths, ask := encoded(t, a.Edges, lists), questions(lists)
		want := remember(func(r *rig, i int) oracle.Batch {
			return oracle.Sample(lists, keyFor(r, i), ask[i].seeds, ask[i].spec.Fanouts, ask[i].spec.Replace)
		})
		for _, c := range configs {
			t.Run(a.Name+"/"+c.name, func(t *testing.T) {
				r := openRig(t, paths[c.encoding], c.Config)
				if c.reorder {
					r.plan = faultio.Shuffle(1, 5)
				}
				r.run(t, max(1, c.Lanes), func(lane int, s *Sampler) error {
					for _, size := range c.groups {
						for i := range specs {
							if err := checkGroup(r, s, ask, i+lane*7, size, want); err != nil { // lanes sample different batches at a time
								return fmt.Errorf("groups of %d: %w", size, err)
							}
						}
					}
					return nil
				})
			})
		}
	}
}

// encoded is the same graph in each encoding.
func encoded(t *testing.T, e oracle.Edges, lists [][]oracle.Entry) (paths [2]string) {
	for _, encoding := range []layout.Encoding{layout.Plain, layout.Compact} {
		paths[encoding] = writeEncoded(t, e, lists, encoding)
	}
	return paths
}

// checkGroup samples question i together with others of the same spec.
func checkGroup(r *rig, s *Sampler, ask []question, i, size int, want func(*rig, int) oracle.Batch) error {
	var draws []Draw
	var which []int
	for k := range max(size, len(ask)/specs) { // a group of one after the other
		j := (i + k*specs) % len(ask)
		which = append(which, j)
		draws = append(draws, Draw{Key: keyFor(r, j), Seeds: ask[j].seeds, Out: &Subgraph{}})
	}
	for group := range slices.Chunk(draws, size) {
		s.SampleGroup(ctx, ask[which[0]].spec, group)
	}
	for k, j := range which {
		if draws[k].Err != nil {
			return draws[k].Err
		}
		if err := same(want(r, j), draws[k].Out, ask[j]); err != nil {
			return err
		}
	}
	return nil
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
