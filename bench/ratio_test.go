package bench

import (
	"encoding/json"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
)

// measured is a report of runs with the given IOPS.
func measured(sections ...*SectionReport) *Document {
	d := &Document{Format: Format, Sections: sections}
	d.finish(false)
	return d
}

func sectionOf(name string, options map[string]string, iops ...float64) *SectionReport {
	s := &SectionReport{SavedSection: SavedSection{Name: name, Workload: "device", Options: options}}
	for _, x := range iops {
		s.Runs = append(s.Runs, &DeviceResult{IOPS: x, BytesPerSec: 4 * x})
	}
	return s
}

func TestRatio(t *testing.T) {
	against := func(name, figure string) map[string]string {
		return map[string]string{"against": name, "figure": figure}
	}
	d := measured(
		sectionOf("base", nil, 100, 110, 120),
		sectionOf("ours", against("base", ""), 99, 121, 108),
		sectionOf("bytes", against("base", "bytes_per_second"), 99, 121, 108),
		sectionOf("itself", against("itself", ""), 1),
		sectionOf("nobody", against("gone", ""), 1),
		sectionOf("nothing", against("base", "ipos"), 1),
	)
	want := Summary{Name: "ratio_to_base", Better: Higher, Median: 108. / 110, Min: 0.9, Max: 1.1, Values: []float64{0.99, 1.1, 0.9}, Of: "iops ÷ iops"}
	want.Spread = (want.Max - want.Min) / want.Median
	got := d.ratios()
	require.Len(t, got, 2)
	requireSummary(t, want, got[0].Summary)
	want.Of = "bytes_per_second ÷ bytes_per_second"
	requireSummary(t, want, got[1].Summary)
	require.Contains(t, d.Text(), "[ours] ÷ [base]")
	require.Contains(t, d.Text(), "0.982")
	require.Contains(t, d.Text(), "no ratio to [gone]: it was not run")
	require.Contains(t, d.Text(), `no figure "ipos"; did you mean "iops"?`)
	page, err := d.HTML()
	require.NoError(t, err)
	require.Contains(t, string(page), "<h2>Ratios</h2>")
}

func requireSummary(t *testing.T, want, got Summary) {
	t.Helper()
	require.InDeltaSlice(t, []float64{want.Median, want.Min, want.Max, want.Spread}, []float64{got.Median, got.Min, got.Max, got.Spread}, 1e-12)
	require.InDeltaSlice(t, want.Values, got.Values, 1e-12)
	require.Equal(t, []string{want.Name, string(want.Better), want.Of}, []string{got.Name, string(got.Better), got.Of})
}

// TestRatioOfFiles: compare knows ratios, and those of several files are of all
// their runs.
func TestRatioOfFiles(t *testing.T) {
	dir := t.TempDir()
	save := func(name string, base, ours float64) string {
		b, err := measured(sectionOf("base", nil, base), sectionOf("ours", map[string]string{"against": "base"}, ours)).JSON(false)
		require.NoError(t, err)
		require.Contains(t, string(b), `"ratio_to_base"`)
		path := filepath.Join(dir, name)
		require.NoError(t, os.WriteFile(path, b, 0o644))
		return path
	}
	s, err := Load(save("a", 100, 50), save("b", 10, 20), save("c", 20, 30))
	require.NoError(t, err)
	m := s.Sections[1].find("ratio_to_base")
	require.InDelta(t, 1.5, m.Median, 1e-12) // 30 ÷ 20
	require.InDeltaSlice(t, []float64{0.5, 2, 1.5}, m.Values, 1e-12)
	require.Contains(t, Compare(s, s).Text(), "ratio_to_base")
	_, err = json.Marshal(Compare(s, s))
	require.NoError(t, err)
}

func TestTurnsOfRounds(t *testing.T) {
	require.Equal(t, []int{0, 1, 2}, turns(3, 0))
	require.Equal(t, []int{2, 1, 0}, turns(3, 1))
	require.Equal(t, []int{0, 1, 2}, turns(3, 2))
}
