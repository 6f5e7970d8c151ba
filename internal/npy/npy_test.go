package npy

import (
	"bytes"
	"encoding/binary"
	"errors"
	"io"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/stretchr/testify/require"

	"github.com/aether-ooc/aether-ooc/internal/base"
)

// The files of testdata were written by NumPy 2.4:
// numpy.lib.format.write_array(f, array, version).
func load(t testing.TB, name string) []byte {
	b, err := os.ReadFile(filepath.Join("testdata", name+".npy"))
	require.NoError(t, err)
	return b
}

func TestHeadersThatNumPyWrote(t *testing.T) {
	for name, want := range map[string]Header{
		"int64_2x3":      {DType: "int64", Size: 8, Shape: []int64{2, 3}, DataOff: 128},
		"uint32_be_f":    {DType: "uint32", Size: 4, BigEndian: true, Fortran: true, Shape: []int64{2, 3}, DataOff: 128},
		"float16_v2":     {DType: "float16", Size: 2, Shape: []int64{3, 1}, DataOff: 128},
		"bool_v3":        {DType: "bool", Size: 1, Shape: []int64{4}, DataOff: 128},
		"float64_scalar": {DType: "float64", Size: 8, Shape: []int64{}, DataOff: 128},
		"uint8_empty":    {DType: "uint8", Size: 1, Shape: []int64{0, 7}, DataOff: 128},
		"void16":         {DType: "void16", Size: 2, Shape: []int64{2}, DataOff: 128},
	} {
		b := load(t, name)
		h, err := ParseHeader(b)
		require.NoError(t, err, name)
		require.Equal(t, want, h, name)
		require.NoError(t, h.CheckSize(int64(len(b))), name)
		if h.Bytes() > 0 {
			require.ErrorIs(t, h.CheckSize(int64(len(b)-1)), ErrFormat, name)
		}

		r := bytes.NewReader(b)
		streamed, err := ReadHeader(iotest.OneByteReader(r))
		require.NoError(t, err, name)
		require.Equal(t, want, streamed, name)
		require.Equal(t, int(h.Bytes()), r.Len(), "ReadHeader took a byte of the values")
	}
}

func TestHeadersThatAreRefused(t *testing.T) {
	for name, says := range map[string]string{
		"object":     "Python objects",
		"structured": "structured",
		"text":       "holds text",
		"bytes":      "holds text",
		"complex":    "complex",
		"time":       "times",
		"longdouble": "not read",
	} {
		_, err := ParseHeader(load(t, name))
		require.ErrorIs(t, err, ErrFormat, name)
		require.ErrorContains(t, err, says, name)
	}
}

func header(text string) string {
	b := binary.LittleEndian.AppendUint16([]byte("\x93NUMPY\x01\x00"), uint16(len(text)))
	return string(b) + text
}

