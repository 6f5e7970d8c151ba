package engine

import (
	"fmt"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/aether-ooc/aether-ooc/internal/base"
	"github.com/aether-ooc/aether-ooc/internal/rng"
	"github.com/aether-ooc/aether-ooc/sampler"
)

var testPrint = base.Fingerprint{1, 2, 3}

type naiveBatch struct {
	index base.BatchIdx
	seeds []base.NodeID
	ids   []int64
}

// naiveEpoch lists the batches of a whole epoch, as a reader of the contract
// would write it down.
func naiveEpoch(r Request, nodes int) []naiveBatch {
	var seeds []base.NodeID
	var ids []int64
	if r.Nodes == nil {
		for v := range nodes {
			seeds, ids = append(seeds, base.NodeID(v)), append(ids, int64(v))
		}
	}
	for i, v := range r.Nodes {
		seeds, ids = append(seeds, v), append(ids, int64(i))
	}
	if r.InputIDs != nil {
		ids = slices.Clone(r.InputIDs)
	}
	if r.Shuffle {
		p := rng.NewPermutation(testPrint, r.Seed, r.Epoch, uint64(len(seeds)))
		s, d := slices.Clone(seeds), slices.Clone(ids)
		for i := range seeds {
			seeds[i], ids[i] = s[p.At(uint64(i))], d[p.At(uint64(i))]
		}
	}
	var list []naiveBatch
	for len(seeds) > 0 {
		k := min(r.BatchSize, len(seeds))
		if k == r.BatchSize || !r.DropLast {
			list = append(list, naiveBatch{base.BatchIdx(len(list)), seeds[:k], ids[:k]})
		}
		seeds, ids = seeds[k:], ids[k:]
	}
	return list
}

// naiveRank deals an epoch out to the ranks, one batch in turn to each.
func naiveRank(epoch []naiveBatch, r Request) []naiveBatch {
	world := max(1, r.WorldSize)
	whole := len(epoch) / world * world
	dealt := slices.Clone(epoch)
	if r.Uneven == Drop {
		dealt = dealt[:whole]
	}
	for i := 0; r.Uneven == Wrap && len(epoch) > 0 && len(dealt)%world != 0; i++ {
		dealt = append(dealt, epoch[i%len(epoch)])
	}
	var mine []naiveBatch
	for i, b := range dealt {
		if i%world == r.Rank {
			mine = append(mine, b)
		}
	}
	return mine
}

func planned(t *testing.T, r Request, nodes int) []naiveBatch {
	t.Helper()
	p, err := newPlan(r, testPrint, uint64(nodes))
	require.NoError(t, err)
	var list []naiveBatch
	for i := range p.count {
		b := naiveBatch{index: p.batch(i)}
		b.seeds, b.ids = p.fill(b.index, nil, nil)
		list = append(list, b)
	}
	return list
}

func TestPlanIsTheNaiveEpochDealtOut(t *testing.T) {
	lists := map[string]Request{
		"all":       {},
		"some":      {Nodes: []base.NodeID{5, 3, 3, 0, 9, 1, 7}},
		"some, ids": {Nodes: []base.NodeID{5, 3, 3}, InputIDs: []int64{50, -1, 1 << 40}},
		"none":      {Nodes: []base.NodeID{}},
	}
	for name, r := range lists {
		for _, world := range []int{0, 1, 2, 3, 7, 20} {
			for _, size := range []int{1, 2, 3, 7, 10, 11, MaxBatchSize} {
				for mask := range 12 {
					r.WorldSize, r.BatchSize = world, size
					r.Shuffle, r.DropLast, r.Uneven = mask&1 != 0, mask&2 != 0, Uneven(mask>>2)
					r.Seed, r.Epoch = uint64(world), uint64(size)
					for r.Rank = range max(1, world) {
						want := naiveRank(naiveEpoch(r, 10), r)
						require.Equal(t, want, planned(t, r, 10), "%s %+v", name, r)
					}
				}
			}
		}
	}
}

func TestPlanRange(t *testing.T) {
	r := Request{BatchSize: 2, Rank: 1, WorldSize: 2}
	all := planned(t, r, 21) // 11 batches, 6 for this rank
	require.Len(t, all, 6)
	for _, c := range []struct{ first, count, lo, hi int64 }{
		{0, 0, 0, 6}, {2, 0, 2, 6}, {2, 3, 2, 5}, {2, 9, 2, 6}, {5, 1, 5, 6}, {6, 0, 6, 6}, {9, 4, 6, 6}, {0, 1 << 62, 0, 6}, {1 << 62, 1 << 62, 6, 6},
	} {
		r.First, r.Count = c.first, c.count
		require.Equal(t, fmt.Sprint(all[c.lo:c.hi]), fmt.Sprint(planned(t, r, 21)), "%+v", c)
	}
}

func TestPlanRefuses(t *testing.T) {
	ok := Request{BatchSize: 4, WorldSize: 2}
	for _, c := range []struct {
		change func(*Request)
		field  string
		kind   error
	}{
		{func(r *Request) { r.BatchSize = 0 }, "BatchSize is 0", nil},
		{func(r *Request) { r.BatchSize = MaxBatchSize + 1 }, "BatchSize is 16777217", nil},
		{func(r *Request) { r.Rank = 2 }, "Rank is 2", nil},
		{func(r *Request) { r.Rank = -1 }, "Rank is -1", nil},
		{func(r *Request) { r.WorldSize = -3 }, "WorldSize is -3", nil},
		{func(r *Request) { r.Uneven = 3 }, "Uneven is Uneven(3)", nil},
		{func(r *Request) { r.Generator = "philox4x32-10/0" }, `Generator is "philox4x32-10/0": this engine has ` + rng.Name, nil},
		{func(r *Request) { r.First = -1 }, "First is -1", nil},
		{func(r *Request) { r.Count = -2 }, "Count is -2", nil},
		{func(r *Request) { r.InputIDs = []int64{1} }, "without Nodes", nil},
		{func(r *Request) { r.Nodes, r.InputIDs = []base.NodeID{1, 2}, []int64{1} }, "of length 1", nil},
		{func(r *Request) { r.Nodes = []base.NodeID{3, 10, 11} }, "Nodes[1] is 10", sampler.ErrUnknownNode},
		{func(r *Request) { r.Nodes = []base.NodeID{1<<64 - 1} }, "0 … 9", sampler.ErrUnknownNode},
	} {
		r := ok
		c.change(&r)
		_, err := newPlan(r, testPrint, 10)
		require.ErrorContains(t, err, c.field)
		var re *RequestError
		require.ErrorAs(t, err, &re)
		if c.kind != nil {
			require.ErrorIs(t, err, c.kind)
		}
	}
	_, err := newPlan(Request{BatchSize: 1, Nodes: []base.NodeID{0}}, testPrint, 0)
	require.ErrorContains(t, err, "no nodes")
	_, err = newPlan(Request{BatchSize: 1, Generator: rng.Name}, testPrint, 0)
	require.NoError(t, err)
}
