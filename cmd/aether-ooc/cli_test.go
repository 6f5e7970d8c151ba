package main

import (
	"bytes"
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/spf13/cobra"
	"github.com/stretchr/testify/require"

	"github.com/aether-ooc/aether-ooc/internal/npy"
)

// outcome is what one command line did.
type outcome struct {
	code     int
	out, err string
}

func invoke(t *testing.T, args ...string) outcome {
	t.Helper()
	var out, err bytes.Buffer
	code := execute(context.Background(), args, streams{in: strings.NewReader(""), out: &out, err: &err})
	return outcome{code, out.String(), err.String()}
}

// tiny builds a graph of a few edges and gives its path.
func tiny(t *testing.T, flags ...string) string {
	t.Helper()
	dir := t.TempDir()
	edges, graph := filepath.Join(dir, "edges.txt"), filepath.Join(dir, "graph.bin")
	require.NoError(t, os.WriteFile(edges, []byte("# source target\n0 1\n2 1\n1 0\n3 3\n0 1\n"), 0o644))
	got := invoke(t, append([]string{"build", edges, "--out", graph}, flags...)...)
	require.Zero(t, got.code, got.err)
	return graph
}

func TestEveryCommandTeaches(t *testing.T) {
	require.NoError(t, eachCommand(newRoot(streams{}), func(c *cobra.Command) error {
		require.NotEmpty(t, c.Short, c.CommandPath())
		if !c.HasSubCommands() {
			require.Contains(t, c.Example, c.CommandPath(), "%s --help has no example", c.CommandPath())
			require.NotEmpty(t, c.Long, c.CommandPath())
		}
		return nil
	}))
}

// TestCLIPage keeps docs/CLI.md true; make docs mends it.
func TestCLIPage(t *testing.T) {
	want, err := cliPage(newRoot(streams{}))
	require.NoError(t, err)
	got, err := os.ReadFile("../../docs/CLI.md")
	require.NoError(t, err)
	require.True(t, bytes.Equal(want, got), "docs/CLI.md is stale: run make docs")
}

