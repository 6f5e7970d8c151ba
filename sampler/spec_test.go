package sampler

import (
	"math"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestValidate(t *testing.T) {
	for _, c := range []struct {
		fanouts []int
		says    string
	}{
		{nil, ""},
		{[]int{25, 10}, ""},
		{[]int{0, All, math.MaxInt}, ""},
		{[]int{3, -2}, "fanout -2 in hop 2"},
		{[]int{math.MinInt}, "in hop 1"},
		{make([]int, MaxHops), ""},
		{make([]int, MaxHops+1), "256 fanouts"},
	} {
		if err := (Spec{Fanouts: c.fanouts}).Validate(); c.says == "" {
			require.NoError(t, err)
		} else {
			require.ErrorContains(t, err, c.says)
		}
	}
}

// FuzzSpec: whatever Validate lets pass has a bound that makes sense.
func FuzzSpec(f *testing.F) {
	f.Add(25, 10, 5, false, true, 1024, uint64(1<<30), uint64(1<<34))
	f.Add(-1, -2, 0, true, false, 0, uint64(0), uint64(0))
	f.Add(math.MaxInt, math.MaxInt, -1, true, true, math.MaxInt, uint64(math.MaxUint64), uint64(math.MaxUint64))
	f.Fuzz(func(t *testing.T, a, b, c int, replace, ids bool, seeds int, nodes, edges uint64) {
		sp := Spec{Fanouts: []int{a, b, c}, Replace: replace, EdgeIDs: ids}
		if valid := min(a, b, c) >= All; valid != (sp.Validate() == nil) {
			t.Fatalf("%v: %v", sp, sp.Validate())
		} else if !valid || seeds < 0 {
			return
		}
		got := sp.Bound(seeds, nodes, edges)
		if got.Nodes < int64(seeds) || got.Edges < 0 || got.ResultBytes < got.Nodes || got.ScratchBytes <= 0 {
			t.Fatalf("%v, %d seeds, %d nodes, %d edges: %+v", sp, seeds, nodes, edges, got)
		}
		if more := sp.Bound(seeds, nodes, edges/2); more.Edges > got.Edges || more.ScratchBytes > got.ScratchBytes {
			t.Fatalf("%v: half the edges need more: %+v over %+v", sp, more, got)
		}
	})
}

func TestBoundByHand(t *testing.T) {
	got := Spec{Fanouts: []int{25, 10}}.Bound(1024, 1<<30, 1<<34)
	require.EqualValues(t, 1024*25+1024*25*10, got.Edges)
	require.EqualValues(t, 1024+1024*25+1024*25*10, got.Nodes)
	all := Spec{Fanouts: []int{All, All}}.Bound(8, 100, 5000)
	require.EqualValues(t, 108, all.Nodes)
	require.EqualValues(t, 10_000, all.Edges)
}
