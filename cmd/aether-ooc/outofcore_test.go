//go:build outofcore

package main

import (
	"bytes"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"unsafe"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"github.com/aether-ooc/aether-ooc/internal/npy"
)

// The tests of this file need minutes, root and a memory control group, so
// they have a build tag and a make target (test-outofcore) of their own.

// sampled is what the tests look at in the report of `sample`.
type sampled struct {
	Digest       string `json:"digest"`
	Batches      int64  `json:"batches"`
	SampledEdges int64  `json:"sampled_edges"`
	PeakRSSBytes int64  `json:"peak_rss_bytes"`
	CgroupPeak   int64  `json:"cmemoryGrouppeak_bytes"`
}

func TestOutOfCoreEpoch(t *testing.T) {
	bin, graph := rmat(t, 22)
	budget := adjacencyBytes(t, bin, graph) / 4
	seeds := writeSeeds(t, 100_000, 1<<22)
	args := []string{"sample", graph, "--fanouts", "25,10", "--input-nodes", seeds, "--json"}

	for _, ids := range []string{"--edge-ids=false", "--edge-ids=true"} {
		t.Run(ids, func(t *testing.T) {
			whole := sample(t, nil, bin, append(args, ids, "--memory", "4GiB")...)
			group := newGroup(t, budget+96<<20)
			small := sample(t, group, bin, append(args, ids, "--memory", strconv.FormatInt(budget, 10))...)
			t.Logf("budget %d MiB in a cgroup of %d MiB: peak RSS %d MiB, cgroup peak %d MiB",
				budget>>20, (budget+96<<20)>>20, small.PeakRSSBytes>>20, group.peak(t)>>20)
			require.Equal(t, whole.Digest, small.Digest, "the same batches in little memory")
			require.Equal(t, whole.SampledEdges, small.SampledEdges)
			require.EqualValues(t, 98, small.Batches)
			require.LessOrEqual(t, small.PeakRSSBytes, budget+64<<20, "peak RSS beyond the budget")
			require.Zero(t, cachedPages(t, graph), "pages of the graph in the page cache")
		})
	}
}

func TestOutOfCoreTinyBudget(t *testing.T) {
	bin, graph := rmat(t, 20)
	seeds := writeSeeds(t, 8192, 1<<20)
	args := []string{"sample", graph, "--fanouts", "20,15,10", "--input-nodes", seeds, "--json", "--edge-ids=false"}
	whole := sample(t, nil, bin, append(args, "--memory", "2GiB")...)
	tiny := sample(t, nil, bin, append(args, "--memory", "8MiB")...)
	require.Equal(t, whole.Digest, tiny.Digest)
	t.Logf("8 MiB budget: peak RSS %d MiB", tiny.PeakRSSBytes>>20)
}

func TestOutOfCoreFeatures(t *testing.T) {
	bin, graph := rmat(t, 18)
	const dim, budget = 512, 128 << 20 // rows of 2 KiB: 512 MiB, four times the budget
	x := writeFeatures(t, 1<<18, dim)
	seeds := writeSeeds(t, 20_000, 1<<18)
	args := []string{"sample", graph, "--fanouts", "10,5", "--batch-size", "256", "--features", x, "--input-nodes", seeds, "--json"}
	whole := sample(t, nil, bin, append(args, "--memory", "4GiB")...)
	group := newGroup(t, budget+96<<20)
	small := sample(t, group, bin, append(args, "--memory", strconv.Itoa(budget))...)
	t.Logf("features of 512 MiB, budget 128 MiB: peak RSS %d MiB, cgroup peak %d MiB", small.PeakRSSBytes>>20, group.peak(t)>>20)
	require.Equal(t, whole.Digest, small.Digest)
	require.Zero(t, cachedPages(t, x))
}

// rmat builds the command and an RMAT graph of edge factor 16.
func rmat(t *testing.T, scale int) (bin, graph string) {
	t.Helper()
	dir := t.TempDir()
	bin, graph = filepath.Join(dir, "aether-ooc"), filepath.Join(dir, "graph.bin")
	edges := filepath.Join(dir, "edges.npy")
	run(t, nil, "go", "build", "-o", bin, ".")
	run(t, nil, bin, "gen", "rmat", "--scale", strconv.Itoa(scale), "--edge-factor", "16", "--out", edges)
	run(t, nil, bin, "build", edges, "--out", graph, "--memory", "8GiB")
	require.NoError(t, os.Remove(edges))
	dropCache(t, graph)
	return bin, graph
}

