package inspect

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/aether-ooc/aether-ooc/ingest/source"
	"github.com/aether-ooc/aether-ooc/internal/base"
	"github.com/aether-ooc/aether-ooc/internal/binfmt"
	"github.com/aether-ooc/aether-ooc/layout"
)

// own is a small graph whose nodes have ids or names of their own.
//
//	0 → 1, 2 → 1, 1 → 3
type own struct {
	path  string
	ids   []base.NodeID
	names []string
}

const nameSeed = 11

func buildOwn(t *testing.T, kind layout.Original) *own {
	t.Helper()
	x := &own{path: filepath.Join(t.TempDir(), "g.bin"), ids: []base.NodeID{7, 1 << 32, 1<<53 + 1, 1<<63 - 2}}
	if kind == layout.OriginalNames {
		x.ids, x.names = nil, []string{"Zürich", `with "quotes"`, "a b", strings.Repeat("long", 2000)}
		slices.SortFunc(x.names, func(a, b string) int { return int(int64(x.hash(a)) - int64(x.hash(b))) })
		for _, name := range x.names {
			x.ids = append(x.ids, x.hash(name))
		}
	}
	f, err := os.Create(x.path)
	require.NoError(t, err)
	defer f.Close()
	w, err := layout.NewWriter(f, layout.WriterConfig{Nodes: 4, InputEdges: 3, Original: kind, NameSeed: nameSeed})
	require.NoError(t, err)
	require.NoError(t, w.List(1, []base.NodeID{0, 2}))
	require.NoError(t, w.List(3, []base.NodeID{1}))
	require.NoError(t, w.EdgeIDs([]base.EdgeID{0, 1, 2}))
	require.NoError(t, w.OriginalIDs(x.ids))
	end := uint64(0)
	for _, name := range x.names {
		end += uint64(len(name))
		require.NoError(t, w.NameEnds([]uint64{end}))
	}
	if x.names != nil {
		require.NoError(t, w.Names([]byte(strings.Join(x.names, ""))))
	}
	_, err = w.Finish(nil)
	require.NoError(t, err)
	return x
}

func (x *own) hash(name string) base.NodeID { return binfmt.NameID([]byte(name), nameSeed) }

func TestVerifyOfOriginalIDs(t *testing.T) {
	for kind, want := range map[layout.Original]string{layout.OriginalIDs: "original ids ascend", layout.OriginalNames: "every node's name"} {
		r, err := Verify(context.Background(), Config{Path: buildOwn(t, kind).path})
		require.NoError(t, err)
		require.Contains(t, strings.Join(r.Checks, "\n"), want)
	}
}

func TestVerifyFindsDamagedOriginalIDs(t *testing.T) {
	for _, c := range []struct {
		kind   layout.Original
		column uint16
		at     int
		want   string
	}{
		{layout.OriginalIDs, layout.ColOriginalIDs, 7, "must ascend"},
		{layout.OriginalIDs, layout.ColOriginalIDs, 0, "content id"},
		{layout.OriginalNames, layout.ColNameEnds, 15, "must ascend"},
		{layout.OriginalNames, layout.ColNames, 3, "is not the one whose hash"},
		{layout.OriginalNames, layout.ColNameSeed, 0, "is not the one whose hash"},
	} {
		t.Run(fmt.Sprint(c.kind, c.column, c.at), func(t *testing.T) {
			x := buildOwn(t, c.kind)
			b, err := os.ReadFile(x.path)
			require.NoError(t, err)
			g, err := layout.OpenGraph(bytes.NewReader(b), int64(len(b)), "")
			require.NoError(t, err)
			s, _ := g.Table.Find(layout.KindOriginal, 0, c.column)
			block := b[s.First.Off():][:base.BlockSize]
			block[c.at] ^= 0x41
			binfmt.Seal(block, s.First)
			require.NoError(t, os.WriteFile(x.path, b, 0o666))
			_, err = Verify(context.Background(), Config{Path: x.path})
			require.ErrorIs(t, err, layout.ErrCorrupt)
			require.ErrorContains(t, err, c.want)
		})
	}
}

