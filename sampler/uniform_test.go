//go:build linux

package sampler

import (
	"fmt"
	"math"
	"slices"
	"testing"

	"github.com/aether-ooc/aether-ooc/blockcache"
	"github.com/aether-ooc/aether-ooc/internal/base"
	"github.com/aether-ooc/aether-ooc/internal/oracle"
	"github.com/aether-ooc/aether-ooc/internal/rng"
	"github.com/aether-ooc/aether-ooc/layout"
	"github.com/stretchr/testify/require"
)

// ofLengths gives each node a list of the given length, without parallel edges.
func ofLengths(lengths ...int64) oracle.Edges {
	e := oracle.Edges{Nodes: max(5000, slices.Max(lengths))}
	for v, n := range lengths {
		for u := range n {
			e.Src, e.Dst = append(e.Src, u), append(e.Dst, int64(v))
		}
	}
	return e
}

// straddling gives a graph in which node 1, of the given degree, has its first
// entry in one block and the others in the next.
func straddling(t *testing.T, degree int64) *rig {
	t.Helper()
	full := newRig(t, ofLengths(5000), blockcache.Config{Slots: 1})
	entries := int64(full.graph.Index.Row(1).Entries)
	for before := entries - 8; before < entries; before++ {
		r := newRig(t, ofLengths(before, degree, 10), blockcache.Config{Slots: 100})
		span := r.graph.Index.Locate(1)
		if span.Where != layout.Many {
			continue
		}
		if _, hi := r.graph.Index.Ranks(span, span.First); hi == 1 {
			return r
		}
	}
	t.Fatal("no list lies across the end of a block")
	return nil
}

// draws samples one hop from many copies of a node, batch after batch, and gives
// each copy's neighbours (in these graphs, their ranks) to fn.
func (r *rig) draws(t *testing.T, node base.NodeID, k int, replace bool, trials int, fn func(ranks []int64)) {
	t.Helper()
	const copies = 1000
	seeds := slices.Repeat([]base.NodeID{node}, copies)
	r.one(t, func(s *Sampler) {
		var out Subgraph
		for batch := range trials / copies {
			key := rng.BatchKey(r.graph.Superblock.Fingerprint, 5, 0, uint64(batch))
			require.NoError(t, s.Sample(ctx, key, seeds, Spec{Fanouts: []int{k}, Replace: replace}, &out))
			ranks := make([]int64, 0, k)
			for i, row := range out.Row {
				ranks = append(ranks, out.NID[row])
				if i+1 == len(out.Row) || out.Col[i+1] != out.Col[i] {
					fn(ranks)
					ranks = ranks[:0]
				}
			}
		}
	})
}

// requireUniform is the chi-square test at p = 0.0001 (Wilson and Hilferty's
// approximation): counts over all cells, those never hit included.
func requireUniform[K comparable](t *testing.T, counts map[K]int, cells int) {
	t.Helper()
	total, sum := 0, 0.0
	for _, n := range counts {
		total += n
	}
	want := float64(total) / float64(cells)
	require.GreaterOrEqual(t, want, 10.0, "too few draws to say anything")
	require.LessOrEqual(t, len(counts), cells)
	for _, n := range counts {
		sum += (float64(n) - want) * (float64(n) - want) / want
	}
	sum += want * float64(cells-len(counts))
	f := float64(cells - 1)
	limit := f * math.Pow(1-2/(9*f)+3.719*math.Sqrt(2/(9*f)), 3)
	require.Less(t, sum, limit, "%d cells, %d draws", cells, total)
}

// TestEverySubsetEquallyLikely counts whole draws: all k-subsets without
// replacement, all k-tuples with it.
func TestEverySubsetEquallyLikely(t *testing.T) {
	for _, c := range []struct {
		name  string
		rig   func(t *testing.T) *rig
		node  base.NodeID
		d, k  int
		cells [2]int // without, with replacement
	}{
		{"in one block", func(t *testing.T) *rig { return newRig(t, ofLengths(3, 6, 3), blockcache.Config{Slots: 4}) }, 1, 6, 3, [2]int{20, 216}},
		{"one of a few", func(t *testing.T) *rig { return newRig(t, ofLengths(3, 6, 3), blockcache.Config{Slots: 4}) }, 1, 6, 1, [2]int{6, 6}},
		{"all but one", func(t *testing.T) *rig { return newRig(t, ofLengths(3, 6, 3), blockcache.Config{Slots: 4}) }, 1, 6, 5, [2]int{6, 7776}},
		{"across a block's end", func(t *testing.T) *rig { return straddling(t, 7) }, 1, 7, 3, [2]int{35, 343}},
	} {
		for i, replace := range []bool{false, true} {
			t.Run(fmt.Sprintf("%s, replace %v", c.name, replace), func(t *testing.T) {
				counts := map[string]int{}
				c.rig(t).draws(t, c.node, c.k, replace, 80_000, func(ranks []int64) {
					require.Len(t, ranks, c.k)
					if !replace {
						require.True(t, slices.IsSorted(ranks) && len(slices.Compact(slices.Clone(ranks))) == c.k)
					}
					counts[fmt.Sprint(ranks)]++
				})
				requireUniform(t, counts, c.cells[i])
			})
		}
	}
}

// TestEveryEntryEquallyLikely counts the entries of a list of several blocks,
// the first and the last of the list and of each block by themselves too.
func TestEveryEntryEquallyLikely(t *testing.T) {
	const degree, k, trials = 9000, 10, 40_000
	for _, replace := range []bool{false, true} {
		t.Run(fmt.Sprint("replace ", replace), func(t *testing.T) {
			r := newRig(t, ofLengths(700, degree, 5), blockcache.Config{Slots: 100})
			span := r.graph.Index.Locate(1)
			require.Greater(t, span.Last, span.First+2)
			counts := map[int64]int{}
			r.draws(t, 1, k, replace, trials, func(ranks []int64) {
				for _, rank := range ranks {
					counts[rank]++
				}
			})
			requireUniform(t, counts, degree)
			edges := map[int64]int{}
			for b := span.First; b <= span.Last; b++ {
				lo, hi := r.graph.Index.Ranks(span, b)
				edges[int64(lo)], edges[int64(hi)-1] = counts[int64(lo)], counts[int64(hi)-1]
			}
			requireUniform(t, edges, len(edges))
		})
	}
}
