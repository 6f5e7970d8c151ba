package main

import (
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/aether-ooc/aether-ooc/internal/npy"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// randomGraph has a few nodes of many neighbours, many of few, parallel edges
// and loops.
func randomGraph(seed uint64, nodes, edges int) *graph {
	r := rand.New(rand.NewPCG(seed, 0))
	src, dst := make([]int32, edges), make([]int32, edges)
	for i := range edges {
		src[i] = int32(r.IntN(nodes))
		dst[i] = int32(float64(nodes) * r.Float64() * r.Float64() * r.Float64())
	}
	src[0], dst[0] = int32(nodes-1), 0 // so that there are that many
	return sortByTarget(src, dst)
}

func neighbours(g *graph, v int64) []int32 { return g.row[g.colptr[v]:g.colptr[v+1]] }

func TestSortByTarget(t *testing.T) {
	g := sortByTarget([]int32{3, 0, 2, 0}, []int32{1, 1, 0, 1})
	require.Equal(t, []int64{0, 1, 4, 4, 4}, g.colptr)
	require.Equal(t, []int32{2, 3, 0, 0}, g.row)
	require.Equal(t, []int64{0}, sortByTarget(nil, nil).colptr)
}

func TestCSCFiles(t *testing.T) {
	folder := t.TempDir()
	edges := filepath.Join(folder, "edges.npy")
	header := npy.AppendHeader(nil, "int32", []int64{2, 3})
	require.NoError(t, os.WriteFile(edges, append(header, bytesOf([]int32{0, 1, 2, 2, 2, 1})...), 0o600))
	require.NoError(t, writeCSC(edges, folder))
	g, err := readGraph(folder)
	require.NoError(t, err)
	require.Equal(t, &graph{[]int64{0, 0, 1, 3}, []int32{2, 0, 1}}, g)
	wide, err := readArray[int64](filepath.Join(folder, "row64.npy"), "int64")
	require.NoError(t, err)
	require.Equal(t, []int64{2, 0, 1}, wide)
	_, err = readArray[int32](filepath.Join(folder, "row64.npy"), "int32")
	require.ErrorContains(t, err, "int32 is needed")
}

// TestJob compares batches with the definition of the job: every node that was
// reached before the last hop has as many in-edges as it should, all of them
// the graph's, none oftener than there.
func TestJob(t *testing.T) {
	g := randomGraph(1, 5000, 60000)
	l := newLane(g)
	for key, fanouts := range [][]int{{1}, {25, 10}, {3, 2, 4}, {1000}} {
		seeds := []int32{0, 7, 4000, 123}
		l.sample(seeds, fanouts, uint64(key))
		require.Len(t, l.row, len(l.col))
		for i, v := range seeds {
			require.Equal(t, int64(v), l.nid[i])
		}
		sorted := slices.Clone(l.nid)
		slices.Sort(sorted)
		require.Len(t, slices.Compact(sorted), len(l.nid), "a node is numbered twice")
		checkHops(t, g, l, len(seeds), fanouts)
	}
}

func checkHops(t *testing.T, g *graph, l *lane, seeds int, fanouts []int) {
	picked := map[int64][]int32{}
	for i, c := range l.col {
		picked[c] = append(picked[c], int32(l.nid[l.row[i]]))
	}
	begin, end := 0, seeds
	for _, fanout := range fanouts {
		reached := end
		for c := begin; c < end; c++ {
			all := neighbours(g, l.nid[c])
			require.Len(t, picked[int64(c)], min(fanout, len(all)))
			require.True(t, within(picked[int64(c)], all), "node %d: %v of %v", l.nid[c], picked[int64(c)], all)
		}
		for i, c := range l.col {
			if int(c) < end {
				reached = max(reached, int(l.row[i])+1)
			}
		}
		begin, end = end, reached
	}
	require.Equal(t, len(l.nid), end)
}

// within says whether each value of part is in whole at least as often.
func within(part, whole []int32) bool {
	left := map[int32]int{}
	for _, v := range whole {
		left[v]++
	}
	for _, v := range part {
		if left[v]--; left[v] < 0 {
			return false
		}
	}
	return true
}

func TestDrawIsUniform(t *testing.T) {
	l := newLane(nil)
	const d, k, draws = 10, 3, 100000
	var seen [d]int
	for range draws {
		l.places = l.places[:0]
		l.draw(0, d, k)
		for _, p := range l.places {
			seen[p]++
		}
	}
	for p, n := range seen {
		require.InDelta(t, draws*k/d, n, 900, "place %d", p) // six standard deviations
	}
}

func TestThreadsMakeTheSameBatches(t *testing.T) {
	g := randomGraph(2, 2000, 30000)
	seeds := make([]int32, 40*32)
	for i := range seeds {
		seeds[i] = int32(i % 2000)
	}
	var want map[int]int
	for _, threads := range []int{1, 2, 5} {
		got := map[int]int{}
		for done := range g.batches(job{seeds, 32, []int{5, 5}, threads, time.Hour}) {
			got[done.batch] = done.edges
		}
		require.Len(t, got, 40)
		if want == nil {
			want = got
		}
		require.Equal(t, want, got)
	}
}

func TestStopsEarly(t *testing.T) {
	g := randomGraph(3, 100, 1000)
	j := job{make([]int32, 1000), 1, []int{2}, 2, time.Hour}
	for range g.batches(j) {
		break // leaves no goroutine: TestMain looks
	}
	j.limit = 0
	for range g.batches(j) {
		t.Fatal("a batch after the limit")
	}
}

func TestArguments(t *testing.T) {
	for _, args := range [][]string{nil, {"csc"}, {"sample"}, {"sample", "-threads", "0", "a", "b"}, {"sample", "-fanouts", "x", "a", "b"}} {
		require.Error(t, run(args))
	}
	_, err := parseFanouts("25,0")
	require.ErrorContains(t, err, `"0"`)
}

func BenchmarkSample(b *testing.B) {
	g := randomGraph(4, 1<<18, 1<<22)
	l := newLane(g)
	seeds := make([]int32, 1024)
	for i := range seeds {
		seeds[i] = int32(i * 16)
	}
	edges := 0
	for i := 0; b.Loop(); i++ {
		l.sample(seeds, []int{25, 10}, uint64(i))
		edges += len(l.row)
	}
	b.ReportMetric(float64(edges)/b.Elapsed().Seconds()/1e6, "Medges/s")
}
