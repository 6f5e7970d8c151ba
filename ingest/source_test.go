//go:build linux

package ingest

import (
	"bytes"
	"compress/gzip"
	"context"
	"encoding/binary"
	"errors"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/aether-ooc/aether-ooc/internal/base"
	"github.com/aether-ooc/aether-ooc/internal/npy"
)

func gzipped(members ...string) string {
	var b bytes.Buffer
	for _, m := range members {
		w := gzip.NewWriter(&b)
		w.Write([]byte(m))
		w.Close()
	}
	return b.String()
}

// readAll reads an input as Run does; tune may change the source first.
func readAll(t testing.TB, c Config, tune func(*input)) (edges []pair, in *input, err error) {
	t.Helper()
	c.Workers = 2
	in, err = openInput(c, base.NodeID(c.maxID()))
	if err != nil {
		return nil, nil, err
	}
	defer in.Close()
	if tune != nil {
		tune(in)
	}
	err = in.each(context.Background(), func(b *batch) error {
		edges = append(edges, pairsOf(b)...)
		return nil
	})
	return edges, in, err
}

func TestHowAnInputIsTold(t *testing.T) {
	two := []pair{{1, 2}, {3, 4}}
	text, array := "1 2\n3 4\n", arrayOf(two)
	for _, c := range []struct {
		name, content string
		asked         Format
		says          string // "": it is read
	}{
		{"a.txt", text, FormatAuto, ""},
		{"a.TSV", text, FormatAuto, ""},
		{"a", text, FormatAuto, ""},
		{"a.dat", "# c\n" + text, FormatAuto, ""},
		{"a.dat", "\xef\xbb\xbf% c\n" + text, FormatAuto, ""},
		{"a.dat", "\n" + text, FormatText, ""},
		{"a.dat", "\n" + text, FormatAuto, "cannot be told"},
		{"a.dat", "name value\n", FormatAuto, "cannot be told"},
		{"a.dat", "", FormatAuto, "cannot be told"},
		{"a.bin", "\x00\x01\x02", FormatAuto, "cannot be told"},
		{"a.npy", array, FormatAuto, ""},
		{"a", array, FormatAuto, ""},
		{"a.txt", array, FormatAuto, ""},
		{"a.txt", array, FormatText, "this is a .npy file"},
		{"a.npy", text, FormatAuto, "not a .npy file"},
		{"a.npy", text, FormatText, ""},
		{"a.txt", text, FormatNPY, "not a .npy file"},
		{"a.gz", gzipped(text), FormatAuto, ""},
		{"a", gzipped(text), FormatAuto, ""},
		{"a.txt", gzipped("1 2\n3", "", " 4"), FormatAuto, ""},
		{"a.gz", text, FormatAuto, ""},
		{"a.npy.gz", gzipped(array), FormatAuto, "gunzip"},
		{"a.gz", gzipped(text)[:20], FormatAuto, "cut short"},
		{"a.gz", gzipped(text)[:4], FormatAuto, "cut short"},
		{"a.gz", gzipped(text)[:1], FormatAuto, "binary"},
		{"a.gz", gzipped(text) + "x", FormatAuto, "cut short"},
		{"a.gz", gzipped(text) + strings.Repeat("x", 20), FormatAuto, "damaged"},
		{"a.gz", gzipped(text)[:14] + "xxxx" + gzipped(text)[18:], FormatAuto, "damaged"},
		{"a.npz", "PK\x03\x04…", FormatAuto, ".npz"},
		{"a.parquet", "PAR1…", FormatAuto, "Parquet"},
		{"a.zst", "\x28\xb5\x2f\xfd…", FormatAuto, "zstd"},
		{"a.txt", "\xff\xfe1\x00", FormatAuto, "UTF-16"},
		{"a.mtx", "%%MatrixMarket matrix coordinate\n", FormatAuto, "Matrix Market"},
		{"a.gz", gzipped("%%MatrixMarket matrix coordinate\n"), FormatAuto, "Matrix Market"},
	} {
		path := writeFile(t, t.TempDir(), c.name, c.content)
		got, _, err := readAll(t, Config{Input: path, Format: c.asked}, nil)
		if c.says == "" {
			require.NoError(t, err, "%s %q", c.name, c.content)
			require.Equal(t, two, got, "%s %q", c.name, c.content)
			continue
		}
		require.ErrorIs(t, err, ErrInput, "%s %q", c.name, c.content)
		require.ErrorContains(t, err, c.says, "%s %q", c.name, c.content)
		require.ErrorContains(t, err, path)
	}
	_, _, err := readAll(t, Config{Input: t.TempDir()}, nil)
	require.ErrorContains(t, err, "folder")
	_, _, err = readAll(t, Config{Input: filepath.Join(t.TempDir(), "none")}, nil)
	require.ErrorIs(t, err, os.ErrNotExist)
}

