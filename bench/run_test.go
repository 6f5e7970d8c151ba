package bench

import (
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/aether-ooc/aether-ooc/engine"
	"github.com/aether-ooc/aether-ooc/ingest"
)

// input is an RMAT graph with what it was built from.
type input struct{ edges, graph, dir string }

// tiny builds one of 2^10 nodes and 2^14 edges.
func tiny(t testing.TB) input {
	t.Helper()
	dir := t.TempDir()
	in := input{filepath.Join(dir, "edges.npy"), filepath.Join(dir, "graph.bin"), dir}
	_, err := ingest.RMAT(t.Context(), ingest.RMATConfig{Scale: 10, EdgeFactor: 16, Seed: 1, Out: in.edges})
	require.NoError(t, err)
	_, err = ingest.Run(t.Context(), ingest.Config{Input: in.edges, Out: in.graph, Workers: 1})
	require.NoError(t, err)
	return in
}

// quick are options that make each workload end in milliseconds.
func (in input) quick() map[string]string {
	return map[string]string{
		"device":   "target=" + in.graph + " runtime=20ms ramp=5ms depth=4",
		"fio":      "target=" + in.graph + " runtime=20ms ramp=0 depth=4",
		"sample":   "target=" + in.graph + " batches=6 ramp=2 batch-size=64 fanouts=5,5 memory=16MiB calibrate=10ms",
		"features": "target=" + filepath.Join(in.dir, "x.npy") + " rows=1024 dim=16 ids=zipf gather=200 batches=6 ramp=2 memory=16MiB",
		"serve":    "target=" + in.graph + " batches=6 ramp=2 batch-size=64 fanouts=5,5 memory=16MiB clients=2",
		"cache":    "target=" + in.graph + " batches=6 ramp=2 batch-size=64 fanouts=5,5 memory=3MiB lanes=1",
		"build":    "target=" + in.edges + " workers=1",
	}
}

func settingsOf(t testing.TB, workload, options string) *Settings {
	t.Helper()
	s, err := NewSettings(workload)
	require.NoError(t, err)
	for _, o := range strings.Fields(options) {
		name, word, _ := strings.Cut(o, "=")
		require.NoError(t, s.Set(name, word))
	}
	return s
}

// TestEveryWorkload runs each workload and looks at all that a report is printed
// as.
func TestEveryWorkload(t *testing.T) {
	in := tiny(t)
	fakeFio(t, printsReport)
	for _, w := range Workloads() {
		t.Run(w.Name, func(t *testing.T) {
			options, ok := in.quick()[w.Name]
			require.True(t, ok, "the test knows no quick run of %s", w.Name)
			d, err := Run(t.Context(), []Section{{w.Name, settingsOf(t, w.Name, options)}}, Hooks{})
			require.NoError(t, err)
			r := d.single()
			require.NotNil(t, r)
			require.NotEmpty(t, r.common().Verdict)
			require.False(t, r.common().CutShort)
			require.Positive(t, r.common().Seconds)
			for _, m := range r.Metrics() {
				require.GreaterOrEqual(t, m.Value, 0., m.Name)
			}
			for _, text := range []string{r.Text(), d.Text()} {
				require.NotContains(t, text, "%!")
				require.NotContains(t, text, "NaN")
				require.Contains(t, text, "verdict")
			}
			testFlat(t, d)
			page, err := d.HTML()
			require.NoError(t, err)
			require.NotContains(t, string(page), "%!")
			require.NotRegexp(t, `(src|href)="?https?:`, string(page), "the page needs the network")
		})
	}
}

