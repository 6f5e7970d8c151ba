//go:build linux

package ingest

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/aether-ooc/aether-ooc/internal/spill"
)

// tiny are sizes with which graphs of a few thousand edges go through disk,
// and partitions of more than about 8,000 are cut again.
func tiny() *sizes {
	return &sizes{pile: 1000, parts: 5, extent: extentUnit, sorters: 2, unit: 8 * extentUnit}
}

// both builds in memory and through disk, and checks that the files are the
// same and the results, where they speak of the graph. It gives the second.
func both(t testing.TB, c Config, sz *sizes) *Result {
	t.Helper()
	dir := t.TempDir()
	c.Out = filepath.Join(dir, "memory.bin")
	want, err := run(t, c)
	require.NoError(t, err)
	require.Equal(t, InMemory, want.Way)
	c.Out, c.tune = filepath.Join(dir, "external.bin"), sz
	got, err := run(t, c)
	require.NoError(t, err)
	requireSameGraph(t, want, got)
	return got
}

func requireSameGraph(t testing.TB, want, got *Result) {
	t.Helper()
	requireSameBytes(t, want.Graph, got.Graph)
	same := *got
	same.Graph, same.Way, same.Partitions, same.Recuts, same.TempWritten, same.TempRead, same.TempPeak = want.Graph, want.Way, 0, 0, 0, 0, 0
	same.ReadNs, same.SortNs, same.WriteNs, same.TotalNs, same.PeakRSSBytes = want.ReadNs, want.SortNs, want.WriteNs, want.TotalNs, want.PeakRSSBytes
	if same.IsolatedNodes < 0 {
		require.Greater(t, want.Nodes, int64(smallMemory), "few enough to count")
		same.IsolatedNodes = want.IsolatedNodes
	}
	require.Equal(t, *want, same)
}

// skewed are graphs of some ten thousand edges whose first ones say little of
// the others.
func skewed() map[string][]pair {
	const n = 40_000
	r := rand.New(rand.NewPCG(5, 5))
	all := map[string][]pair{}
	add := func(name string, edge func(i uint64) pair) {
		for i := range uint64(n) {
			all[name] = append(all[name], edge(i))
		}
	}
	add("targets ascend", func(i uint64) pair { return pair{r.Uint64N(n), i / 16} })
	add("targets descend", func(i uint64) pair { return pair{r.Uint64N(n), (n - i) / 16} })
	add("canonical", func(i uint64) pair { return pair{i % 7, i / 7} })
	add("one pair", func(uint64) pair { return pair{3, 5} })
	add("one loop", func(uint64) pair { return pair{3, 3} })
	add("star", func(i uint64) pair { return pair{n - i, 9} })
	add("two stars", func(i uint64) pair { return pair{r.Uint64N(n), 9 + 1000*(i%2)} })
	add("star at last", func(i uint64) pair { return pair{r.Uint64N(n), max(i, n/4) - n/4} })
	add("skewed", func(uint64) pair { return pair{r.Uint64N(1 << r.Uint64N(16)), r.Uint64N(1 << r.Uint64N(16))} })
	add("late wide ids", func(i uint64) pair { return pair{r.Uint64N(1 + i/(n/2)<<40), r.Uint64N(100 + i/(n/2)<<33)} })
	add("early wide id", func(i uint64) pair { return pair{1<<40 - i, r.Uint64N(1000)} })
	add("far apart", func(i uint64) pair { return pair{r.Uint64N(n), 1<<60 + i%3<<40 + r.Uint64N(100)} })
	return all
}

func TestBothWaysWithSkew(t *testing.T) {
	recut, at := int64(0), 0
	for name, edges := range skewed() {
		in := writeFile(t, t.TempDir(), "e.npy", arrayOf(edges))
		for range 3 {
			c := combinations()[at%32]
			at += 11
			c.Input = in
			t.Run(name+"/"+c.name(), func(t *testing.T) {
				res := both(t, c, tiny())
				require.True(t, res.Way == External || name == "one loop", "all loops are dropped there")
				recut += res.Recuts
			})
		}
	}
	require.Greater(t, recut, int64(9))
}