func TestPipes(t *testing.T) {
	for content, says := range map[string]string{"1 2\n3 4\n": "", gzipped("1 2\n3 4\n"): "", arrayOf([]pair{{1, 2}}): "a pipe cannot"} {
		path := filepath.Join(t.TempDir(), "pipe.txt")
		require.NoError(t, syscall.Mkfifo(path, 0o600))
		written := make(chan error)
		go func() { written <- os.WriteFile(path, []byte(content), 0) }()
		got, in, err := readAll(t, Config{Input: path}, nil)
		<-written
		if says != "" {
			require.ErrorContains(t, err, says)
			continue
		}
		require.NoError(t, err)
		require.Equal(t, []pair{{1, 2}, {3, 4}}, got)
		require.Zero(t, in.bytes)
	}
}

// However a text is cut into blocks, it is the same text.
func FuzzBlocks(f *testing.F) {
	f.Add("1 2\r\n3 4\r5 6\n# c\n\n7 8", uint8(3))
	f.Add("\xef\xbb\xbf1 2\r\r\n3 4", uint8(1))
	f.Add("1 2\n3 x\n", uint8(2))
	f.Fuzz(func(t *testing.T, text string, block uint8) {
		if strings.HasPrefix(text, "\x1f\x8b") || block == 0 {
			t.Skip()
		}
		path := writeFile(t, t.TempDir(), "a.txt", text)
		got, in, err := readAll(t, Config{Input: path, Format: FormatText}, func(in *input) { in.source.(*textSource).block = int(block) })
		if in == nil {
			t.Skip() // of another format
		}
		want, line, wantErr := slowParse(strings.TrimPrefix(text, "\xef\xbb\xbf"), maxNodeID)
		require.Equal(t, wantErr != nil, err != nil)
		if err != nil {
			var bad *InputError
			require.True(t, errors.As(err, &bad))
			require.Equal(t, []any{int64(line), path}, []any{bad.Line, bad.File})
			return
		}
		require.Equal(t, want, got)
	})
}

func TestErrorsNameTheLine(t *testing.T) {
	text := strings.Repeat("1 2\n", 50_000) + "# c\n3 -4\n" + strings.Repeat("1 2\n", 50_000) + "x"
	path := writeFile(t, t.TempDir(), "a.txt", text)
	for range 5 {
		_, _, err := readAll(t, Config{Input: path}, nil)
		require.EqualError(t, err, path+`, line 50002, column 2: "-4": negative; node ids are 0 … 2^63-1, remove or renumber it`)
	}
}

func TestEndlessLine(t *testing.T) {
	path := writeFile(t, t.TempDir(), "a.txt", "# "+strings.Repeat("x", 3<<20)+"\n1 2\n")
	got, _, err := readAll(t, Config{Input: path}, nil)
	require.NoError(t, err, "a long comment is fine")
	require.Equal(t, []pair{{1, 2}}, got)
	path = writeFile(t, t.TempDir(), "a.txt", strings.Repeat("1 2\n", 50_000)+"1 2 "+strings.Repeat("\x00", maxLine+1<<20))
	_, _, err = readAll(t, Config{Input: path}, nil)
	require.ErrorContains(t, err, path+", line 50001: ")
	require.ErrorContains(t, err, "is this a text file?")
}

// encode makes a .npy of edges in one of the forms that NumPy can save.
func encode(edges []pair, dtype string, big, fortran, byEdge bool) string {
	e := int64(len(edges))
	shape := []int64{2, e}
	if byEdge {
		shape = []int64{e, 2}
	}
	b := string(npy.AppendHeader(nil, dtype, shape))
	if big {
		b = strings.Replace(b, "'<", "'>", 1)
	}
	if fortran {
		b = strings.Replace(b, "'fortran_order': False", "'fortran_order': True ", 1)
	}
	var order binary.ByteOrder = binary.LittleEndian
	if big {
		order = binary.BigEndian
	}
	var data []byte
	put := func(v uint64) {
		if strings.HasSuffix(dtype, "32") {
			data = append(data, 0, 0, 0, 0)
			order.PutUint32(data[len(data)-4:], uint32(v))
		} else {
			data = append(data, 0, 0, 0, 0, 0, 0, 0, 0)
			order.PutUint64(data[len(data)-8:], v)
		}
	}
	if fortran != byEdge { // source and target by turns
		for _, e := range edges {
			put(e[0])
			put(e[1])
		}
	} else {
		for column := range 2 {
			for _, e := range edges {
				put(e[column])
			}
		}
	}
	return b + string(data)
}

