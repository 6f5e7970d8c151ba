package npy

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"math"
	"math/bits"
	"slices"
	"strconv"
	"strings"
)

// ErrFormat marks every complaint about a .npy file: not one at all, damaged,
// or of a kind that is not read. Errors that wrap it say what to do.
var ErrFormat = errors.New("npy")

const (
	magic     = "\x93NUMPY"
	maxHeader = 1 << 20 // only structured dtypes need more than a few hundred bytes
	maxDims   = 64
	align     = 64 // where NumPy puts the first value, so that a mapping of the file is aligned
)

// Header says what a .npy file holds and where.
type Header struct {
	DType     string  // NumPy's name: "float32", "int64", "bool", …; "void16" is what bfloat16 is saved as
	Size      int     // bytes of one value
	BigEndian bool    // always false for values of one byte
	Fortran   bool    // column-major
	Shape     []int64 // empty for a scalar
	DataOff   int64   // where the values start
}

type dtype struct {
	code string // NumPy's type string without its byte order
	name string
	size int
}

var dtypes = []dtype{
	{"b1", "bool", 1},
	{"i1", "int8", 1}, {"i2", "int16", 2}, {"i4", "int32", 4}, {"i8", "int64", 8},
	{"u1", "uint8", 1}, {"u2", "uint16", 2}, {"u4", "uint32", 4}, {"u8", "uint64", 8},
	{"f2", "float16", 2}, {"f4", "float32", 4}, {"f8", "float64", 8},
	{"V2", "void16", 2},
}

// Values is how many values the array has.
func (h Header) Values() int64 {
	n := int64(1)
	for _, d := range h.Shape {
		n *= d
	}
	return n
}

// Bytes is how many bytes the values take.
func (h Header) Bytes() int64 { return h.Values() * int64(h.Size) }

// ShapeString is the shape as NumPy prints it.
func (h Header) ShapeString() string { return shapeText(h.Shape) }

// RowMajor reports whether the values of a row, which is what follows the first
// index, lie together. C and Fortran order differ only from two wide axes up.
func (h Header) RowMajor() bool {
	wide := 0
	for _, d := range h.Shape {
		if d > 1 {
			wide++
		}
	}
	return !h.Fortran || wide < 2
}

// CheckSize compares the header with the size of its file: the values must all
// be there. Bytes after them are allowed, as in NumPy.
func (h Header) CheckSize(size int64) error {
	if want := h.DataOff + h.Bytes(); size < want {
		return fmt.Errorf("%w: the file is cut short: %s of %s needs %d bytes, it has %d; write it again",
			ErrFormat, h.ShapeString(), h.DType, want, size)
	}
	return nil
}

// ReadHeader reads the header from the start of r and not a byte more.
func ReadHeader(r io.Reader) (Header, error) {
	b := make([]byte, 10)
	if n, err := io.ReadFull(r, b); err != nil {
		return fromShort(b[:n], err)
	}
	if b[6] > 1 {
		b = append(b, 0, 0)
		if n, err := io.ReadFull(r, b[10:]); err != nil {
			return fromShort(b[:10+n], err)
		}
	}
	total, err := headerLen(b)
	if err != nil {
		return Header{}, err
	}
	at := len(b)
	b = append(b, make([]byte, total-at)...)
	if n, err := io.ReadFull(r, b[at:]); err != nil {
		return fromShort(b[:at+n], err)
	}
	return ParseHeader(b)
}

// fromShort explains a header that could not be read whole.
func fromShort(b []byte, err error) (Header, error) {
	if err != io.EOF && err != io.ErrUnexpectedEOF {
		return Header{}, err
	}
	return ParseHeader(b)
}

// ParseHeader reads the header at the start of b, which may be longer.
func ParseHeader(b []byte) (Header, error) {
	total, err := headerLen(b)
	if err != nil {
		return Header{}, err
	}
	if total > len(b) {
		return Header{}, truncated(total, len(b))
	}
	text := b[preludeLen(b[6]):total]
	h, err := parseDict(string(text))
	if err != nil {
		return Header{}, err
	}
	h.DataOff = int64(total)
	return h, h.checkShape()
}

func preludeLen(major byte) int {
	if major == 1 {
		return 10
	}
	return 12
}