func TestMalformedHeaders(t *testing.T) {
	ok := "{'descr': '<i4', 'fortran_order': False, 'shape': (3,), }"
	_, err := ParseHeader([]byte(header(ok)))
	require.NoError(t, err)
	h, err := ParseHeader([]byte(header(`{"shape":(3L,4L),"descr":"|i1","fortran_order":True}`)))
	require.NoError(t, err)
	require.Equal(t, Header{DType: "int8", Size: 1, Fortran: true, Shape: []int64{3, 4}, DataOff: h.DataOff}, h)

	for _, c := range []struct{ in, says string }{
		{"", "not a .npy"},
		{"PK\x03\x04", "not a .npy"},
		{"\x93NUM", "cut short"},
		{"\x93NUMPY\x04\x00\x10", "cut short"},
		{"\x93NUMPY\x04\x00\x10\x00    ", "version 4.0"},
		{"\x93NUMPY\x02\x00\x10\x00", "cut short"},
		{"\x93NUMPY\x02\x00\x10\x00\x00", "cut short"},
		{"\x93NUMPY\x02\x00\xff\xff\xff\xff", "no plain array"},
		{header(ok)[:30], "cut short"},
		{header(""), "'{' expected"},
		{header("{"), "quoted word"},
		{header("{}"), "no 'descr'"},
		{header("{'descr': '<i4', 'fortran_order': False}"), "no 'shape'"},
		{header("{'descr': '<i4', 'descr': '<i4'}"), "second 'descr'"},
		{header("{'descr': '<i4 }"), "not closed"},
		{header("{'descr': '<i4', 'fortran_order': 1, 'shape': (3,)}"), "True or False"},
		{header("{'descr': '<i4', 'fortran_order': False, 'shape': (3,)} x"), "after the dict"},
		{header("{'descr': '<i4', 'fortran_order': False, 'shape': (3 4)}"), "in the shape"},
		{header("{'descr': '<i4', 'fortran_order': False, 'shape': (3,"), "no length"},
		{header("{'descr': '<i4', 'fortran_order': False, 'shape': (x,)}"), "no length"},
		{header("{'descr': '<i4', 'fortran_order': False, 'shape': (-3,)}"), "negative"},
		{header("{'descr': '<i4', 'fortran_order': False, 'shape': (99999999999999999999,)}"), "no length"},
		{header("{'descr': '<i8', 'fortran_order': False, 'shape': (4294967296, 4294967296)}"), "larger than any"},
		{header("{'descr': '<i8', 'fortran_order': False, 'shape': (0, 4294967296, 4294967296)}"), ""},
		{header("{'descr': '<i8', 'fortran_order': False, 'shape': (4294967296, 4294967296, 0)}"), "larger than any"},
		{header("{'descr': '<i8', 'fortran_order': False, 'shape': (2305843009213693951,)}"), "larger than any"},
		{header("{'descr': '<i8', 'fortran_order': False, 'shape': (" + strings.Repeat("1, ", 65) + ")}"), "65 dimensions"},
		{header("{'other': 1}"), "unknown entry"},
		{header("{'descr': '', 'fortran_order': False, 'shape': (3,)}"), "not read"},
	} {
		_, err := ParseHeader([]byte(c.in))
		_, streamed := ReadHeader(bytes.NewReader([]byte(c.in)))
		if c.says == "" {
			require.NoError(t, err, c.in)
			continue
		}
		require.ErrorIs(t, err, ErrFormat, c.in)
		require.ErrorContains(t, err, c.says, c.in)
		require.ErrorContains(t, streamed, c.says, c.in)
	}
}

func TestReadHeaderKeepsTheReadersError(t *testing.T) {
	b := load(t, "int64_2x3")
	broken := errors.New("broken disk")
	for _, n := range []int{0, 4, 10, 40} {
		_, err := ReadHeader(io.MultiReader(bytes.NewReader(b[:n]), iotest.ErrReader(broken)))
		require.ErrorIs(t, err, broken)
	}
}

func TestAppendHeaderIsReadBack(t *testing.T) {
	for _, d := range dtypes {
		for _, shape := range [][]int64{{}, {0}, {5}, {2, 1 << 40}, {1, 2, 3}} {
			b := AppendHeader(nil, d.name, shape)
			require.Zero(t, len(b)%align)
			h, err := ParseHeader(b)
			require.NoError(t, err)
			require.Equal(t, Header{DType: d.name, Size: d.size, Shape: shape, DataOff: int64(len(b))}, h)
		}
	}
	require.Panics(t, func() { AppendHeader(nil, "object", nil) })
}