// The pile, the extents, the units and the number of partitions are nobody's
// business.
func TestBothWaysForAnySizes(t *testing.T) {
	edges := skewed()["skewed"]
	c := Config{Input: writeFile(t, t.TempDir(), "e.txt", textOf(edges)), Undirected: true, Dedup: true}
	for _, sz := range []sizes{
		{pile: 2, parts: 2, extent: extentUnit, sorters: 1, unit: 16 * extentUnit},
		{pile: 3000, parts: 300, extent: extentUnit, sorters: 3, unit: 8 * extentUnit},
		{pile: 70_000, parts: 9, extent: fullExtent, sorters: 2, unit: 4 * fullExtent},
		{pile: 500, parts: 2, extent: 3 * extentUnit, sorters: 2, unit: 100 * extentUnit},
	} {
		both(t, c, &sz)
	}
}

func TestStarOfMillionsInASmallBudget(t *testing.T) {
	if detectorBytes > 0 {
		t.Skip("minutes under the race detector, which sees smaller stars elsewhere")
	}
	const n = 5_000_000
	edges := make([]pair, n)
	for i := range edges {
		edges[i] = pair{uint64(n - i), 0}
	}
	dir := t.TempDir()
	c := Config{Input: writeFile(t, dir, "e.npy", arrayOf(edges)), Out: filepath.Join(dir, "memory.bin"), Memory: 512 << 20}
	want, err := run(t, c)
	require.NoError(t, err)
	c.Out, c.Memory = filepath.Join(dir, "external.bin"), 64<<20
	got, err := run(t, c)
	require.NoError(t, err)
	require.Equal(t, External, got.Way)
	require.Positive(t, got.Recuts)
	got.BudgetBytes = want.BudgetBytes
	requireSameGraph(t, want, got)
}

// Graphs of a few edges, both ways; what is checked of the first elsewhere
// holds for the second.
func FuzzBothWays(f *testing.F) {
	f.Add([]byte("\x01\x02\x02\x01\x01\x02\x02\x02"), uint8(0), uint8(3))
	f.Add([]byte("\x01\x02\x03\x01\x02\x01\x03\x02\x05\x06\x05\x06"), uint8(31), uint8(1))
	f.Fuzz(func(t *testing.T, raw []byte, options, parts uint8) {
		var edges []pair
		for ; len(raw) > 1 && len(edges) < 3000; raw = raw[2:] {
			e := pair{uint64(raw[0]), uint64(raw[1])}
			if raw[0] > 250 {
				e[0] <<= 32 + raw[1]%8
			}
			edges = append(edges, e)
		}
		c := combinations()[options%32]
		c.Input = writeFile(t, t.TempDir(), "e.npy", arrayOf(edges))
		both(t, c, &sizes{pile: 2, parts: 1 + int(parts), extent: extentUnit, sorters: 1, unit: 8 * extentUnit})
	})
}

// faultyDisk fails its k-th call.
type faultyDisk struct {
	spill.Disk
	left *atomic.Int64
	err  error
}

func (d faultyDisk) use() error {
	if d.left.Add(-1) == 0 {
		return d.err
	}
	return nil
}

func (d faultyDisk) ReadAt(p []byte, off int64) (int, error) {
	if err := d.use(); err != nil {
		return 0, err
	}
	return d.Disk.ReadAt(p, off)
}

func (d faultyDisk) WriteAt(p []byte, off int64) (int, error) {
	if err := d.use(); err != nil {
		return 0, err
	}
	return d.Disk.WriteAt(p, off)
}

func (d faultyDisk) Grow(size int64) error {
	if err := d.use(); err != nil {
		return err
	}
	return d.Disk.Grow(size)
}