func TestExitCodes(t *testing.T) {
	graph := tiny(t)
	damaged := filepath.Join(t.TempDir(), "damaged.bin")
	b, err := os.ReadFile(graph)
	require.NoError(t, err)
	b[4096+30] ^= 1
	require.NoError(t, os.WriteFile(damaged, b, 0o644))
	short := filepath.Join(t.TempDir(), "short.bin")
	require.NoError(t, os.WriteFile(short, b[:8192], 0o644))
	out := filepath.Join(t.TempDir(), "out.bin")
	edges, other := filepath.Join(filepath.Dir(graph), "edges.txt"), filepath.Join(filepath.Dir(graph), "other.txt")
	require.NoError(t, os.WriteFile(other, []byte("5 1\n0 1\n"), 0o644))
	job := filepath.Join(t.TempDir(), "a.job")
	require.NoError(t, os.WriteFile(job, []byte("[global]\nworkload=device\ntarget="+graph+"\nruntime=10ms\nramp=0\n[first]\n[second]\nbs=8k\n"), 0o644))

	for _, c := range []struct {
		args string
		code int
		says string
	}{
		{"", exitOK, ""},
		{"--version", exitOK, ""},
		{"buld x", exitUsage, "unknown command"},
		{"bench samples x", exitUsage, "unknown command"},
		{"build", exitUsage, "takes edge lists"},
		{"build a b --out c", exitFailure, "open a: no such file"},
		{"build a --out c --colour red", exitUsage, "unknown flag"},
		{"build a --out c --direction up", exitUsage, "in, out"},
		{"build a --out c --memory lots", exitUsage, "no size"},
		{"build /nowhere/e.npy --out " + out, exitFailure, "/nowhere/e.npy"},
		{"verify " + graph, exitOK, ""},
		{"verify " + damaged, exitCorrupt, damaged},
		{"verify " + short, exitCorrupt, short},
		{"verify " + graph + " --against " + edges, exitOK, ""},
		{"verify " + graph + " --against " + edges + " " + edges, exitUsage, "given twice"},
		{"verify " + graph + " --against " + other, exitCorrupt, other},
		{"verify " + graph + " --against -", exitUsage, "name a file"},
		{"verify " + graph + " --against " + edges + " --header perhaps", exitUsage, "auto, no, yes"},
		{"verify " + graph + " " + edges, exitUsage, "one graph"},
		{"merge " + graph, exitUsage, "edge lists"},
		{"merge " + graph + " " + other + " --out " + out, exitOK, ""},
		{"verify " + out + " --against " + edges + " " + other, exitOK, ""},
		{"merge " + graph + " " + other + " --out " + graph, exitUsage, "is an input too"},
		{"merge " + graph + " " + other + " --out " + out + " --encoding tight", exitUsage, "compact, plain"},
		{"merge " + graph + " " + other + " --out " + out + " --num-nodes 3", exitUsage, "too few"},
		{"merge " + damaged + " " + other + " --out " + out, exitCorrupt, damaged},
		{"inspect " + short, exitCorrupt, short},
		{"inspect /nowhere/g.bin", exitFailure, "/nowhere/g.bin"},
		{"sample " + damaged + " --fanouts 2 --batch-size 2", exitCorrupt, damaged},
		{"sample " + graph + " --fanouts -2", exitUsage, "-1 takes all"},
		{"sample " + graph + " --batch-size 0", exitUsage, "BatchSize"},
		{"sample " + graph + " --io punchcards", exitUsage, "punchcards"},
		{"sample " + graph + " --memory 1KiB", exitFailure, "least"},
		{"serve " + graph + " --listen carrier-pigeon", exitUsage, "unix://"},
		{"bench device " + graph + " --block-size 100", exitUsage, "512"},
		{"bench sample " + graph + " --batches 0", exitUsage, "at least one batch"},
		{"bench device " + graph + " --bs 4k --iodepth 2 --ioengine psync --runtime 10ms --ramp_time 0", exitOK, ""},
		{"bench device " + graph + " --pattern rnadread", exitUsage, `did you mean "randread"`},
		{"bench --cmdhelp iodepth", exitOK, ""},
		{"bench --cmdhelp dpeth", exitUsage, `did you mean "depth"`},
		{"bench run " + job, exitOK, ""},
		{"bench run " + job + " --section first --repeat 2 --seed 7 --json=json+", exitOK, ""},
		{"bench run " + job + " --section frist", exitUsage, `did you mean "first"`},
		{"bench run " + job + " --parse-only --runtime 5", exitOK, ""},
		{"bench run " + job + " --json=yaml", exitUsage, "json+"},
		{"bench run " + job + " --runtime soon", exitUsage, "a bare number counts seconds"},
		{"bench run", exitUsage, "one job file"},
		{"bench run " + job + " --section first --report " + filepath.Join(filepath.Dir(job), "r.html"), exitOK, ""},
		{"bench run " + job + " --report /dev/null", exitUsage, "/dev/null"},
		{"bench compare " + job + " " + job, exitUsage, "--json"},
		{"bench compare " + job, exitUsage, "two reports"},
		{"bench run /nowhere/a.job", exitFailure, "/nowhere/a.job"},
	} {
		got := invoke(t, strings.Fields(c.args)...)
		require.Equal(t, c.code, got.code, "%s: %s", c.args, got.err)
		require.Contains(t, got.err, c.says, c.args)
		require.Equal(t, c.code != exitOK, got.err != "", "%s: %s", c.args, got.err)
	}
}