func TestReadNodes(t *testing.T) {
	for name, want := range map[string]NodeList{
		"ids_int32":     {IDs: []base.NodeID{5, 0, math.MaxInt32}, Len: 3},
		"ids_uint64_be": {IDs: []base.NodeID{5, 0, math.MaxInt64}, Len: 3},
		"bool_v3":       {IDs: []base.NodeID{0, 3}, Mask: true, Len: 4},
	} {
		got, err := ReadNodes(bytes.NewReader(load(t, name)))
		require.NoError(t, err, name)
		require.Equal(t, want, got, name)
	}
	for name, says := range map[string]string{
		"ids_negative":   "value -1 at position 1",
		"ids_huge":       "value 9223372036854775808 at position 1",
		"ids_2d":         "shape (1, 2)",
		"float64_scalar": "one dimension",
		"void16":         "cannot name nodes",
		"object":         "Python objects",
	} {
		_, err := ReadNodes(bytes.NewReader(load(t, name)))
		require.ErrorIs(t, err, ErrFormat, name)
		require.ErrorContains(t, err, says, name)
	}
}

func TestReadNodesAcrossChunks(t *testing.T) {
	const n = 20_001
	b := AppendHeader(nil, "uint32", []int64{n})
	for i := range uint32(n) {
		b = binary.LittleEndian.AppendUint32(b, i*3)
	}
	got, err := ReadNodes(bytes.NewReader(b))
	require.NoError(t, err)
	require.Len(t, got.IDs, n)
	require.Equal(t, base.NodeID(60_000), got.IDs[n-1])

	_, err = ReadNodes(bytes.NewReader(b[:len(b)-1]))
	require.ErrorContains(t, err, "cut short after about 16384 of 20001")
	_, err = ReadNodes(bytes.NewReader(AppendHeader(nil, "int64", []int64{1 << 50})))
	require.ErrorIs(t, err, ErrFormat)
}

func FuzzParseHeader(f *testing.F) {
	files, err := filepath.Glob("testdata/*.npy")
	require.NoError(f, err)
	for _, name := range files {
		b, err := os.ReadFile(name)
		require.NoError(f, err)
		f.Add(b)
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		h, err := ParseHeader(b)
		streamed, streamErr := ReadHeader(bytes.NewReader(b))
		require.Equal(t, err == nil, streamErr == nil)
		if err != nil {
			require.ErrorIs(t, err, ErrFormat)
			return
		}
		require.Equal(t, h, streamed)
		require.GreaterOrEqual(t, h.Values(), int64(0))
		require.GreaterOrEqual(t, h.Bytes(), int64(0))
		again, err := ParseHeader(AppendHeader(nil, h.DType, h.Shape))
		require.NoError(t, err)
		h.BigEndian, h.Fortran, h.DataOff = false, false, again.DataOff
		require.Equal(t, h, again)
	})
}

func FuzzReadNodes(f *testing.F) {
	for _, name := range []string{"ids_int32", "ids_uint64_be", "bool_v3", "ids_negative"} {
		f.Add(load(f, name))
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		l, err := ReadNodes(bytes.NewReader(b))
		if err != nil {
			require.ErrorIs(t, err, ErrFormat)
			return
		}
		require.LessOrEqual(t, int64(len(l.IDs)), l.Len)
	})
}

func BenchmarkDecodeIDs(b *testing.B) {
	src, dst := make([]byte, 8<<16), make([]base.NodeID, 1<<16)
	for _, dtype := range []string{"uint32", "int64"} {
		b.Run(dtype, func(b *testing.B) {
			h := Header{DType: dtype, Size: 4}
			if dtype == "int64" {
				h.Size = 8
			}
			b.SetBytes(int64(len(dst) * h.Size))
			for b.Loop() {
				if err := h.DecodeIDs(dst, src); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

func TestRowMajor(t *testing.T) {
	for _, c := range []struct {
		h    Header
		want bool
	}{
		{Header{Shape: []int64{3, 4}}, true},
		{Header{Fortran: true, Shape: []int64{3, 4}}, false},
		{Header{Fortran: true, Shape: []int64{3, 1}}, true},
		{Header{Fortran: true, Shape: []int64{1, 4}}, true},
		{Header{Fortran: true, Shape: []int64{3}}, true},
		{Header{Fortran: true}, true},
	} {
		require.Equal(t, c.want, c.h.RowMajor(), "%v", c.h)
	}
}
