//go:build linux

package ingest

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/aether-ooc/aether-ooc/layout"
)

// Any input can be built in the figure that a refusal names.
func TestTheFigureNamedIsEnough(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 1))
	edges := make([]pair, 1_500_000)
	for i := range edges {
		edges[i] = pair{r.Uint64N(100_000), r.Uint64N(100_000)}
	}
	dir := t.TempDir()
	c := Config{Input: writeFile(t, dir, "e.gz", gzipped(textOf(edges))), Out: filepath.Join(dir, "g.bin"), Workers: 2, Memory: 1 << 20}
	_, err := run(t, c)
	var over *BudgetError
	require.True(t, errors.As(err, &over), "%v", err)
	require.ErrorIs(t, err, ErrOverBudget)
	require.Equal(t, c.Memory, over.HaveBytes)
	require.ErrorContains(t, err, fmt.Sprintf("--memory %dMiB", (over.NeedBytes+1<<20-1)>>20))
	c.Memory = over.NeedBytes
	got, err := run(t, c)
	require.NoError(t, err)
	require.Equal(t, External, got.Way)
	c.Out, c.Memory = filepath.Join(dir, "h.bin"), 1<<30
	want, err := run(t, c)
	require.NoError(t, err)
	want.BudgetBytes = got.BudgetBytes
	requireSameGraph(t, want, got)
}

// A gzipped input has half of the memory set aside for it; none of that may
// stay mapped, whatever the outcome.
func TestNothingStaysMapped(t *testing.T) {
	dir := t.TempDir()
	inputs := []string{
		writeFile(t, dir, "good.gz", gzipped("0 1\n")),
		writeFile(t, dir, "wide.gz", gzipped("0 1\n0 4294967296\n")),
		writeFile(t, dir, "bad.gz", gzipped("0 1\nx\n")),
	}
	before := mappedPages(t)
	for i := range 30 {
		_, err := run(t, Config{Input: inputs[i%3], Out: filepath.Join(dir, "g.bin"), Memory: 4 << 30})
		require.Equal(t, i%3 == 2, err != nil, "%v", err)
	}
	require.Less(t, mappedPages(t)-before, 2<<30/os.Getpagesize())
}

func mappedPages(t *testing.T) (n int) {
	b, err := os.ReadFile("/proc/self/statm")
	require.NoError(t, err)
	_, err = fmt.Sscan(string(b), &n)
	require.NoError(t, err)
	return n
}

func TestOptionsThatCannotBeMeant(t *testing.T) {
	dir := t.TempDir()
	in := writeFile(t, dir, "e.txt", "0 1\n")
	writeFile(t, dir, "x.npy", rows("float32", 2, 1))
	good := Config{Input: in, Out: filepath.Join(dir, "g.bin")}
	for name, change := range map[string]func(*Config){
		"no input given":        func(c *Config) { c.Input = "" },
		"no output given":       func(c *Config) { c.Out = "" },
		"format":                func(c *Config) { c.Source.Format = "csv" },
		"5 columns":             func(c *Config) { c.Source.Columns = []string{"1", "2", "3", "4", "5"} },
		"number of nodes":       func(c *Config) { c.NumNodes = -1 },
		"direction":             func(c *Config) { c.Direction = 2 },
		"edge ids":              func(c *Config) { c.EdgeIDs = layout.EdgeIDsCanonical },
		"dtype \"f16\"":         func(c *Config) { c.FeaturesDType, c.Features = "f16", in },
		"no features":           func(c *Config) { c.FeaturesDType = "bf16" },
		"memory":                func(c *Config) { c.Memory = -1 },
		"workers":               func(c *Config) { c.Workers = -1 },
		"is a folder":           func(c *Config) { c.Out = dir },
		"is an input too":       func(c *Config) { c.Out = filepath.Join(dir, ".", "e.txt") },
		"x.npy is an input too": func(c *Config) { c.Features, c.Out = filepath.Join(dir, "x.npy"), filepath.Join(dir, "x.npy") },
	} {
		c := good
		change(&c)
		_, err := Run(context.Background(), c)
		require.ErrorIs(t, err, ErrOption, name)
		require.ErrorContains(t, err, name)
	}
	_, err := Run(context.Background(), good) // all defaults
	require.NoError(t, err)
	content, err := os.ReadFile(in)
	require.NoError(t, err)
	require.Equal(t, "0 1\n", string(content))
}

func TestBuildStopsWithItsContext(t *testing.T) {
	dir := t.TempDir()
	c := Config{Input: writeFile(t, dir, "e.txt", textOf(tinyEdges)), Out: filepath.Join(dir, "g.bin"), Memory: smallMemory,
		Features: writeFile(t, dir, "x.npy", rows("float32", 8, 2))}
	for _, phase := range []string{"read", "sort", "write lists", "write edge ids", "copy"} {
		ctx, cancel := context.WithCancel(context.Background())
		c.Progress = func(now string, _, _ int64) {
			if now == phase {
				cancel()
			}
		}
		_, err := Run(ctx, c)
		require.ErrorIs(t, err, context.Canceled, phase)
		requireNoStage(t, c.Out)
		require.NoFileExists(t, c.Out)
	}
}