// testFlat: the JSON of one run has the run's own keys at its top, and compare
// can read it.
func testFlat(t *testing.T, d *Document) {
	t.Helper()
	plain, err := d.JSON(false)
	require.NoError(t, err)
	raw, err := d.JSON(true)
	require.NoError(t, err)
	require.NotContains(t, string(plain), `"buckets"`)
	var fields map[string]any
	require.NoError(t, json.Unmarshal(raw, &fields))
	for _, k := range []string{"format", "host", "section", "workload", "seconds", "cut_short", "verdict", "cpu_seconds", "gc_cpu_share", "peak_rss_bytes", "place"} {
		require.Contains(t, fields, k)
	}
	path := filepath.Join(t.TempDir(), "run.json")
	require.NoError(t, os.WriteFile(path, plain, 0o644))
	s, err := Load(path, path)
	require.NoError(t, err)
	require.Len(t, s.Sections, 1)
	require.NotEmpty(t, s.Sections[0].Summary)
	for _, m := range s.Sections[0].Summary {
		require.Len(t, m.Values, 2, m.Name)
	}
	require.NotEmpty(t, Compare(s, s).Text())
}

// TestTurns: the runs of several sections take turns.
func TestTurns(t *testing.T) {
	in := tiny(t)
	a, b := settingsOf(t, "device", in.quick()["device"]+" repeat=3"), settingsOf(t, "device", in.quick()["device"]+" repeat=2")
	d, err := Run(t.Context(), []Section{{"a", a}, {"b", b}}, Hooks{})
	require.NoError(t, err)
	require.Nil(t, d.single())
	var order []time.Time
	for _, at := range [][2]int{{0, 0}, {1, 0}, {1, 1}, {0, 1}, {0, 2}} { // every second round runs backwards
		order = append(order, d.Sections[at[0]].Runs[at[1]].common().Started)
	}
	require.Len(t, d.Sections[1].Runs, 2)
	require.IsIncreasing(t, []int64{order[0].UnixNano(), order[1].UnixNano(), order[2].UnixNano(), order[3].UnixNano(), order[4].UnixNano()})
	require.Contains(t, d.Text(), "3 runs")
	b2, err := d.JSON(false)
	require.NoError(t, err)
	var saved Saved
	require.NoError(t, json.Unmarshal(b2, &saved))
	require.Len(t, saved.Sections[0].Summary[0].Values, 3)
}

// TestInterrupted: what was measured until an interrupt is reported, and marked.
func TestInterrupted(t *testing.T) {
	in := tiny(t)
	x := filepath.Join(in.dir, "x.npy")
	for _, c := range []struct {
		workload, options string
		measured          bool // something comes of a part of a run
	}{
		{"device", "target=" + in.graph + " runtime=1h ramp=0", true},
		{"device", "target=" + in.graph + " runtime=1ms ramp=0 sweep sweep-sizes=4k,8k sweep-depths=1,2,3,4,5,6,7,8", true},
		{"sample", "target=" + in.graph + " batches=1000000000 ramp=0 batch-size=16 memory=16MiB", true},
		{"serve", "target=" + in.graph + " batches=1000000000 ramp=0 batch-size=16 memory=16MiB clients=2", true},
		{"features", "target=" + x + " rows=1024 dim=16 gather=100 batches=1000000000 ramp=0 memory=16MiB", true},
		{"cache", "target=" + in.graph + " batches=1000000000 ramp=0 batch-size=16 memory=16MiB", false},
		{"build", "target=" + in.edges, false},
	} {
		t.Run(c.workload, func(t *testing.T) {
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			s := settingsOf(t, c.workload, strings.ReplaceAll(c.options, " sweep ", " sweep=1 ")+" status-interval=1ms repeat=2")
			h := Hooks{Status: func(string, Status) { cancel() }}
			if !c.measured || s.on("sweep") {
				h.Progress = func(string, int64, int64) { cancel() }
			}
			d, err := Run(ctx, []Section{{c.workload, s}}, h)
			require.NoError(t, err)
			require.True(t, d.CutShort)
			require.NotNil(t, d.single())
			require.True(t, d.single().common().CutShort)
			require.Contains(t, d.Text(), "CUT SHORT")
			require.NotContains(t, d.Text(), "NaN")
			if c.measured {
				require.Positive(t, d.single().common().Seconds)
				require.Positive(t, d.single().Metrics()[0].Value)
			}
			_, err = d.HTML()
			require.NoError(t, err)
		})
	}
	left, err := filepath.Glob(filepath.Join(in.dir, "*bench*"))
	require.NoError(t, err)
	require.Empty(t, left, "temporary files")
}