func run(t *testing.T, g *memoryGroup, name string, args ...string) []byte {
	t.Helper()
	cmd := exec.Command(name, args...)
	if g != nil { // the shell moves itself into the group, then becomes the command
		cmd = exec.Command("sh", append([]string{"-c", `echo $$ > "$0" && exec "$@"`, filepath.Join(g.dir, "cgroup.procs"), name}, args...)...)
	}
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	require.NoError(t, err, "%s %v: %s", name, args, stderr.String())
	return out
}

func sample(t *testing.T, g *memoryGroup, bin string, args ...string) sampled {
	t.Helper()
	var s sampled
	require.NoError(t, json.Unmarshal(run(t, g, bin, args...), &s))
	return s
}

func adjacencyBytes(t *testing.T, bin, graph string) int64 {
	t.Helper()
	var report struct {
		Adjacency struct {
			Bytes int64 `json:"bytes"`
		} `json:"adjacency"`
	}
	require.NoError(t, json.Unmarshal(run(t, nil, bin, "inspect", graph, "--json"), &report))
	require.Positive(t, report.Adjacency.Bytes)
	dropCache(t, graph)
	return report.Adjacency.Bytes
}

// writeSeeds writes n distinct ids below nodes, spread by an odd multiplier.
func writeSeeds(t *testing.T, n, nodes int) string {
	t.Helper()
	b := npy.AppendHeader(nil, "int64", []int64{int64(n)})
	for i := range n {
		b = binary.LittleEndian.AppendUint64(b, uint64(i)*2654435761%uint64(nodes))
	}
	return writeFile(t, "seeds.npy", b)
}

func writeFeatures(t *testing.T, rows, dim int) string {
	t.Helper()
	b := npy.AppendHeader(nil, "float32", []int64{int64(rows), int64(dim)})
	for i := range rows * dim {
		b = binary.LittleEndian.AppendUint32(b, uint32(i)*2654435761)
	}
	path := writeFile(t, "x.npy", b)
	dropCache(t, path)
	return path
}

func writeFile(t *testing.T, name string, b []byte) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), name)
	require.NoError(t, os.WriteFile(path, b, 0o644))
	return path
}

// dropCache takes a file's pages out of the page cache.
func dropCache(t *testing.T, path string) {
	t.Helper()
	f, err := os.Open(path)
	require.NoError(t, err)
	defer f.Close()
	require.NoError(t, f.Sync())
	require.NoError(t, unix.Fadvise(int(f.Fd()), 0, 0, unix.FADV_DONTNEED))
}

// cachedPages counts a file's pages in the page cache.
func cachedPages(t *testing.T, path string) int {
	t.Helper()
	f, err := os.Open(path)
	require.NoError(t, err)
	defer f.Close()
	info, err := f.Stat()
	require.NoError(t, err)
	m, err := unix.Mmap(int(f.Fd()), 0, int(info.Size()), unix.PROT_READ, unix.MAP_SHARED)
	require.NoError(t, err)
	defer func() { require.NoError(t, unix.Munmap(m)) }()
	vec := make([]byte, (len(m)+4095)/4096)
	_, _, errno := unix.Syscall(unix.SYS_MINCORE, uintptr(unsafe.Pointer(&m[0])), uintptr(len(m)), uintptr(unsafe.Pointer(&vec[0])))
	require.Zero(t, errno)
	n := 0
	for _, v := range vec {
		n += int(v & 1)
	}
	return n
}

// memoryGroup is a memory control group made for one test, of version 1 or 2.
type memoryGroup struct {
	dir      string
	peakFile string
}

func newGroup(t *testing.T, limit int64) *memoryGroup {
	t.Helper()
	name := fmt.Sprintf("aether-ooc-test-%d", os.Getpid())
	g, limitFile := &memoryGroup{dir: "/sys/fs/cgroup/memory/" + name, peakFile: "memory.max_usage_in_bytes"}, "memory.limit_in_bytes"
	if controllers, err := os.ReadFile("/sys/fs/cgroup/cgroup.controllers"); err == nil && strings.Contains(string(controllers), "memory") {
		g, limitFile = &memoryGroup{dir: "/sys/fs/cgroup/" + name, peakFile: "memory.peak"}, "memory.max"
	}
	require.NoError(t, os.Mkdir(g.dir, 0o755), "these tests need root and a memory control group")
	t.Cleanup(func() { require.NoError(t, os.Remove(g.dir)) })
	require.NoError(t, os.WriteFile(filepath.Join(g.dir, limitFile), []byte(strconv.FormatInt(limit, 10)), 0o644))
	return g
}

func (g *memoryGroup) peak(t *testing.T) int64 {
	t.Helper()
	b, err := os.ReadFile(filepath.Join(g.dir, g.peakFile))
	require.NoError(t, err)
	n, err := strconv.ParseInt(strings.TrimSpace(string(b)), 10, 64)
	require.NoError(t, err)
	return n
}