func (d faultyDisk) Punch(off, n int64) error {
	if err := d.use(); err != nil {
		return err
	}
	return d.Disk.Punch(off, n)
}

// Whichever call of the temporary file fails, the build says so and leaves
// nothing but what was at the target.
func TestEveryCallOfTheTemporaryFileFails(t *testing.T) {
	dir := t.TempDir()
	c := Config{Input: writeFile(t, dir, "e.npy", arrayOf(skewed()["two stars"])), Out: filepath.Join(dir, "g.bin"), tune: tiny()}
	writeFile(t, dir, "g.bin", "the old graph")
	failure := errors.New("the disk is gone")
	for k := int64(1); ; k += 1 + k/16 {
		left := &atomic.Int64{}
		left.Store(k)
		c.temporary = func(dir string) (spill.Disk, error) {
			d, err := spill.Temporary(dir)
			return faultyDisk{d, left, failure}, err
		}
		_, err := run(t, c)
		if left.Load() > 0 {
			require.NoError(t, err)
			require.Greater(t, k, int64(50))
			return
		}
		require.ErrorIs(t, err, failure, "call %d", k)
		b, err := os.ReadFile(c.Out)
		require.NoError(t, err)
		require.Equal(t, "the old graph", string(b))
	}
}

var externalPhases = []string{"read", "write lists", "write edge ids", "copy"}

func TestExternalBuildStopsWithItsContext(t *testing.T) {
	dir := t.TempDir()
	c := Config{Input: writeFile(t, dir, "e.txt", textOf(skewed()["star"])), Out: filepath.Join(dir, "g.bin"), tune: tiny(),
		Features: writeFile(t, dir, "x.npy", rows("float32", 40_001, 2))}
	for _, phase := range externalPhases {
		ctx, cancel := context.WithCancel(context.Background())
		c.Memory = smallMemory
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

// Wherever the disk fills up, in the temporary file or in the graph, the build
// says so and leaves nothing.
func TestDiskFullInEveryPhaseOfAnExternalBuild(t *testing.T) {
	source := t.TempDir()
	edges := skewed()["skewed"]
	c := Config{Input: writeFile(t, source, "e.txt", textOf(edges)), tune: tiny()}
	for pages, full := 2, 0; ; pages += 17 {
		dir := mounted(t, 0, fmt.Sprintf("size=%d", pages*os.Getpagesize()))
		c.Out = filepath.Join(dir, "g.bin")
		_, err := run(t, c)
		if err == nil {
			require.Greater(t, full, 5, "the disk was never full")
			return
		}
		full++
		require.True(t, errors.Is(err, syscall.ENOSPC) || errors.Is(err, ErrSpace), "%v", err)
		left, err := os.ReadDir(dir)
		require.NoError(t, err)
		require.Empty(t, left)
	}
}

func TestSpaceIsNamedBeforehand(t *testing.T) {
	source, full := t.TempDir(), mounted(t, 0, "size=64k")
	c := Config{Input: writeFile(t, source, "e.npy", arrayOf(skewed()["skewed"])), Out: filepath.Join(source, "g.bin"), Temp: full, tune: tiny()}
	_, err := run(t, c)
	require.ErrorIs(t, err, ErrSpace)
	require.ErrorContains(t, err, full)
	require.ErrorContains(t, err, "--tmp")
	require.NoFileExists(t, c.Out)
	c.Temp = filepath.Join(source, "none")
	_, err = run(t, c)
	require.ErrorIs(t, err, os.ErrNotExist)
	c.Temp = t.TempDir()
	res, err := run(t, c)
	require.NoError(t, err)
	require.Contains(t, res.Text(), "external, in ")
	left, err := os.ReadDir(c.Temp)
	require.NoError(t, err)
	require.Empty(t, left)
	require.Equal(t, 1, strings.Count(res.Text(), "temporary file"))
}
