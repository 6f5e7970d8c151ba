package matrix

import (
	"encoding/binary"
	"math"
	"testing"

	"github.com/stretchr/testify/require"
)

// The readers are tested against what NumPy, PyTorch and pyarrow write:
// python/tests/test_features.py.

func TestHalves(t *testing.T) {
	for h := range 1 << 16 {
		x := fromHalf(uint16(h))
		if h&0x7c00 == 0x7c00 && h&0x3ff != 0 {
			require.True(t, math.IsNaN(x))
			require.True(t, math.IsNaN(fromHalf(toHalf(x))))
			continue
		}
		require.Equal(t, uint16(h), toHalf(x), "%04x", h)
	}
}

// Half way between two neighbours the even one is nearest, and a little aside
// the nearer one.
func TestHalvesAreRoundedToTheNearest(t *testing.T) {
	for h := uint16(0); h < 0x7bff; h++ {
		a, b := fromHalf(h), fromHalf(h+1)
		middle := (a + b) / 2
		require.Equal(t, h+h&1, toHalf(middle), "%04x", h)
		require.Equal(t, h, toHalf(math.Nextafter(middle, 0)))
		require.Equal(t, h+1, toHalf(math.Nextafter(middle, math.Inf(1))))
		require.Equal(t, 0x8000|(h+h&1), toHalf(-middle))
	}
	require.Equal(t, uint16(0x7bff), toHalf(math.Nextafter(65520, 0)))
	require.Equal(t, uint16(0x7c00), toHalf(65520))
	require.Equal(t, uint16(0xfc00), toHalf(math.Inf(-1)))
}

func TestConvertTellsWhatDoesNotFit(t *testing.T) {
	c, err := NewConverter("float64", "float16")
	require.NoError(t, err)
	src := make([]byte, 32)
	for i, x := range []float64{1, math.Inf(1), 65520, -1e300} {
		binary.LittleEndian.PutUint64(src[8*i:], math.Float64bits(x))
	}
	dst := make([]byte, c.OutBytes(len(src)))
	require.Equal(t, 2, c.Convert(dst, src))
	require.Equal(t, -1, c.Convert(dst, src[:16]), "infinity is not beyond what it can hold")
	for _, wrong := range [][2]string{{"complex64", "float32"}, {"float32", "int8"}, {"float32", ""}} {
		_, err := NewConverter(wrong[0], wrong[1])
		require.ErrorIs(t, err, ErrInput)
	}
}

func TestFillWith(t *testing.T) {
	b := make([]byte, 4)
	FillWith(b, "int16", -2)
	require.Equal(t, []byte{0xfe, 0xff, 0xfe, 0xff}, b)
	FillWith(b, "float32", 1)
	require.Equal(t, float32(1), math.Float32frombits(binary.LittleEndian.Uint32(b)))
}