func TestEveryFormOfArray(t *testing.T) {
	r := rand.New(rand.NewPCG(5, 6))
	dir := t.TempDir()
	for _, n := range []int{0, 1, 2, 3, arrayBatch, 2*arrayBatch + 17} {
		edges := make([]pair, n)
		for i := range edges {
			edges[i] = pair{r.Uint64N(1 << 31), r.Uint64N(1 << 31)}
		}
		for form := range 32 {
			on := func(i int) bool { return form>>i&1 == 1 }
			dtype := []string{"int32", "uint32", "int64", "uint64"}[form&3]
			fortran, byEdge := on(3), on(4)
			if n == 2 && byEdge {
				continue // (2, 2) reads as (2, E)
			}
			path := writeFile(t, dir, "e.npy", encode(edges, dtype, on(2), fortran, byEdge))
			got, in, err := readAll(t, Config{Input: path}, nil)
			require.NoError(t, err)
			require.Len(t, got, n)
			require.True(t, n == 0 || textOf(edges) == textOf(got), "%s big %v fortran %v by edge %v, n %d", dtype, on(2), fortran, byEdge, n)
			require.Equal(t, in.bytes-128, in.position())
		}
	}
	path := writeFile(t, dir, "e.npy", encode([]pair{{1, 2}, {3, 4}}, "int32", false, false, true))
	got, _, err := readAll(t, Config{Input: path}, nil)
	require.NoError(t, err)
	require.Equal(t, []pair{{1, 3}, {2, 4}}, got, "(2, 2) reads as (2, E)")
}

func TestArraysThatAreRefused(t *testing.T) {
	dir := t.TempDir()
	at := func(column, row int, v uint64, dtype string, fortran bool) string {
		edges := make([]pair, 3*arrayBatch)
		edges[row][column] = v
		return encode(edges, dtype, false, fortran, false)
	}
	for _, c := range []struct{ content, says string }{
		{rows("float32", 2, 5), "dtype float32 cannot hold node ids"},
		{rows("float64", 2, 5), "astype(numpy.int64)"},
		{rows("int16", 2, 5), "dtype int16"},
		{rows("bool", 2, 5), "dtype bool"},
		{rows("int64", 10), "shape (10,) is no edge list"},
		{rows("int64", 3, 5), "shape (3, 5)"},
		{rows("int64", 2, 5, 1), "shape (2, 5, 1)"},
		{rows("int64"), "shape ()"},
		{rows("int64", 2, 5)[:200], "cut short"},
		{rows("int64", 2, 5)[:60], "cut short"},
		{at(0, 7, 1<<64-1, "int64", false), `row 7, column 1: "-1": negative`},
		{at(1, 40_000, 1<<64-5, "int64", false), `row 40000, column 2: "-5": negative`},
		{at(1, 40_000, 1<<64-5, "int64", true), `row 40000, column 2: "-5": negative`},
		{at(1, 9, 1<<31, "int32", false), `row 9, column 2: "-2147483648": negative`},
		{at(0, 9, 1<<63, "uint64", true), `row 9, column 1: "9223372036854775808": too large`},
		{at(0, 9, 1<<63-1, "uint64", false), `row 9, column 1: "9223372036854775807": too large`},
	} {
		path := writeFile(t, dir, "e.npy", c.content)
		_, _, err := readAll(t, Config{Input: path}, nil)
		require.ErrorIs(t, err, ErrInput, c.says)
		require.ErrorContains(t, err, path)
		require.ErrorContains(t, err, c.says)
	}
}

// The lowest bad row is named, whichever column it is in.
func TestLowestBadRowIsNamed(t *testing.T) {
	dir := t.TempDir()
	for _, c := range []struct{ srcRow, dstRow, row, column int }{{5, 9, 5, 1}, {9, 5, 5, 2}, {5, 5, 5, 1}, {70_000, 20, 20, 2}} {
		edges := make([]pair, 80_000)
		edges[c.srcRow][0], edges[c.dstRow][1] = 1<<63, 1<<63
		for _, fortran := range []bool{false, true} {
			path := writeFile(t, dir, "e.npy", encode(edges, "uint64", false, fortran, false))
			_, _, err := readAll(t, Config{Input: path}, nil)
			var bad *InputError
			require.True(t, errors.As(err, &bad))
			require.Equal(t, []int64{int64(c.row), int64(c.column)}, []int64{bad.Row, int64(bad.Column)})
		}
	}
}