func TestExportAndExtractByOriginalIDs(t *testing.T) {
	ctx := context.Background()
	x := buildOwn(t, layout.OriginalIDs)
	var b bytes.Buffer
	_, err := Export(ctx, ExportConfig{Path: x.path, Original: true, Stdout: &b})
	require.NoError(t, err)
	require.Equal(t, "# source\ttarget; 4 nodes (build --relabel ids), 3 edges\n7\t4294967296\n9007199254740993\t4294967296\n4294967296\t9223372036854775806\n", b.String())
	b.Reset()
	require.NoError(t, Extract(ctx, ExtractConfig{Path: x.path, Original: true, Words: []string{"4294967296"}, Nodes: []base.NodeID{1<<63 - 2}, EdgeIDs: true, Out: &b}))
	require.Equal(t, "4294967296\t2\t7 9007199254740993\t0 1\n9223372036854775806\t1\t4294967296\t2\n", b.String())
	b.Reset()
	require.NoError(t, Extract(ctx, ExtractConfig{Path: x.path, Original: true, Words: []string{"7", "4294967296"}, JSON: true, Out: &b}))
	require.Equal(t, `{"node":7,"degree":0,"neighbours":[]}`+"\n"+`{"node":4294967296,"degree":2,"neighbours":[7,9007199254740993]}`+"\n", b.String())
	require.ErrorContains(t, Extract(ctx, ExtractConfig{Path: x.path, Original: true, Words: []string{"8"}}), "no node has the original id 8")
	_, err = Export(ctx, ExportConfig{Path: x.path, Original: true, Out: filepath.Join(t.TempDir(), "x.npz")})
	require.ErrorIs(t, err, ErrOption)
}

func TestExportAndExtractByNames(t *testing.T) {
	ctx := context.Background()
	x := buildOwn(t, layout.OriginalNames)
	word := func(i int) string {
		return `"` + strings.ReplaceAll(x.names[i], `"`, `""`) + `"`
	}
	var b bytes.Buffer
	_, err := Export(ctx, ExportConfig{Path: x.path, Original: true, Stdout: &b})
	require.NoError(t, err)
	require.Equal(t, fmt.Sprintf("# source\ttarget; 4 nodes (build --relabel names), 3 edges\n%s\t%s\n%s\t%s\n%s\t%s\n", word(0), word(1), word(2), word(1), word(1), word(3)), b.String())
	b.Reset()
	require.NoError(t, Extract(ctx, ExtractConfig{Path: x.path, Original: true, Words: []string{x.names[3]}, Out: &b}))
	require.Equal(t, word(3)+"\t1\t"+word(1)+"\n", b.String())
	b.Reset()
	require.NoError(t, Extract(ctx, ExtractConfig{Path: x.path, Original: true, Words: []string{x.names[0]}, JSON: true, Out: &b}))
	require.Contains(t, b.String(), `"degree":0,"neighbours":[]`)
	for _, bad := range []string{"", "zürich", "long"} {
		require.ErrorContains(t, Extract(ctx, ExtractConfig{Path: x.path, Original: true, Words: []string{bad}}), "no node has the name")
	}
	for _, suffix := range []string{".npy", ".npz"} {
		_, err = Export(ctx, ExportConfig{Path: x.path, Original: true, Out: filepath.Join(t.TempDir(), "x"+suffix)})
		require.ErrorIs(t, err, ErrOption)
	}
	_, err = Export(ctx, ExportConfig{Path: x.path, Original: true, Out: filepath.Join(t.TempDir(), "x.parquet")})
	require.NoError(t, err)
}

func TestOriginalIDsThatAreNotThere(t *testing.T) {
	x := small(t, layout.WriterConfig{})
	require.ErrorContains(t, Extract(context.Background(), ExtractConfig{Path: x.path, Original: true, Words: []string{"1"}}), "keeps no original ids")
}

func TestAgainstOriginalIDs(t *testing.T) {
	x := buildOwn(t, layout.OriginalIDs)
	for text, want := range map[string]string{
		"7 4294967296\n9007199254740993 4294967296\n4294967296 9223372036854775806\n": "",
		"7 4294967296\n9007199254740993 4294967296\n4294967296 7\n":                   "the graph has no such edge",
		"7 4294967296\n9007199254740993 4294967296\n4294967296 8\n":                   "no node whose original id is 8",
	} {
		input := filepath.Join(t.TempDir(), "e.txt")
		require.NoError(t, os.WriteFile(input, []byte(text), 0o666))
		_, err := Verify(context.Background(), Config{Path: x.path, Against: source.Config{Inputs: []string{input}}})
		if want == "" {
			require.NoError(t, err)
		} else {
			require.ErrorContains(t, err, want)
		}
	}
}
