//go:build linux

package ingest

import (
	"bytes"
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/aether-ooc/aether-ooc/ingest/source"
	"github.com/aether-ooc/aether-ooc/layout"
)

// parted is a graph of some edges, and one of the first of them with the others
// beside it.
type parted struct {
	dir, whole, base, more string
}

// cutAt builds both from the same options. at: where the edges are cut.
func cutAt(t testing.TB, edges []pair, at int, c Config) parted {
	t.Helper()
	dir := t.TempDir()
	p := parted{dir: dir, whole: filepath.Join(dir, "whole.bin"), base: filepath.Join(dir, "base.bin"), more: writeFile(t, dir, "more.npy", arrayOf(edges[at:]))}
	old := writeFile(t, dir, "old.npy", arrayOf(edges[:at]))
	c.Input, c.Out = old, p.base
	_, err := run(t, c)
	require.NoError(t, err)
	c.Input, c.Source.Inputs, c.Out = "", []string{old, p.more}, p.whole
	_, err = run(t, c)
	require.NoError(t, err)
	return p
}

// config merges the parts.
func (p parted) config() MergeConfig {
	return MergeConfig{Base: p.base, Source: source.Config{Inputs: []string{p.more}}, Out: filepath.Join(p.dir, "merged.bin"), Memory: smallMemory}
}

// runMerge merges, and checks that nothing is left.
func runMerge(t testing.TB, m MergeConfig) (*Result, error) {
	t.Helper()
	before := descriptors(t)
	res, err := Merge(context.Background(), m)
	require.Equal(t, before, descriptors(t), "descriptors are left")
	requireNoStage(t, m.Out)
	return res, err
}

// requireMerged merges, through disk if asked to, and wants the bytes of the
// whole.
func (p parted) requireMerged(t testing.TB, external bool) *Result {
	t.Helper()
	m := p.config()
	if external {
		m.tune = &sizes{pile: 10, parts: 7, extent: extentUnit, sorters: 2, unit: 8 * extentUnit}
	}
	res, err := runMerge(t, m)
	require.NoError(t, err)
	requireSameBytes(t, p.whole, m.Out)
	return res
}

// Every combination of options meets both encodings, and both ways to sort.
func TestMergeIsABuildOfBoth(t *testing.T) {
	external, at, turn := 0, 0, 0
	for name, edges := range graphs() {
		for _, c := range combinations() {
			at++
			c.Encoding = layout.Encoding((at + turn) % 2)
			cut := at * 7919 % (len(edges) + 1)
			t.Run(fmt.Sprintf("%s/%v/%s/%d", name, c.Encoding, c.name(), cut), func(t *testing.T) {
				if cutAt(t, edges, cut, c).requireMerged(t, turn/2%2 == 0).Way == External {
					external++
				}
			})
		}
		turn++
	}
	require.Greater(t, external, 40)
}

func TestMergeOfCanonicalEdges(t *testing.T) {
	sorted := graphs()["canonical"]
	for _, cut := range []int{0, 1, 2500, 2503, 4999, 5000} {
		for _, c := range []Config{{}, {Dedup: true}, {EdgeIDs: layout.EdgeIDsStored}} {
			cutAt(t, sorted, cut, c).requireMerged(t, cut == 2500)
		}
	}
	twins := []pair{{0, 0}, {1, 1}, {1, 1}, {1, 1}, {2, 2}}
	for cut := range len(twins) + 1 {
		for _, c := range combinations() {
			cutAt(t, twins, cut, c).requireMerged(t, false)
		}
	}
}

// Any edges, cut anywhere, merged part after part.
func TestMergeOfManyParts(t *testing.T) {
	r := rand.New(rand.NewPCG(11, 12))
	for range 60 {
		nodes, n := 1+r.Uint64N(1<<r.Uint64N(14)), r.IntN(6000)
		edges := make([]pair, n)
		for i := range edges {
			edges[i] = pair{r.Uint64N(nodes), r.Uint64N(nodes)}
		}
		c := combinations()[r.IntN(32)]
		c.Encoding = layout.Encoding(r.IntN(2))
		dir := t.TempDir()
		c.Input, c.Out = writeFile(t, dir, "e.npy", arrayOf(edges)), filepath.Join(dir, "whole.bin")
		_, err := run(t, c)
		require.NoError(t, err)
		whole := c.Out
		at := r.IntN(n + 1)
		c.Input, c.Out = writeFile(t, dir, "0.npy", arrayOf(edges[:at])), filepath.Join(dir, "0.bin")
		_, err = run(t, c)
		require.NoError(t, err)
		for step := 1; at < n || step == 1; step++ {
			next := at + r.IntN(n-at+1)
			if step == 5 {
				next = n
			}
			m := MergeConfig{Base: c.Out, Out: filepath.Join(dir, fmt.Sprintf("%d.bin", step)), Memory: smallMemory}
			m.Source.Inputs = []string{writeFile(t, dir, "more.npy", arrayOf(edges[at:next]))}
			if r.IntN(2) == 0 {
				m.tune = &sizes{pile: 2 + r.Int64N(100), parts: 2 + r.IntN(20), extent: extentUnit, sorters: 1 + r.IntN(3), unit: 8 * extentUnit}
			}
			_, err := runMerge(t, m)
			require.NoError(t, err)
			c.Out, at = m.Out, next
		}
		requireSameBytes(t, whole, c.Out)
	}
}

