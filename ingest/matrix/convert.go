package matrix

import (
	"encoding/binary"
	"fmt"
	"math"
)

// Converter turns values of one dtype into another, rounding to the nearest, ties
// to even.
type Converter struct {
	from, to codec
}

// codec is how values of a dtype lie in memory.
type codec struct {
	size int
	load func(b []byte) float64
	put  func(b []byte, x float64) // nil: nothing is converted to it
}

var le = binary.LittleEndian

var codecs = map[string]codec{
	"bool":   {1, func(b []byte) float64 { return float64(b[0]) }, nil},
	"int8":   {1, func(b []byte) float64 { return float64(int8(b[0])) }, nil},
	"uint8":  {1, func(b []byte) float64 { return float64(b[0]) }, nil},
	"int16":  {2, func(b []byte) float64 { return float64(int16(le.Uint16(b))) }, nil},
	"uint16": {2, func(b []byte) float64 { return float64(le.Uint16(b)) }, nil},
	"int32":  {4, func(b []byte) float64 { return float64(int32(le.Uint32(b))) }, nil},
	"uint32": {4, func(b []byte) float64 { return float64(le.Uint32(b)) }, nil},
	"int64":  {8, func(b []byte) float64 { return float64(int64(le.Uint64(b))) }, nil},
	"uint64": {8, func(b []byte) float64 { return float64(le.Uint64(b)) }, nil},
	"float64": {8, func(b []byte) float64 { return math.Float64frombits(le.Uint64(b)) },
		func(b []byte, x float64) { le.PutUint64(b, math.Float64bits(x)) }},
	"float32": {4, func(b []byte) float64 { return float64(math.Float32frombits(le.Uint32(b))) },
		func(b []byte, x float64) { le.PutUint32(b, math.Float32bits(float32(x))) }},
	"float16": {2, func(b []byte) float64 { return fromHalf(le.Uint16(b)) },
		func(b []byte, x float64) { le.PutUint16(b, toHalf(x)) }},
	BFloat16: {2, func(b []byte) float64 { return float64(math.Float32frombits(uint32(le.Uint16(b)) << 16)) },
		func(b []byte, x float64) { le.PutUint16(b, toBrain(float32(x))) }},
}

// NewConverter converts from one dtype to a floating one, or to the same.
func NewConverter(from, to string) (*Converter, error) {
	f, ok := codecs[from]
	if !ok {
		return nil, fmt.Errorf("%w: dtype %s", ErrInput, from)
	}
	t := codecs[to]
	if from == to {
		f.load, t.put = nil, nil
	} else if t.put == nil {
		return nil, fmt.Errorf("%w: %s is not converted to %q, only to float64, float32, float16 and bfloat16", ErrInput, from, to)
	}
	return &Converter{f, t}, nil
}

// OutBytes is what so many bytes become.
func (c *Converter) OutBytes(in int) int { return in / c.from.size * c.to.size }

// Convert fills dst from src. Finite values that become infinite are refused: at
// is the place of the first, or -1.
func (c *Converter) Convert(dst, src []byte) (at int) {
	if c.to.put == nil {
		copy(dst, src)
		return -1
	}
	at = -1
	for i := range len(src) / c.from.size {
		x := c.from.load(src[i*c.from.size:])
		to := dst[i*c.to.size:]
		c.to.put(to, x)
		if at < 0 && !math.IsInf(x, 0) && math.IsInf(c.to.load(to), 0) {
			at = i
		}
	}
	return at
}

// toHalf rounds to IEEE 754's binary16, as numpy.float16 does.
func toHalf(x float64) uint16 {
	const (
		fraction = 10
		least    = -14 // exponent of the smallest normal number
		infinite = 0x7c00
	)
	sign := uint16(math.Float64bits(x)>>48) & 0x8000
	switch x = math.Abs(x); {
	case math.IsNaN(x):
		return sign | infinite | 1<<(fraction-1)
	case x >= 65520: // half way beyond the largest
		return sign | infinite
	case x == 0:
		return sign
	}
	exponent := max(math.Ilogb(x), least)
	steps := uint16(math.RoundToEven(math.Ldexp(x, fraction-exponent))) // below the smallest normal number: less than 1<<fraction
	return sign | (uint16(exponent-least)<<fraction + steps)            // a carry goes on into the exponent, as it should
}

// fromHalf is exact.
func fromHalf(h uint16) float64 {
	sign, exponent, fraction := h>>15, int(h>>10&0x1f), float64(h&0x3ff)
	x := math.Ldexp(fraction, -24)
	switch {
	case exponent == 0x1f && fraction != 0:
		return math.NaN()
	case exponent == 0x1f:
		x = math.Inf(1)
	case exponent > 0:
		x = math.Ldexp(1024+fraction, exponent-25)
	}
	if sign == 1 {
		return math.Copysign(x, -1)
	}
	return x
}

// toBrain rounds a float32 to its upper half, as PyTorch does.
func toBrain(x float32) uint16 {
	bits := math.Float32bits(x)
	if x != x {
		return uint16(bits>>16) | 0x40
	}
	return uint16((bits + 0x7fff + bits>>16&1) >> 16)
}

// FillWith fills dst with one value, rounded as Convert does; integers by their
// whole part.
func FillWith(dst []byte, dtype string, x float64) {
	c := codecs[dtype]
	for ; len(dst) > 0; dst = dst[c.size:] {
		if c.put != nil {
			c.put(dst, x)
			continue
		}
		word := uint64(int64(x))
		for i := range c.size {
			dst[i] = byte(word >> (8 * i))
		}
	}
}

// Integer reads an integer of a dtype; false: it is negative, or beyond int64.
func Integer(dtype string, b []byte) (int64, bool) {
	switch dtype {
	case "int64", "uint64":
		v := int64(le.Uint64(b))
		return v, v >= 0
	}
	v := int64(codecs[dtype].load(b)) // at most 32 bits: exact
	return v, v >= 0
}
