//go:build linux

package ingest

import (
	"bytes"
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/aether-ooc/aether-ooc/inspect"
	"github.com/aether-ooc/aether-ooc/internal/base"
	"github.com/aether-ooc/aether-ooc/internal/npy"
	"github.com/aether-ooc/aether-ooc/layout"
)

// rows is a .npy of the given shape; its bytes count upwards.
func rows(dtype string, shape ...int64) string {
	b := npy.AppendHeader(nil, dtype, shape)
	h, _ := npy.ParseHeader(b)
	for i := range h.Bytes() {
		b = append(b, byte(i*7+3))
	}
	return string(b)
}

func TestAttachmentsLieBesideTheGraph(t *testing.T) {
	dir := t.TempDir()
	in := writeFile(t, dir, "e.txt", textOf(tinyEdges))
	x := writeFile(t, dir, "x.npy", rows("float16", 8, 1000)+"bytes after the array")
	y := writeFile(t, dir, "y.npy", rows("int64", 8))
	z := writeFile(t, dir, "z.npy", rows("bool", 8, 2, 3))
	c := Config{Input: in, Out: filepath.Join(dir, "g.bin"), Features: x, NodeAttrs: []NodeAttr{{"y", y}, {"mask", z}}}
	res, err := run(t, c)
	require.NoError(t, err)

	g, _ := readLists(t, c.Out)
	require.Len(t, g.Attachments, 3)
	total := uint64(0)
	for _, a := range g.Attachments {
		path := a.Path(c.Out)
		b, err := os.ReadFile(path)
		require.NoError(t, err)
		requireSums(t, g, a, path, b)
		source := map[string]string{"x": x, "y": y, "mask": z}[a.Name]
		want, err := os.ReadFile(source)
		require.NoError(t, err)
		require.True(t, bytes.HasPrefix(want, b), "%s is not a copy", path)
		total += a.Bytes
	}
	require.Equal(t, res.AttachmentBytes, int64(total))

	again, err := run(t, c)
	require.NoError(t, err)
	require.Equal(t, res.ContentID, again.ContentID)
	writeFile(t, dir, "y.npy", strings.Replace(rows("int64", 8), "\x03", "\x04", 1))
	other, err := run(t, c)
	require.NoError(t, err)
	require.Equal(t, res.Fingerprint, other.Fingerprint)
	require.NotEqual(t, res.ContentID, other.ContentID)
}

// requireSums checks all that guards an attachment.
func requireSums(t *testing.T, g *layout.Graph, a layout.Attachment, path string, content []byte) {
	t.Helper()
	require.Equal(t, a.Bytes, uint64(len(content)))
	f, err := os.Open(layout.SumsPath(path))
	require.NoError(t, err)
	defer f.Close()
	st, err := f.Stat()
	require.NoError(t, err)
	sums, err := layout.OpenSums(f, st.Size(), f.Name())
	require.NoError(t, err)
	require.Equal(t, []any{g.Superblock.Fingerprint, a.Bytes, a.Hash}, []any{sums.Fingerprint, sums.Length, sums.Hash})
	for at := 0; at < len(content); at += base.BlockSize {
		b := make([]byte, base.BlockSize)
		copy(b, content[at:])
		require.NoError(t, sums.Check(base.BlockNo(at/base.BlockSize), b))
	}
}

func TestBFloat16(t *testing.T) {
	dir := t.TempDir()
	in := writeFile(t, dir, "e.txt", "0 1\n")
	for _, dtype := range []string{"int16", "uint16", "void16"} {
		c := Config{Input: in, Out: filepath.Join(dir, "g.bin"), Features: writeFile(t, dir, "x.npy", rows(dtype, 2, 4)), FeaturesDType: "bf16"}
		_, err := run(t, c)
		require.NoError(t, err)
		g, _ := readLists(t, c.Out)
		require.Equal(t, "bfloat16", g.Attachments[0].DType)
		require.Equal(t, []uint64{2, 4}, g.Attachments[0].Shape)
	}
}

func bigEndian(dtype string, shape ...int64) string {
	return strings.Replace(rows(dtype, shape...), "'<", "'>", 1)
}

func fortran(dtype string, shape ...int64) string {
	return strings.Replace(rows(dtype, shape...), "'fortran_order': False", "'fortran_order': True ", 1)
}

