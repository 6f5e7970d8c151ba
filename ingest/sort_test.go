//go:build linux

package ingest

import (
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
)

func quiet(string, int64, int64) {}

func compareEdges[T word](a, b edge[T]) int {
	for _, d := range [][2]T{{a.list, b.list}, {a.nbr, b.nbr}, {a.row, b.row}} {
		if d[0] < d[1] {
			return -1
		}
		if d[0] > d[1] {
			return 1
		}
	}
	return 0
}

func pileOf[T word](tb testing.TB, edges []edge[T]) *pile[T] {
	p, err := newPile[T](int64(len(edges)))
	require.NoError(tb, err)
	tb.Cleanup(p.free)
	p.edges = append(p.edges, edges...)
	return p
}

func testSort[T word](t *testing.T, nodes uint64, n, workers int, draw func() T) {
	edges := make([]edge[T], n)
	for i := range edges {
		edges[i] = edge[T]{draw(), draw(), T(i)}
	}
	sorted := pileOf(t, edges)
	err := sortEdges(context.Background(), sorted, pileOf(t, edges), nodes, workers, quiet)
	require.NoError(t, err)
	slices.SortFunc(edges, compareEdges)
	require.True(t, slices.Equal(edges, sorted.edges), "nodes %d, n %d, workers %d", nodes, n, workers)
}

func TestSortIsCanonicalOrder(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	for _, nodes := range []uint64{1, 2, 3, 2048, 2049, 1 << 22, 1 << 32} {
		for _, n := range []int{0, 1, 2, 1000, 100_000} {
			for _, workers := range []int{1, 2, 7} {
				testSort(t, nodes, n, workers, func() uint32 { return uint32(r.Uint64N(nodes)) })
			}
		}
	}
	for _, workers := range []int{1, 2, 7} { // most edges in one run, or in one list
		testSort(t, 1<<22, 150_000, workers, func() uint32 { return uint32(min(r.Uint64N(1<<22), 3000+r.Uint64N(100))) })
		testSort(t, 1<<22, 150_000, workers, func() uint32 { return uint32(max(r.Uint64N(1<<22), 1<<22-1<<19)) })
	}
	for _, nodes := range []uint64{5, 1<<32 + 1, 1 << 45, 1<<63 - 1} {
		testSort(t, nodes, 50_000, 3, func() uint64 { return r.Uint64N(min(nodes, 1000)) * (nodes / min(nodes, 1000)) })
	}
}

func TestSortStops(t *testing.T) {
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	p := pileOf(t, []edge[uint32]{{1, 2, 0}, {0, 1, 1}})
	err := sortEdges(ctx, p, pileOf(t, p.edges), 3, 1, quiet)
	require.ErrorIs(t, err, context.Canceled)
}

func BenchmarkSort(b *testing.B) {
	const n = 1 << 24
	r := rand.New(rand.NewPCG(1, 2))
	edges := make([]edge[uint32], n)
	for i := range edges {
		edges[i] = edge[uint32]{r.Uint32N(n / 16), r.Uint32N(n / 16), uint32(i)}
	}
	p, q := pileOf(b, edges), pileOf(b, edges)
	for _, workers := range []int{1, 2} {
		b.Run(fmt.Sprintf("workers=%d", workers), func(b *testing.B) {
			for b.Loop() {
				b.StopTimer()
				copy(p.edges, edges)
				b.StartTimer()
				if err := sortEdges(context.Background(), p, q, n/16, workers, quiet); err != nil {
					b.Fatal(err)
				}
			}
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/n, "ns/edge")
		})
	}
}

// A unit of an external build, as one worker sorts it.
func BenchmarkSortUnit(b *testing.B) {
	const n = 1_200_000
	r := rand.New(rand.NewPCG(1, 2))
	edges := make([]edge[uint32], n)
	for i := range edges {
		edges[i] = edge[uint32]{5_000_000 + r.Uint32N(72_000), r.Uint32N(1 << 24), uint32(i)}
	}
	p, q := pileOf(b, edges), pileOf(b, edges)
	for b.Loop() {
		copy(p.edges, edges)
		lists, nbrs := spans(p.edges)
		s := &sorting[uint32]{ctx: context.Background(), nbrs: nbrs}
		if err := s.run(p.edges, q.edges, lists, 1); err != nil {
			b.Fatal(err)
		}
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/n, "ns/edge")
}