// troubled is a graph with attachments, and new edges for it.
func troubled(t *testing.T) parted {
	dir := t.TempDir()
	edges := graphs()["dense"]
	x, y := writeFile(t, dir, "x.npy", rows("float32", 12, 3)), writeFile(t, dir, "y.npy", rows("int64", 12))
	return cutAt(t, edges, 2000, Config{Features: x, NodeAttrs: []NodeAttr{{"y", y}}})
}

func TestMergeCarriesAttachments(t *testing.T) {
	p := troubled(t)
	p.requireMerged(t, false)
	for _, suffix := range []string{".features.npy", ".attr.y.npy"} {
		requireSameBytes(t, p.whole+suffix, p.config().Out+suffix)
		requireSameBytes(t, layout.SumsPath(p.whole+suffix), layout.SumsPath(p.config().Out+suffix))
	}

	m := p.config()
	m.NumNodes = 13
	_, err := runMerge(t, m)
	require.ErrorContains(t, err, "(--node-attr y=FILE --features FILE)")
	m.Features = writeFile(t, p.dir, "x13.npy", rows("float32", 13, 3))
	_, err = runMerge(t, m)
	require.ErrorContains(t, err, "(--node-attr y=FILE)")
	m.DropAttachments = true
	_, err = runMerge(t, m)
	require.NoError(t, err)
	g, _ := readLists(t, m.Out)
	require.Len(t, g.Attachments, 1)
	m.NumNodes = 11
	_, err = runMerge(t, m)
	require.ErrorIs(t, err, ErrOption)
}

func TestMergeOfADamagedGraph(t *testing.T) {
	p := troubled(t)
	m := p.config()
	for _, path := range []string{p.base, p.base + ".attr.y.npy", p.base + ".features.npy"} {
		whole, err := os.ReadFile(path)
		require.NoError(t, err)
		bad := bytes.Clone(whole)
		bad[len(bad)/2] ^= 4
		require.NoError(t, os.WriteFile(path, bad, 0o666))
		_, err = runMerge(t, m)
		require.ErrorIs(t, err, layout.ErrCorrupt, path)
		require.ErrorContains(t, err, path)
		require.NoError(t, os.WriteFile(path, whole[:len(whole)-1], 0o666))
		_, err = runMerge(t, m)
		require.ErrorIs(t, err, layout.ErrCorrupt, path)
		require.NoFileExists(t, m.Out)
		require.NoError(t, os.WriteFile(path, whole, 0o666))
	}
	m.Out = p.base
	_, err := runMerge(t, m)
	require.ErrorIs(t, err, ErrOption)
	require.NoError(t, os.Remove(p.base+".attr.y.npy"))
	_, err = runMerge(t, p.config())
	require.ErrorContains(t, err, "--drop-attachments")
}

func TestMergeStopsWithItsContext(t *testing.T) {
	p := troubled(t)
	for _, phase := range []string{"read", "sort", "write lists", "write edge ids", "copy", "sync"} {
		ctx, cancel := context.WithCancel(context.Background())
		m := p.config()
		m.Progress = func(now string, _, _ int64) {
			if now == phase {
				cancel()
			}
		}
		_, err := Merge(ctx, m)
		if phase != "sync" { // then it is too late
			require.ErrorIs(t, err, context.Canceled, phase)
			require.NoFileExists(t, m.Out)
		}
		requireNoStage(t, m.Out)
		cancel()
	}
}

func TestDiskFullInEveryPhaseOfAMerge(t *testing.T) {
	p := troubled(t)
	for pages, full := 2, 0; ; pages += 2 {
		m := p.config()
		m.Out = filepath.Join(mounted(t, 0, fmt.Sprintf("size=%d", pages*os.Getpagesize())), "g.bin")
		_, err := runMerge(t, m)
		if err == nil {
			require.Greater(t, full, 5, "the disk was never full")
			requireSameBytes(t, p.whole, m.Out)
			return
		}
		full++
		require.ErrorIs(t, err, syscall.ENOSPC)
		left, err := os.ReadDir(filepath.Dir(m.Out))
		require.NoError(t, err)
		require.Empty(t, left)
	}
}