func TestUnfitAttachmentsAreRefused(t *testing.T) {
	dir := t.TempDir()
	in := writeFile(t, dir, "e.txt", "0 1\n")
	object, err := os.ReadFile("../internal/npy/testdata/object.npy")
	require.NoError(t, err)
	for _, c := range []struct {
		content     string
		dtype, says string
		asAttr      bool
	}{
		{content: rows("float32", 3, 2), says: "3 rows for 2 nodes"},
		{content: rows("float32", 3), says: "--num-nodes 3", asAttr: true},
		{content: rows("float32", 2), says: "reshape(-1, 1)"},
		{content: rows("float32", 2, 0), says: "(nodes, columns)"},
		{content: rows("float32", 2, 2, 2), says: "(nodes, columns)"},
		{content: rows("bool", 2, 2), says: "astype(numpy.uint8)"},
		{content: rows("void16", 2, 2), says: "--dtype bf16"},
		{content: rows("void16", 2, 2), says: "view(numpy.uint16)", asAttr: true},
		{content: rows("float32", 2, 2), dtype: "bf16", says: "cannot be read as bfloat16"},
		{content: rows("float16", 2, 2), dtype: "bf16", says: "cannot be read as bfloat16"},
		{content: bigEndian("float32", 2, 2), says: "big-endian"},
		{content: bigEndian("int64", 2), says: "newbyteorder", asAttr: true},
		{content: fortran("float32", 2, 2), says: "ascontiguousarray"},
		{content: rows("float32"), says: "single value", asAttr: true},
		{content: rows("float32", 2, 2)[:140], says: "cut short"},
		{content: "junk", says: "not a .npy"},
		{content: string(object), says: "Python objects"},
	} {
		path := writeFile(t, dir, "x.npy", c.content)
		cfg := Config{Input: in, Out: filepath.Join(dir, "g.bin"), FeaturesDType: c.dtype}
		if c.asAttr {
			cfg.NodeAttrs = []NodeAttr{{"y", path}}
		} else {
			cfg.Features = path
		}
		_, err := run(t, cfg)
		require.ErrorIs(t, err, ErrInput, c.says)
		require.ErrorContains(t, err, c.says)
		require.ErrorContains(t, err, path)
		require.NoFileExists(t, cfg.Out)
	}
}

func TestAttributeNames(t *testing.T) {
	dir := t.TempDir()
	in, y := writeFile(t, dir, "e.txt", "0 1\n"), writeFile(t, dir, "y.npy", rows("int64", 2))
	for _, attrs := range [][]NodeAttr{{{"x", y}}, {{"e_id", y}}, {{"y", y}, {"y", y}}, {{"", y}}, {{"a/b", y}}, {{"..", y}}} {
		_, err := run(t, Config{Input: in, Out: filepath.Join(dir, "g.bin"), NodeAttrs: attrs})
		require.ErrorIs(t, err, ErrOption, attrs)
	}
	_, err := run(t, Config{Input: in, Out: filepath.Join(dir, "g.bin"), NodeAttrs: []NodeAttr{{"y", filepath.Join(dir, "none.npy")}}})
	require.ErrorIs(t, err, os.ErrNotExist)
}

// A rebuild that dies after it put its attachments in place, but not its
// graph, must not go unseen.
func TestMixedFilesAreSeen(t *testing.T) {
	dir := t.TempDir()
	in, x := writeFile(t, dir, "e.txt", "0 1\n"), writeFile(t, dir, "x.npy", rows("float32", 2, 2))
	c := Config{Input: in, Out: filepath.Join(dir, "g.bin"), Features: x}
	_, err := run(t, c)
	require.NoError(t, err)

	s, err := openStage(c.Out)
	require.NoError(t, err)
	att, err := openAttachments(c)
	require.NoError(t, err)
	_, err = s.create(c.Out)
	require.NoError(t, err)
	require.NoError(t, att[0].place(s, base.Fingerprint{1}, func(int) error { return nil }))
	require.NoError(t, os.Rename(c.Out, c.Out+".kept"))
	require.NoError(t, os.MkdirAll(filepath.Join(c.Out, "in the way"), 0o777))
	require.Error(t, s.commit())
	closeAll(att)
	s.close()
	require.NoError(t, os.RemoveAll(c.Out))
	require.NoError(t, os.Rename(c.Out+".kept", c.Out))

	_, err = inspect.Verify(context.Background(), inspect.Config{Path: c.Out})
	require.ErrorIs(t, err, layout.ErrCorrupt)
	require.ErrorContains(t, err, ".features.npy")
}
