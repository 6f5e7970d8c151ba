//go:build linux

package sampler

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/aether-ooc/aether-ooc/blockcache"
	"github.com/aether-ooc/aether-ooc/internal/base"
	"github.com/aether-ooc/aether-ooc/internal/oracle"
	"github.com/aether-ooc/aether-ooc/internal/rng"
	"github.com/stretchr/testify/require"
)

// BenchmarkSample samples batches of an RMAT graph (edge factor 16) whose blocks
// are all cached, on one lane.
func BenchmarkSample(b *testing.B) {
	const scale, batch = 18, 1024
	e := oracle.RMAT(rand.New(rand.NewPCG(1, 1)), scale, 16)
	path := writeGraph(b, e, e.Lists())
	for _, spec := range []Spec{
		{Fanouts: []int{25, 10}},
		{Fanouts: []int{25, 10}, EdgeIDs: true},
		{Fanouts: []int{25, 10}, Replace: true},
		{Fanouts: []int{20, 15, 10}},
		{Fanouts: []int{All, 5}},
	} {
		for _, policy := range []string{"ristretto", "clock"} {
			b.Run(fmt.Sprintf("fanouts=%v,replace=%v,ids=%v/%s", spec.Fanouts, spec.Replace, spec.EdgeIDs, policy), func(b *testing.B) {
				r := openRig(b, path, blockcache.Config{Slots: 40_000, Policy: policy})
				r.one(b, func(s *Sampler) { benchmark(b, r, s, batch, spec) })
			})
		}
	}
}

func benchmark(b *testing.B, r *rig, s *Sampler, batch int, spec Spec) {
	var out Subgraph
	seeds, random, edges := make([]base.NodeID, batch), rand.New(rand.NewPCG(2, 2)), 0
	sample := func(i int) {
		for j := range seeds {
			seeds[j] = base.NodeID(random.Uint64N(r.graph.Superblock.Nodes))
		}
		key := rng.BatchKey(r.graph.Superblock.Fingerprint, 1, 1, uint64(i))
		require.NoError(b, s.Sample(ctx, key, seeds, spec, &out))
		edges += len(out.Row)
	}
	for i := range 50 { // fill the cache
		sample(i)
	}
	before := r.cache.Stats()
	edges = 0
	b.ReportAllocs()
	b.ResetTimer()
	for i := range b.N {
		sample(i)
	}
	b.StopTimer()
	after := r.cache.Stats()
	b.ReportMetric(float64(edges)/b.Elapsed().Seconds()/1e6, "Medges/s")
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(edges), "ns/edge")
	b.ReportMetric(float64(after.Asked()-before.Asked())/float64(edges), "blocks/edge")
	b.ReportMetric(float64(after.Misses-before.Misses)/float64(b.N), "misses/op")
}
