package features

import (
	"context"
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/aether-ooc/aether-ooc/blockcache"
	"github.com/aether-ooc/aether-ooc/internal/base"
	"github.com/aether-ooc/aether-ooc/layout"
)

// aligned lays the rows of an array into a feature file.
func (a array) aligned(dtype string, dim int64) []byte {
	h := Aligned{DType: dtype, Rows: a.rows, Dim: dim}
	b := make([]byte, h.Bytes())
	copy(b, h.Header())
	for r := range a.rows {
		copy(b[h.Offset(r):], a.values[r*a.rowBytes:(r+1)*a.rowBytes])
	}
	return b
}

func TestGatherFromAlignedFile(t *testing.T) {
	for _, c := range []struct {
		dtype string
		size  int64
		dim   int64
	}{{"float32", 4, 128}, {"float32", 4, 100}, {"float16", 2, 3}, {BFloat16, 2, 1}, {"uint8", 1, 4096}, {"float64", 8, 513}, {"float32", 4, 3000}, {"int8", 1, 1}} {
		t.Run(fmt.Sprint(c.dtype, c.dim), func(t *testing.T) {
			a := makeArray(map[bool]string{true: "int16", false: c.dtype}[c.dtype == BFloat16], c.size, 501, c.dim)
			s := openSource(t, write(t, "x.aef", a.aligned(c.dtype, c.dim)), Options{Role: layout.Features, Nodes: 501})
			require.Equal(t, c.dtype, s.DType())
			require.Equal(t, c.dim, s.Dim())
			rows := []int64{500, 0, 7, 7, 250}
			for range 100 {
				rows = append(rows, rand.Int64N(501))
			}
			dst := make([]byte, int64(len(rows))*s.RowBytes())
			n := withLanes(t, s, blockcache.Config{Slots: 64}, nil, func(_ int, l *blockcache.Lane) {
				if err := s.Gather(context.Background(), l, rows, dst); err != nil {
					t.Error(err)
				}
			})
			require.Equal(t, a.naive(rows), dst)
			if s.RowBytes() <= base.BlockSize {
				require.LessOrEqual(t, n.Asked(), int64(len(rows)), "a row lies in one block")
			}
		})
	}
}

func TestAlignedFileOfNothing(t *testing.T) {
	for _, h := range []Aligned{{DType: "float32", Dim: 5}, {DType: "float32", Rows: 3}} {
		s, err := Open(write(t, "x.aef", h.Header()), Options{Role: layout.Features, Nodes: uint64(h.Rows)})
		require.NoError(t, err)
		require.NoError(t, s.Close())
	}
}

// Every flipped byte of the header and every wrong length is seen.
func TestAlignedFileDamaged(t *testing.T) {
	a := makeArray("float32", 4, 20, 100)
	whole := a.aligned("float32", 100)
	try := func(b []byte) error {
		s, err := Open(write(t, "x.aef", b), Options{Role: layout.Features, Nodes: 20})
		if err == nil {
			require.NoError(t, s.Close())
		}
		return err
	}
	require.NoError(t, try(whole))
	for at := range base.BlockSize {
		if at >= alignedBytes && at < base.BlockSize-8 && at%97 != 0 {
			continue // zeros, most of them alike
		}
		b := append([]byte{}, whole...)
		b[at] ^= 0x10
		require.Error(t, try(b), "byte %d", at)
	}
	for _, n := range []int{0, 7, 8, 100, base.BlockSize, len(whole) - 1, len(whole) - base.BlockSize} {
		require.Error(t, try(whole[:n]), "%d bytes", n)
	}
	require.ErrorIs(t, try(append(whole, 0)), layout.ErrCorrupt)
	for want, h := range map[string]Aligned{
		"unknown dtype": {DType: "float128", Rows: 1, Dim: 1},
		"beyond any":    {DType: "float32", Rows: 1 << 60, Dim: 1 << 10},
		"length":        {DType: "float32", Rows: 20, Dim: 1000},
	} {
		require.ErrorContains(t, try(append(h.Header(), whole[base.BlockSize:]...)), want)
	}
	_, err := Open(write(t, "x.aef", whole), Options{Role: layout.Features, Nodes: 21})
	require.ErrorIs(t, err, ErrRows)
}
