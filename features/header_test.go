package features

import (
	"bytes"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/aether-ooc/aether-ooc/internal/npy"
	"github.com/aether-ooc/aether-ooc/layout"
	"github.com/aether-ooc/aether-ooc/uring"
)

// edit changes a header's text, which keeps its length.
func edit(a array, from, to string) []byte {
	b := bytes.Replace(a.bytes(), []byte(from), []byte(to), 1)
	pad := len(from) - len(to)
	end := bytes.IndexByte(b, '\n')
	if pad > 0 {
		b = append(b[:end], append(bytes.Repeat([]byte{' '}, pad), b[end:]...)...)
	} else {
		b = append(b[:end+pad], b[end:]...)
	}
	return b
}

// TestRefused: every kind of array that cannot be used is refused by name, with
// what to do about it.
func TestRefused(t *testing.T) {
	x := makeArray("float32", 4, 6, 2)
	words := makeArray("uint16", 2, 6, 2)
	for _, c := range []struct {
		name   string
		file   []byte
		o      Options
		want   error
		remedy string
	}{
		{"rows", x.bytes(), Options{Nodes: 7}, ErrRows, "one row for each node"},
		{"more rows", x.bytes(), Options{Nodes: 5}, ErrRows, "has 6 rows, the graph has 5 nodes"},
		{"three dimensions", makeArray("float32", 4, 6, 2, 2).bytes(), Options{Nodes: 6}, ErrShape, "reshape(len(x), -1)"},
		{"scalar", edit(x, "(6, 2)", "()"), Options{Nodes: 1}, ErrShape, "whose first axis is the node"},
		{"scalar attribute", edit(x, "(6, 2)", "()"), Options{Role: layout.Attr, Nodes: 1}, ErrShape, "save an array"},
		{"Fortran", edit(x, "False", "True"), Options{Nodes: 6}, ErrOrder, "numpy.ascontiguousarray"},
		{"big-endian", edit(x, "<f4", ">f4"), Options{Nodes: 6}, ErrEndian, "newbyteorder('<')"},
		{"other dtype", x.bytes(), Options{Nodes: 6, DType: "float64"}, ErrDType, "astype('float64')"},
		{"float32 as bfloat16", x.bytes(), Options{Nodes: 6, DType: BFloat16}, ErrDType, "as uint16"},
		{"float16 as bfloat16", edit(words, "<u2", "<f2"), Options{Nodes: 6, DType: BFloat16}, ErrDType, "leave the dtype out"},
		{"words", makeArray("void16", 2, 6, 2).bytes(), Options{Nodes: 6}, ErrDType, "--dtype bf16"},
		{"cut short", x.bytes()[:len(x.bytes())-1], Options{Nodes: 6}, npy.ErrFormat, "write it again"},
		{"no npy", []byte("0 1\n1 2\n"), Options{Nodes: 6}, npy.ErrFormat, "numpy.save"},
		{"nothing", nil, Options{Nodes: 6}, npy.ErrFormat, "numpy.save"},
	} {
		t.Run(c.name, func(t *testing.T) {
			if c.o.Role == "" {
				c.o.Role = layout.Features
			}
			path := write(t, "x.npy", c.file)
			_, err := Open(path, c.o)
			require.ErrorIs(t, err, c.want)
			require.ErrorContains(t, err, path)
			require.ErrorContains(t, err, c.remedy)
		})
	}
	_, err := Open(filepath.Join(t.TempDir(), "none.npy"), Options{})
	require.ErrorIs(t, err, os.ErrNotExist)
}

// TestFixtures: files that NumPy wrote, among them those of kinds that are not
// read.
func TestFixtures(t *testing.T) {
	fixture := func(name string) string { return filepath.Join("..", "internal", "npy", "testdata", name) }
	for _, name := range []string{"object.npy", "structured.npy", "text.npy", "bytes.npy", "complex.npy", "time.npy", "longdouble.npy"} {
		_, err := Open(fixture(name), Options{Role: layout.Attr, Mode: uring.Buffered})
		require.ErrorIs(t, err, npy.ErrFormat, name)
		require.ErrorContains(t, err, name)
	}
	for _, name := range []string{"bool_v3.npy", "float16_v2.npy", "int64_2x3.npy", "ids_int32.npy"} {
		b, err := os.ReadFile(fixture(name))
		require.NoError(t, err)
		h, err := npy.ParseHeader(b)
		require.NoError(t, err)
		s := openSource(t, fixture(name), Options{Role: layout.Attr, Nodes: uint64(h.Shape[0]), Mode: uring.Buffered})
		require.Equal(t, h.DType, s.DType())
		require.Equal(t, h.Bytes(), s.Rows()*s.RowBytes())
	}
}

// TestAccepted: what differs from a plain matrix in name only is taken.
func TestAccepted(t *testing.T) {
	column := makeArray("float32", 4, 6)
	words := makeArray("void16", 2, 6, 2)
	for _, c := range []struct {
		name  string
		file  []byte
		o     Options
		dtype string
		dim   int64
	}{
		{"a column", column.bytes(), Options{Nodes: 6}, "float32", 1},
		{"Fortran column", edit(column, "False", "True"), Options{Nodes: 6}, "float32", 1},
		{"bfloat16", words.bytes(), Options{Nodes: 6, DType: BFloat16}, BFloat16, 2},
		{"bfloat16 as int16", edit(words, "|V2", "<i2"), Options{Nodes: 6, DType: BFloat16}, BFloat16, 2},
		{"the dtype it has", column.bytes(), Options{Nodes: 6, DType: "float32"}, "float32", 1},
		{"bytes after the values", append(column.bytes(), 1, 2, 3), Options{Nodes: 6}, "float32", 1},
	} {
		t.Run(c.name, func(t *testing.T) {
			c.o.Role = layout.Features
			s := openSource(t, write(t, "x.npy", c.file), c.o)
			require.Equal(t, c.dtype, s.DType())
			require.Equal(t, c.dim, s.Dim())
		})
	}
}