// TestSameSeedSameCounts: two runs of the same seed count the same, as far as the
// counts do not hang on who comes first. docs/BENCHMARKING.md says which those are.
func TestSameSeedSameCounts(t *testing.T) {
	in := tiny(t)
	made := func(r *SampleResult) []any { return []any{r.SampledEdges, r.SampledNodes, r.UsedBytes, r.Batches} }
	asked := func(r *SampleResult) []any { return append(made(r), r.Blocks) }
	all := func(r *SampleResult) []any { return append(asked(r), r.Reads, r.ReadBytes) }
	for options, counts := range map[string]func(*SampleResult) []any{
		"": made, // lanes, lockstep, and the adjacency on its way into memory
		"lanes=2 resident=off lockstep=1 memory=4MiB":                                                asked,
		"lanes=1 resident=off lockstep=1 policy=clock memory=16MiB":                                  all, // room for all
		"lanes=1 resident=off lockstep=1 policy=clock memory=1MiB depth=1 batch-size=16 fanouts=3,3": all, // reads one by one
	} {
		run := func(seed string) []any {
			s := settingsOf(t, "sample", in.quick()["sample"]+" calibrate=0 seed="+seed+" "+options)
			d, err := Run(t.Context(), []Section{{"a", s}}, Hooks{})
			require.NoError(t, err)
			return counts(d.single().(*SampleResult))
		}
		first := run("1")
		require.Equal(t, first, run("1"), options)
		require.NotEqual(t, first, run("2"), options)
	}
}

// TestSameSeedSameGathers: the same of feature rows.
func TestSameSeedSameGathers(t *testing.T) {
	in := tiny(t)
	run := func(options string) []any {
		d, err := Run(t.Context(), []Section{{"a", settingsOf(t, "features", "target="+in.dir+"/rows.npy rows=20000 dim=32 gather=300 batches=6 ramp=1 memory=4MiB "+options)}}, Hooks{})
		require.NoError(t, err)
		r := d.single().(*FeaturesResult)
		if r.Lanes > 1 {
			return []any{r.Gathers, r.Rows, r.UsedBytes}
		}
		return []any{r.Gathers, r.Rows, r.UsedBytes, r.Blocks, r.Reads, r.ReadBytes}
	}
	for _, options := range []string{"lanes=1 policy=clock", "lanes=2"} {
		require.Equal(t, run(options), run(options), options)
	}
	require.NotEqual(t, run("lanes=1 policy=clock"), run("lanes=1 policy=clock seed=2"))
}

func TestRunRefuses(t *testing.T) {
	in := tiny(t)
	for _, c := range []struct {
		workload, options string
		kind              error // nil: any
		says              string
	}{
		{"device", "", ErrOption, "target"},
		{"device", "target=/nowhere", os.ErrNotExist, "/nowhere"},
		{"device", "target=" + in.graph + " block-size=1g", nil, "larger file"},
		{"device", "target=" + in.graph + " block-size=1000", ErrOption, "512"},
		{"sample", "target=" + in.graph + " input-nodes=" + in.graph, ErrOption, "input-nodes"},
		{"sample", "target=" + in.graph + " memory=1k", engine.ErrOverBudget, "least"},
		{"sample", "target=" + in.edges, nil, in.edges},
	} {
		_, err := Run(t.Context(), []Section{{"x", settingsOf(t, c.workload, c.options)}}, Hooks{})
		require.ErrorContains(t, err, c.says)
		require.ErrorContains(t, err, "[x]")
		if c.kind != nil {
			require.ErrorIs(t, err, c.kind)
		}
	}
}

