//go:build linux

package ingest

import (
	"bufio"
	"bytes"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"
)

// childVariable makes the test binary a builder that stops in a phase and
// waits to be killed: "PHASE|FOLDER". With PHASE "small" it goes through disk, in
// little memory and with few descriptors.
const childVariable = "INGEST_TEST_CHILD"

func childMain() {
	phase, dir, _ := strings.Cut(os.Getenv(childVariable), "|")
	c := killedConfig(dir)
	if name, external := strings.CutPrefix(phase, "external "); external {
		phase, c.tune = name, tiny()
	}
	if phase == "small" {
		if err := syscall.Setrlimit(syscall.RLIMIT_NOFILE, &syscall.Rlimit{Cur: 64, Max: 64}); err != nil {
			fmt.Println(err)
		}
		c.Features, c.NodeAttrs = "", nil
	}
	c.Progress = func(now string, _, _ int64) {
		if now == phase {
			fmt.Println("there")
			select {}
		}
	}
	res, err := Run(context.Background(), c)
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(res.PeakRSSBytes)
}

func killedConfig(dir string) Config {
	return Config{
		Input: filepath.Join(dir, "e.txt"), Out: filepath.Join(dir, "g.bin"), Memory: smallMemory,
		Features: filepath.Join(dir, "x.npy"), NodeAttrs: []NodeAttr{{"y", filepath.Join(dir, "y.npy")}},
	}
}

func killedFolder(t *testing.T) string {
	dir := t.TempDir()
	edges := slices.Clone(tinyEdges)
	for i := range uint64(20_000) {
		edges = append(edges, pair{i * 7 % 1000, i * 13 % 997})
	}
	writeFile(t, dir, "e.txt", textOf(edges))
	writeFile(t, dir, "x.npy", rows("float32", 1000, 3))
	writeFile(t, dir, "y.npy", rows("int64", 1000))
	return dir
}

// startChild starts a build that stops in phase, and waits until it is there.
func startChild(t *testing.T, phase, dir string) *exec.Cmd {
	child := exec.Command(os.Args[0])
	child.Env = append(os.Environ(), childVariable+"="+phase+"|"+dir)
	child.Stderr = os.Stderr
	out, err := child.StdoutPipe()
	require.NoError(t, err)
	require.NoError(t, child.Start())
	line, err := bufio.NewReader(out).ReadString('\n')
	require.NoError(t, err)
	require.Equal(t, "there\n", line)
	return child
}

func TestKilledBuildsLeaveNothingAtTheTarget(t *testing.T) {
	clean := killedFolder(t)
	_, err := run(t, killedConfig(clean))
	require.NoError(t, err)
	for _, phase := range []string{"read", "sort", "write lists", "write edge ids", "copy", "sync",
		"external read", "external write lists", "external write edge ids", "external copy", "external sync"} {
		dir := killedFolder(t)
		child := startChild(t, phase, dir)

		_, err := Run(context.Background(), killedConfig(dir))
		require.ErrorIs(t, err, ErrBusy, "a second build while the first lives")

		require.NoError(t, child.Process.Signal(syscall.SIGKILL))
		require.Error(t, child.Wait())
		left, err := filepath.Glob(filepath.Join(dir, "g.bin*"))
		require.NoError(t, err)
		require.Empty(t, left, phase)
		_, err = os.Stat(filepath.Join(dir, ".g.bin.building"))
		require.NoError(t, err, "the killed build should have left its stage")

		_, err = run(t, killedConfig(dir))
		require.NoError(t, err)
		requireSameFiles(t, clean, dir, phase)
	}
}

// A process of its own shows that a build keeps to its budget, program and
// all. The edges are nearly as many as the budget allows.
func TestPeakMemoryStaysWithinTheBudget(t *testing.T) {
	most := capacity[uint32](Config{Memory: smallMemory, Workers: workersOr(0)})
	edges := make([]pair, most-1000)
	for i := range edges {
		edges[i] = pair{uint64(i*7) % 100_003, uint64(i*13) % 100_003}
	}
	for name, content := range map[string]string{"text": textOf(edges), "gzip": gzipped(textOf(edges)), "array": arrayOf(edges)} {
		dir := t.TempDir()
		writeFile(t, dir, "e.txt", content) // told by content
		writeFile(t, dir, "x.npy", rows("float32", 100_003, 3))
		writeFile(t, dir, "y.npy", rows("int64", 100_003))
		child := exec.Command(os.Args[0])
		child.Env = append(os.Environ(), childVariable+"=|"+dir)
		out, err := child.Output()
		require.NoError(t, err)
		var peak int64
		_, err = fmt.Sscan(string(out), &peak)
		require.NoError(t, err, "%s", out)
		require.LessOrEqual(t, peak, int64(smallMemory+detectorBytes), name)
		require.Greater(t, peak, most*24, name)
		t.Logf("%s: peak %d MiB of %d MiB", name, peak>>20, smallMemory>>20)
	}
}

// An external build keeps to its budget and to 64 descriptors too, however its
// input comes, with a list that does not fit in memory.
func TestPeakMemoryOfAnExternalBuild(t *testing.T) {
	edges := make([]pair, 6_000_000)
	for i := range edges {
		edges[i] = pair{uint64(i*7) % 1_000_003, uint64(i%2) * (uint64(i*13) % 1_000_003)}
	}
	for name, content := range map[string]string{"text": textOf(edges), "array": arrayOf(edges)} {
		dir := t.TempDir()
		writeFile(t, dir, "e.txt", content)
		child := exec.Command(os.Args[0])
		child.Env = append(os.Environ(), childVariable+"=small|"+dir)
		out, err := child.Output()
		require.NoError(t, err)
		var peak int64
		_, err = fmt.Sscan(string(out), &peak)
		require.NoError(t, err, "%s", out)
		require.LessOrEqual(t, peak, int64(smallMemory+detectorBytes), name)
		t.Logf("%s: peak %d MiB of %d MiB", name, peak>>20, smallMemory>>20)
		c := Config{Input: filepath.Join(dir, "e.txt"), Out: filepath.Join(dir, "memory.bin"), Memory: 1 << 30}
		_, err = run(t, c)
		require.NoError(t, err)
		requireSameBytes(t, c.Out, filepath.Join(dir, "g.bin"))
	}
}

func requireSameBytes(t testing.TB, want, got string) {
	t.Helper()
	a, err := os.ReadFile(want)
	require.NoError(t, err)
	b, err := os.ReadFile(got)
	require.NoError(t, err)
	require.True(t, bytes.Equal(a, b), "%s differs", got)
}

// requireSameFiles compares all files of two folders.
func requireSameFiles(t *testing.T, want, got string, about string) {
	t.Helper()
	names := func(dir string) (list []string) {
		entries, err := os.ReadDir(dir)
		require.NoError(t, err)
		for _, e := range entries {
			list = append(list, e.Name())
		}
		return list
	}
	require.Equal(t, names(want), names(got), about)
	for _, name := range names(want) {
		requireSameBytes(t, filepath.Join(want, name), filepath.Join(got, name))
	}
}
