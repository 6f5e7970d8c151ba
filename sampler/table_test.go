package sampler

import (
	"math"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestTableAgainstMap(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	random := func(below uint64) func(int) uint64 { return func(int) uint64 { return r.Uint64N(below) } }
	for _, c := range []struct {
		name string
		n    int
		node func(i int) uint64
	}{
		{"none", 0, nil},
		{"few of few", 1000, random(10)},
		{"many of many", 200_000, random(1 << 62)},
		{"all equal", 300, func(int) uint64 { return math.MaxInt64 }},
		{"in order", 5000, func(i int) uint64 { return uint64(i) }},
		{"strided", 50_000, func(i int) uint64 { return uint64(i) << 33 }},
	} {
		t.Run(c.name, func(t *testing.T) {
			var tab table
			for range 3 { // batches
				tab.reset()
				var nodes, want, wantNID []int64
				local := map[int64]int64{}
				for i := range c.n {
					v := int64(c.node(i))
					if _, met := local[v]; !met {
						local[v] = int64(len(local))
						wantNID = append(wantNID, v)
					}
					nodes, want = append(nodes, v), append(want, local[v])
				}
				nid := tab.meetAll(nodes, nil)
				require.Equal(t, wantNID, nid)
				require.Equal(t, want, nodes)
				require.LessOrEqual(t, len(tab.slots), max(minSlots, 4*(len(nid)+chunk)))
			}
		})
	}
}

func TestTableKeepsTheFirstCopyWhenItGrows(t *testing.T) {
	var tab table
	tab.reset()
	nid := []int64{7, 8, 7, 9}
	tab.room(len(nid), nil)
	for local, v := range nid {
		tab.meet(hash(v), v, uint32(local), nid)
	}
	more := make([]int64, 10*minSlots)
	for i := range more {
		more[i] = int64(100 + i)
	}
	nid = tab.meetAll(more, nid)
	require.Len(t, nid, 4+len(more))
	again := []int64{7, 8, 9, 100}
	require.Len(t, tab.meetAll(again, nid), len(nid))
	require.Equal(t, []int64{0, 1, 3, 4}, again)
}

func TestTableForgetsWhenStampsRunOut(t *testing.T) {
	var tab table
	for batch := range int64(stamps + 2) {
		tab.reset()
		met := []int64{batch % 2}
		require.Len(t, tab.meetAll(met, nil), 1)
		require.Zero(t, met[0])
	}
	require.Less(t, tab.stamp, uint64(stamps))
}

func BenchmarkMeet(b *testing.B) {
	const edges, nodes = 250_000, 180_000
	r := rand.New(rand.NewPCG(1, 2))
	in, work := make([]int64, edges), make([]int64, edges)
	for i := range in {
		in[i] = r.Int64N(nodes) * 89
	}
	var tab table
	nid := make([]int64, 0, edges)
	for b.Loop() {
		copy(work, in)
		tab.reset()
		nid = tab.meetAll(work, nid[:0])
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/edges, "ns/edge")
}
