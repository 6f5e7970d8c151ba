//go:build linux

package source

import (
	"errors"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"
)

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
		{"a.txt", array, FormatText, "the content is npy"},
		{"a.npy", text, FormatAuto, "not a .npy file"},
		{"a.npy", text, FormatText, ""},
		{"a.txt", text, FormatNPY, "not a .npy file"},
		{"a.gz", gzipped(text), FormatAuto, ""},
		{"a", gzipped(text), FormatAuto, ""},
		{"a.txt", gzipped("1 2\n3", "", " 4"), FormatAuto, ""},
		{"a.gz", text, FormatAuto, ""},
		{"a.npy.gz", gzipped(array), FormatAuto, "compressed file"},
		{"a.gz", gzipped(text)[:20], FormatAuto, "cut short"},
		{"a.gz", gzipped(text)[:4], FormatAuto, "cut short"},
		{"a.gz", gzipped(text)[:1], FormatAuto, "cut short"},
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
		got, err := readAll(t, Config{Inputs: []string{path}, Format: c.asked})
		if c.says == "" {
			require.NoError(t, err, "%s %q", c.name, c.content)
			require.Equal(t, two, got, "%s %q", c.name, c.content)
			continue
		}
		require.ErrorIs(t, err, ErrInput, "%s %q", c.name, c.content)
		require.ErrorContains(t, err, c.says, "%s %q", c.name, c.content)
		require.ErrorContains(t, err, path)
	}
	_, err := readAll(t, Config{Inputs: []string{t.TempDir()}})
	require.ErrorContains(t, err, "folder")
	_, err = readAll(t, Config{Inputs: []string{filepath.Join(t.TempDir(), "none")}})
	require.ErrorIs(t, err, os.ErrNotExist)
}

func TestPipes(t *testing.T) {
	three := []pair{{1, 2}, {3, 4}, {5, 6}}
	for content, says := range map[string]string{
		textOf(three):                              "",
		gzipped(textOf(three)):                     "",
		encode(three, "int32", false, false, true): "", // (E, 2)
		encode(three, "int64", true, true, false):  "", // (2, E) in Fortran order
		encode(three, "int32", false, true, true):  "cannot be read from a pipe",
		arrayOf(three):                             "cannot be read from a pipe",
	} {
		path := filepath.Join(t.TempDir(), "pipe.txt")
		require.NoError(t, syscall.Mkfifo(path, 0o600))
		written := make(chan error)
		go func() { written <- os.WriteFile(path, []byte(content), 0) }()
		got, err := readAll(t, Config{Inputs: []string{path}})
		<-written
		if says != "" {
			require.ErrorContains(t, err, says)
			continue
		}
		require.NoError(t, err)
		require.Equal(t, three, got)
	}
}

func TestErrorsNameTheLine(t *testing.T) {
	text := strings.Repeat("1 2\n", 50_000) + "# c\n3 -4\n" + strings.Repeat("1 2\n", 50_000) + "x"
	path := writeFile(t, t.TempDir(), "a.txt", text)
	for range 5 {
		_, err := readAll(t, Config{Inputs: []string{path}})
		require.EqualError(t, err, path+`, line 50002, column 2: "-4": negative; node ids are 0 … 2^63-1, remove or renumber it`)
	}
}

func TestEndlessLine(t *testing.T) {
	path := writeFile(t, t.TempDir(), "a.txt", "# "+strings.Repeat("x", 3<<20)+"\n1 2\n")
	got, err := readAll(t, Config{Inputs: []string{path}})
	require.NoError(t, err, "a long comment is fine")
	require.Equal(t, []pair{{1, 2}}, got)
	path = writeFile(t, t.TempDir(), "a.txt", strings.Repeat("1 2\n", 50_000)+"1 2 "+strings.Repeat("\x00", maxLine+1<<20))
	_, err = readAll(t, Config{Inputs: []string{path}})
	require.ErrorContains(t, err, path+", line 50001: ")
	require.ErrorContains(t, err, "is this a text file?")
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
			got, err := readAll(t, Config{Inputs: []string{path}})
			require.NoError(t, err)
			require.Len(t, got, n)
			require.True(t, n == 0 || textOf(edges) == textOf(got), "%s big %v fortran %v by edge %v, n %d", dtype, on(2), fortran, byEdge, n)
		}
	}
	path := writeFile(t, dir, "e.npy", encode([]pair{{1, 2}, {3, 4}}, "int32", false, false, true))
	got, err := readAll(t, Config{Inputs: []string{path}})
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
		_, err := readAll(t, Config{Inputs: []string{path}})
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
			_, err := readAll(t, Config{Inputs: []string{path}})
			var bad *InputError
			require.True(t, errors.As(err, &bad))
			require.Equal(t, []int64{int64(c.row), int64(c.column)}, []int64{bad.Row, int64(bad.Column)})
		}
	}
}
