package bench

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/cockroachdb/datadriven"
	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// TestJobs reads job files: what they mean, or what is wrong with them.
func TestJobs(t *testing.T) {
	t.Setenv("JOB_TARGET", "/data/graph.bin")
	datadriven.RunTest(t, "testdata/jobs", func(t *testing.T, d *datadriven.TestData) string {
		override := map[string]string{}
		for _, a := range d.CmdArgs {
			override[a.Key] = a.Vals[0]
		}
		sections, err := ParseJob(strings.NewReader(d.Input), "test.job", override)
		if err != nil {
			require.ErrorIs(t, err, ErrOption)
			return err.Error() + "\n"
		}
		return given(sections)
	})
}

// given prints what was set, without the defaults.
func given(sections []Section) string {
	var b strings.Builder
	for _, s := range sections {
		b.WriteString("[" + s.Name + "] " + s.Settings.Workload.Name)
		for _, o := range OptionsOf(s.Settings.Workload.Name) {
			if w, ok := s.Settings.Given()[o.Name]; ok {
				b.WriteString(" " + o.Name + "=" + w)
			}
		}
		b.WriteString("\n")
	}
	return b.String()
}

// TestPrintMeansTheSame: what --parse-only prints is a job file that gives the
// same settings.
func TestPrintMeansTheSame(t *testing.T) {
	all := exampleJobs(t)
	again, err := ParseJob(strings.NewReader(Print(all)), "printed", nil)
	require.NoError(t, err)
	for i, s := range all {
		require.Equal(t, s.Settings.values, again[i].Settings.values, s.Name)
	}
}

// exampleJobs are the sections of bench/jobs, each of which must stay readable.
func exampleJobs(t *testing.T) []Section {
	t.Helper()
	for _, name := range []string{"GRAPH", "EDGES", "FEATURES"} {
		t.Setenv(name, "/data/"+name)
	}
	t.Setenv("ROWS", "1000")
	files, err := filepath.Glob("jobs/*.job")
	require.NoError(t, err)
	require.NotEmpty(t, files)
	var all []Section
	for _, f := range files {
		b, err := os.ReadFile(f)
		require.NoError(t, err)
		require.LessOrEqual(t, strings.Count(string(b), "\n"), 120, "%s is no small example any more", f)
		sections, err := ReadJobs(nil, f)
		require.NoError(t, err)
		all = append(all, sections...)
	}
	return all
}

// TestTable holds the table to its own rules.
func TestTable(t *testing.T) {
	var names []string
	for _, w := range Workloads() {
		names = append(names, w.Name)
		_, err := NewSettings(w.Name) // parses every default
		require.NoError(t, err)
		seen := map[string]bool{}
		for _, o := range OptionsOf(w.Name) {
			for _, n := range o.names() {
				require.False(t, seen[n], "%s has two options %q", w.Name, n)
				require.Equal(t, canonical(n), n)
				seen[n] = true
			}
			require.NotEmpty(t, o.Help, o.Name)
			require.NotContains(t, o.Describe(), "%!", o.Name)
		}
	}
	for _, o := range table {
		require.Subset(t, names, o.For, o.Name)
		require.False(t, o.For != nil && len(o.For) == 0, o.Name)
	}
}

func TestSelect(t *testing.T) {
	sections := []Section{{Name: "cold"}, {Name: "warm"}}
	got, err := Select(sections, []string{"warm"})
	require.NoError(t, err)
	require.Equal(t, sections[1:], got)
	got, err = Select(sections, nil)
	require.NoError(t, err)
	require.Equal(t, sections, got)
	_, err = Select(sections, []string{"wram"})
	require.ErrorIs(t, err, ErrOption)
	require.ErrorContains(t, err, `did you mean "warm"`)
}
