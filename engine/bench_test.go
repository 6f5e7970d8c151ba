package engine_test

import (
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/aether-ooc/aether-ooc/engine"
	"github.com/aether-ooc/aether-ooc/internal/oracle"
)

// BenchmarkBatches samples an RMAT graph of 2^16 nodes and 2^20 edges, warm and
// with a cache of about a tenth of it.
func BenchmarkBatches(b *testing.B) {
	f := build(b, oracle.RMAT(rand.New(rand.NewPCG(1, 1)), 16, 16), false)
	for _, c := range []struct {
		name string
		o    engine.Options
		warm bool
	}{
		{"warm", engine.Options{Memory: 128 << 20}, true},
		{"warm one lane", engine.Options{Memory: 128 << 20, Lanes: 1}, true},
		{"tight", engine.Options{Memory: 4 << 20}, false},
	} {
		b.Run(c.name, func(b *testing.B) {
			e := open(b, f.path, c.o)
			if c.warm {
				require.NoError(b, e.Preload(b.Context()))
			}
			r := engine.Request{Fanouts: []int{25, 10}, BatchSize: 256, Shuffle: true}
			b.ReportAllocs()
			b.ResetTimer()
			for done := 0; done < b.N; r.Epoch++ {
				for batch, err := range e.Batches(b.Context(), r) {
					require.NoError(b, err)
					batch.Release()
					if done++; done == b.N {
						break
					}
				}
			}
			b.ReportMetric(float64(e.Stats().SampledEdges)/b.Elapsed().Seconds(), "edges/s")
		})
	}
}