// TestInputNodes shows that a list means what it says, were it empty, and that
// one which cannot be meant is refused before any work.
func TestInputNodes(t *testing.T) {
	graph := tiny(t) // four nodes
	dir := t.TempDir()
	save := func(name, dtype string, n int64, data ...byte) string {
		path := filepath.Join(dir, name)
		require.NoError(t, os.WriteFile(path, append(npy.AppendHeader(nil, dtype, []int64{n}), data...), 0o644))
		return path
	}
	for _, c := range []struct {
		list string
		seen int64 // nodes without a fanout: the seeds
	}{
		{"all", 4},
		{save("none.npy", "int64", 0), 0},
		{save("some.npy", "int32", 2, 3, 0, 0, 0, 1, 0, 0, 0), 2},
		{save("mask.npy", "bool", 4, 1, 0, 1, 1), 3},
		{save("no-mask.npy", "bool", 4, 0, 0, 0, 0), 0},
	} {
		got := invoke(t, "sample", graph, "--fanouts", "0", "--input-nodes", c.list, "--json", "--out", filepath.Join(dir, "b.arrow"))
		require.Zero(t, got.code, got.err)
		var report struct {
			Batches      int64 `json:"batches"`
			SampledNodes int64 `json:"sampled_nodes"`
		}
		require.NoError(t, json.Unmarshal([]byte(got.out), &report))
		require.Equal(t, c.seen, report.SampledNodes, c.list)
		require.Equal(t, min(c.seen, 1), report.Batches, c.list)
	}

	short, long := save("short.npy", "bool", 3, 1, 1, 1), save("long.npy", "bool", 5, 1, 0, 0, 0, 0)
	for _, line := range []string{
		"sample " + graph + " --input-nodes " + short,
		"sample " + graph + " --input-nodes " + long,
		"bench sample " + graph + " --input-nodes " + long,
		"sample " + graph + " --input-nodes " + graph,
		"sample " + graph + " --input-nodes " + filepath.Join(dir, "some.npy") + " --out " + filepath.Join(dir, "some.npy"),
		"sample " + graph + " --out " + graph,
		"sample " + graph + " --out " + dir,
		"bench sample " + graph + " --io punchcards",
		"bench sample " + graph + " --policy lottery",
		"bench sample " + graph + " --batch-size 0",
		"bench device " + graph + " --io punchcards",
	} {
		got := invoke(t, strings.Fields(line)...)
		require.Equal(t, exitUsage, got.code, "%s: %s", line, got.err)
	}
	require.Zero(t, invoke(t, "verify", graph).code)
}

func TestReportsAreJSON(t *testing.T) {
	graph := tiny(t)
	for _, args := range []string{
		"build " + filepath.Join(filepath.Dir(graph), "edges.txt") + " --out " + graph,
		"inspect " + graph,
		"verify " + graph,
		"sample " + graph + " --fanouts 2,2",
		"bench sample " + graph + " --fanouts 2 --batches 3 --ramp 0",
		"bench device " + graph + " --runtime 20ms --ramp 0s --depth 2 --buffered",
		"gen rmat --scale 4 --edge-factor 2 --out " + filepath.Join(t.TempDir(), "e.npy"),
	} {
		got := invoke(t, append(strings.Fields(args), "--json")...)
		require.Zero(t, got.code, "%s: %s", args, got.err)
		require.True(t, json.Valid([]byte(got.out)), "%s: %s", args, got.out)
		got = invoke(t, strings.Fields(args)...)
		require.Zero(t, got.code, "%s: %s", args, got.err)
		require.NotEmpty(t, got.out, args)
	}
}

func TestBenchSampleFields(t *testing.T) {
	got := invoke(t, "bench", "sample", tiny(t), "--fanouts", "2", "--batches", "5", "--ramp", "2", "--json")
	require.Zero(t, got.code, got.err)
	fields := map[string]any{}
	require.NoError(t, json.Unmarshal([]byte(got.out), &fields))
	for _, name := range []string{"edges_per_second", "batches_per_second", "sampled_edges", "reads_per_edge", "blocks_per_edge",
		"hit_ratio", "read_iops", "budget_bytes", "peak_rss_bytes", "state"} {
		require.Contains(t, fields, name)
	}
	require.EqualValues(t, "steady", fields["state"])
	require.Positive(t, fields["sampled_edges"])
}