// headerLen is the length of the header including magic and version.
func headerLen(b []byte) (int, error) {
	if n := min(len(b), len(magic)); string(b[:n]) != magic[:n] || n == 0 {
		return 0, fmt.Errorf("%w: not a .npy file (it does not start with \\x93NUMPY); save the array with numpy.save", ErrFormat)
	}
	if len(b) < 10 {
		return 0, truncated(10, len(b))
	}
	major, minor := b[6], b[7]
	if major < 1 || major > 3 || minor != 0 {
		return 0, fmt.Errorf("%w: version %d.%d of the format is not known (1.0, 2.0, 3.0 are); save the array again with numpy.save", ErrFormat, major, minor)
	}
	pre := preludeLen(major)
	if len(b) < pre {
		return 0, truncated(pre, len(b))
	}
	n := uint32(binary.LittleEndian.Uint16(b[8:]))
	if major > 1 {
		n = binary.LittleEndian.Uint32(b[8:])
	}
	if n > maxHeader {
		return 0, fmt.Errorf("%w: a header of %d bytes is no plain array's; save a plain array with numpy.save", ErrFormat, n)
	}
	return pre + int(n), nil
}

func truncated(want, got int) error {
	return fmt.Errorf("%w: the header is cut short: %d bytes of %d are there; write the file again", ErrFormat, got, want)
}

func (h Header) checkShape() error {
	if len(h.Shape) > maxDims {
		return fmt.Errorf("%w: %d dimensions are more than NumPy's %d; write the file again", ErrFormat, len(h.Shape), maxDims)
	}
	n := uint64(h.Size)
	for _, d := range h.Shape {
		if d < 0 {
			return fmt.Errorf("%w: shape %s has a negative length; write the file again", ErrFormat, h.ShapeString())
		}
	}
	if slices.Contains(h.Shape, 0) {
		return h.checkEmpty()
	}
	for _, d := range h.Shape {
		hi, lo := bits.Mul64(n, uint64(d))
		if hi != 0 || lo > math.MaxInt64-maxHeader-16 {
			return h.tooLarge()
		}
		n = lo
	}
	return nil
}

// checkEmpty keeps rule 1 for shapes such as (2^40, 2^40, 0), whose running
// product would overflow before it meets the zero.
func (h Header) checkEmpty() error {
	n := uint64(1)
	for _, d := range h.Shape {
		hi, lo := bits.Mul64(n, uint64(d))
		if hi != 0 || lo > math.MaxInt64 {
			return h.tooLarge()
		}
		n = lo
	}
	return nil
}

func (h Header) tooLarge() error {
	return fmt.Errorf("%w: shape %s of %s is larger than any file; write the file again", ErrFormat, h.ShapeString(), h.DType)
}

// SizeOf is how many bytes a value of a dtype takes, by one of Header's names; 0
// where there is no such dtype.
func SizeOf(dtypeName string) int {
	i := slices.IndexFunc(dtypes, func(d dtype) bool { return d.name == dtypeName })
	if i < 0 {
		return 0
	}
	return dtypes[i].size
}

// AppendHeader appends a version 1.0 header for a little-endian array in C
// order, padded so that the values start at a multiple of 64 bytes if dst was
// empty. dtype must be one of Header's names; anything else is our own bug.
func AppendHeader(dst []byte, dtypeName string, shape []int64) []byte {
	i := slices.IndexFunc(dtypes, func(d dtype) bool { return d.name == dtypeName })
	if i < 0 {
		panic("npy: no dtype " + dtypeName)
	}
	order := "<"
	if dtypes[i].size == 1 || dtypes[i].code[0] == 'V' {
		order = "|"
	}
	text := fmt.Sprintf("{'descr': '%s%s', 'fortran_order': False, 'shape': %s, }", order, dtypes[i].code, shapeText(shape))
	total := (10 + len(text) + 1 + align - 1) / align * align
	text += strings.Repeat(" ", total-10-len(text)-1) + "\n"
	dst = append(dst, magic+"\x01\x00"...)
	dst = binary.LittleEndian.AppendUint16(dst, uint16(len(text)))
	return append(dst, text...)
}

func shapeText(shape []int64) string {
	var b strings.Builder
	b.WriteByte('(')
	for i, d := range shape {
		if i > 0 {
			b.WriteString(", ")
		}
		b.WriteString(strconv.FormatInt(d, 10))
	}
	if len(shape) == 1 {
		b.WriteByte(',')
	}
	b.WriteByte(')')
	return b.String()
}