// TestOneFails: the others go on, and the error comes with the report.
func TestOneFails(t *testing.T) {
	in := tiny(t)
	good, bad := settingsOf(t, "device", in.quick()["device"]+" repeat=2"), settingsOf(t, "device", "target=/nowhere repeat=2")
	d, err := Run(t.Context(), []Section{{"bad", bad}, {"good", good}}, Hooks{})
	require.ErrorIs(t, err, os.ErrNotExist)
	require.ErrorContains(t, err, "[bad]")
	require.Len(t, d.Sections[1].Runs, 2)
	require.Contains(t, d.Text(), "FAILED: ")
	_, err = d.HTML()
	require.NoError(t, err)
	d, err = Run(t.Context(), []Section{{"bad", bad}, {"worse", bad}}, Hooks{})
	require.Error(t, err)
	require.Nil(t, d)
}

// TestSweep: a sweep measures every size at every depth, and writes a profile.
func TestSweep(t *testing.T) {
	in := tiny(t)
	profile := filepath.Join(in.dir, "device.json")
	options := in.quick()["device"] + " sweep=1 sweep-sizes=4k,8k sweep-depths=1,2,4 runtime=5ms ramp=0 profile="
	d, err := Run(t.Context(), []Section{{"s", settingsOf(t, "device", options+profile)}}, Hooks{})
	require.NoError(t, err)
	r := d.single().(*SweepResult)
	require.Len(t, r.Cells, 6)
	require.Equal(t, []int64{4096, 8192}, r.sizes())
	require.Equal(t, []int64{1, 2, 4}, r.depths())
	testFlat(t, d)
	page, err := d.HTML()
	require.NoError(t, err)
	require.Contains(t, string(page), "<svg")

	b, err := os.ReadFile(profile)
	require.NoError(t, err)
	var p DeviceProfile
	require.NoError(t, json.Unmarshal(b, &p))
	require.Equal(t, ProfileFormat, p.Format)
	require.Len(t, p.Reads, 2)
	for _, read := range p.Reads {
		require.Positive(t, read.CostNs)
		require.InEpsilon(t, 1e9, read.CostNs*read.BestIOPS, 1e-6)
		require.EqualValues(t, 1, read.LeastAt)
	}

	for options, says := range map[string]string{
		options + in.graph:                           "is an input", // the profile must not replace what is measured
		in.quick()["device"] + " profile=" + profile: "add sweep",
	} {
		_, err = Run(t.Context(), []Section{{"s", settingsOf(t, "device", options)}}, Hooks{})
		require.ErrorIs(t, err, ErrOption)
		require.ErrorContains(t, err, says)
	}
}

// TestPlaces: a lane reads where and as much as it is told to.
func TestPlaces(t *testing.T) {
	const size = 1 << 20
	c := DeviceConfig{Mix: []Portion{{4096, 3}, {16384, 1}}, Lanes: 2, Seed: 1}
	p, sizes := newPlaces(c, size, 0), map[int64]int{}
	for range 4000 {
		off, n := p.next()
		require.Zero(t, off%n)
		require.LessOrEqual(t, off+n, int64(size))
		sizes[n]++
	}
	require.InDelta(t, 3000, sizes[4096], 120)
	require.Equal(t, 4000, sizes[4096]+sizes[16384])

	c = DeviceConfig{BlockBytes: 4096, Lanes: 2, Sequential: true}
	p = newPlaces(c, size, 1)
	for i := range int64(300) { // from the middle, and round
		off, n := p.next()
		require.Equal(t, (size/2+i*4096)%size, off)
		require.EqualValues(t, 4096, n)
	}
}

func TestWideSpreadWarns(t *testing.T) {
	fast, slow := &DeviceResult{IOPS: 100}, &DeviceResult{IOPS: 50}
	s := &SectionReport{Runs: []Result{fast, slow, fast}}
	s.summarize()
	require.Len(t, s.Warnings, 1)
	require.Contains(t, s.text(), "WARNING: iops differs by 50.0 %")
	require.Same(t, fast, s.typical())
	fast.OthersCPUShare = 0.5
	busy := &SectionReport{Runs: []Result{fast, fast}}
	busy.summarize()
	require.Contains(t, busy.text(), "WARNING: other programs took up to 50.0 % of the machine")
	fast.OthersCPUShare = 0
	calm := &SectionReport{Runs: []Result{fast, fast}}
	calm.summarize()
	require.Empty(t, calm.Warnings)
}

