package bench

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestMannWhitney compares with values of the published tables of critical
// values and of R's wilcox.test.
func TestMannWhitney(t *testing.T) {
	for _, c := range []struct {
		a, b []float64
		want float64
	}{
		{[]float64{1}, []float64{2}, 1},
		{[]float64{1, 2, 3}, []float64{4, 5, 6}, 2. / 20},
		{[]float64{1, 2, 3, 4}, []float64{5, 6, 7, 8}, 2. / 70},
		{[]float64{5, 6, 7, 8}, []float64{1, 2, 3, 4}, 2. / 70},
		{[]float64{1, 2, 3, 5}, []float64{4, 6, 7, 8}, 4. / 70},
		{[]float64{1, 3, 5, 7}, []float64{2, 4, 6, 8}, 0.685714},
		{[]float64{1, 2, 3, 4, 5}, []float64{6, 7, 8, 9, 10}, 2. / 252},
		{[]float64{1, 2}, []float64{3, 4, 5}, 2. / 10},
		{[]float64{1, 1, 1, 1}, []float64{1, 1, 1, 1}, 1},
		{[]float64{1, 1, 2, 2}, []float64{3, 3, 4, 4}, 0.0265}, // with ties: wilcox.test(…, correct=TRUE)
		{nil, []float64{1}, 1},
	} {
		require.InDelta(t, c.want, mannWhitney(c.a, c.b), 0.0008, "%v %v", c.a, c.b)
	}
}

func TestConclusions(t *testing.T) {
	side := func(values ...float64) Summary { return summary(Metric{"x", 0, Higher}, values) }
	for _, c := range []struct {
		old, new Summary
		better   Better
		want     Says
	}{
		{side(1, 1, 1), side(1, 1), Higher, Same},
		{side(1, 2, 3), side(4, 5, 6), Higher, TooFew},
		{side(1, 2, 3, 4), side(5, 6, 7, 8), Higher, Improved},
		{side(1, 2, 3, 4), side(5, 6, 7, 8), Lower, Worsened},
		{side(5, 6, 7, 8), side(1, 2, 3, 4), Lower, Improved},
		{side(1, 2, 3, 4), side(5, 6, 7, 8), Neither, Different},
		{side(1, 3, 5, 7), side(2, 4, 6, 8), Higher, Unknown},
	} {
		old, new := c.old, c.new
		old.Better, new.Better = c.better, c.better
		got := compareSummaries([]Summary{old}, []Summary{new})
		require.Equal(t, c.want, got[0].Says, "%v %v", c.old.Values, c.new.Values)
	}
}

func TestSummary(t *testing.T) {
	s := summary(Metric{"x", 0, Higher}, []float64{30, 10, 20})
	require.Equal(t, Summary{Name: "x", Better: Higher, Median: 20, Min: 10, Max: 30, Spread: 1, Values: []float64{30, 10, 20}}, s)
	require.InDelta(t, 15, median([]float64{20, 10}), 1e-9)
	require.Zero(t, summary(Metric{"x", 0, Higher}, []float64{0, 0}).Spread)
}

func TestLoadRefuses(t *testing.T) {
	path := filepath.Join(t.TempDir(), "x.json")
	for _, text := range []string{"", "{}", "[1]", `{"format":"fio"}`} {
		require.NoError(t, os.WriteFile(path, []byte(text), 0o644))
		_, err := Load(path)
		require.ErrorIs(t, err, ErrOption, text)
		require.ErrorContains(t, err, "--json")
	}
	_, err := Load(path + ".gone")
	require.ErrorIs(t, err, os.ErrNotExist)
}

// TestCompareText shows a page with every mark.
func TestCompareText(t *testing.T) {
	saved := func(path string, depth string, values ...float64) *Saved {
		s := &SavedSection{Name: "a", Workload: "device", Options: map[string]string{"depth": depth}, Warnings: []string{"busy"}}
		s.Summary = []Summary{summary(Metric{"iops", 0, Higher}, values), summary(Metric{"same", 0, Lower}, []float64{1, 1})}
		return &Saved{Path: path, Sections: []*SavedSection{s}}
	}
	text := Compare(saved("old.json", "1", 1000, 1001, 1002, 1003), saved("new.json", "2", 2000, 2001, 2002, 2003)).Text()
	for _, want := range []string{"[a] differs in depth", "[a], old: busy", "+99.9 %", "better", "0.029", "4+4", "="} {
		require.Contains(t, text, want)
	}
	require.NotContains(t, text, "--repeat")
	require.Contains(t, Compare(saved("a", "1", 1), saved("b", "1", 2)).Text(), "--repeat")
	require.False(t, strings.Contains(text, "%!"), text)
}