// TestShareOfMemory: a share is one of 4 bytes for each edge.
func TestShareOfMemory(t *testing.T) {
	in := tiny(t)
	for word, want := range map[string]int64{"16MiB": 16 << 20, "0.5g": 1 << 29, "100%": 4 << 14, "12.5%": 1 << 13} {
		o, err := engineOptions(settingsOf(t, "sample", "target="+in.graph+" memory="+word))
		require.NoError(t, err)
		require.Equal(t, want, o.Memory, word)
	}
	for target, says := range map[string]string{in.edges: in.edges, in.dir + "/gone": "gone"} {
		_, err := engineOptions(settingsOf(t, "sample", "target="+target+" memory=25%"))
		require.ErrorContains(t, err, says)
	}
	d, err := Run(t.Context(), []Section{{"a", settingsOf(t, "sample", in.quick()["sample"]+" memory=40000%")}}, Hooks{})
	require.NoError(t, err)
	require.InDelta(t, 400, d.single().(*SampleResult).BudgetShare, 1e-9)
	require.Contains(t, d.Text(), "40000.0 % of the adjacency as plain 32-bit ids, 4 B × 16,384 edges")
}

// TestLatencies: of the means, what is in the kernel and what is in our ring add up
// to the whole.
func TestLatencies(t *testing.T) {
	in := tiny(t)
	d, err := Run(t.Context(), []Section{{"a", settingsOf(t, "device", "target="+in.graph+" runtime=20ms ramp=0 depth=50")}}, Hooks{})
	require.NoError(t, err)
	r := d.single().(*DeviceResult)
	// The clock is read once for what comes together, so on a busy machine the parts do not meet quite.
	require.InEpsilon(t, r.Latency.Mean, r.Clat.Mean+r.Slat.Mean, 0.3)
	require.GreaterOrEqual(t, r.Latency.P99, r.Clat.P50)
	require.Positive(t, r.Slat.P50)
}

func TestTimes(t *testing.T) {
	q := times{ring: make([]time.Duration, 3)}
	next := time.Duration(0)
	for i := range time.Duration(100) {
		q.put(i)
		if i%3 == 2 { // full: three are taken, in their order
			for range 3 {
				require.Equal(t, next, q.take())
				next++
			}
		}
	}
}

// TestHops: what the hops ask for is all that the batches ask for, when nothing but
// lists is asked for; the edges of the hops are all edges.
func TestHops(t *testing.T) {
	in := tiny(t)
	for _, options := range []string{"lanes=1 lockstep=1", "lanes=2", "lanes=2 lockstep=4 fanouts=5,5,5"} {
		s := settingsOf(t, "sample", in.quick()["sample"]+" calibrate=0 edge-ids=0 resident=off memory=4MiB "+options)
		d, err := Run(t.Context(), []Section{{"a", s}}, Hooks{})
		require.NoError(t, err)
		r := d.single().(*SampleResult)
		var sum Hop
		for _, h := range r.Hops {
			require.Positive(t, h.Blocks, options)
			sum.Edges, sum.Blocks, sum.Reads, sum.ReadBytes = sum.Edges+h.Edges, sum.Blocks+h.Blocks, sum.Reads+h.Reads, sum.ReadBytes+h.ReadBytes
		}
		require.Len(t, r.Hops, len(r.Request.Fanouts))
		require.Equal(t, []int64{r.SampledEdges, r.Blocks, r.Reads, r.ReadBytes}, []int64{sum.Edges, sum.Blocks, sum.Reads, sum.ReadBytes}, options)
	}
}
