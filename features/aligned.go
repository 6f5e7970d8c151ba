package features

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"io"
	"strings"

	"github.com/aether-ooc/aether-ooc/internal/base"
	"github.com/aether-ooc/aether-ooc/internal/binfmt"
	"github.com/aether-ooc/aether-ooc/internal/npy"
	"github.com/aether-ooc/aether-ooc/layout"
)

// Aligned is the header of a feature file, the form that `aether-ooc features`
// writes: as many whole rows in each block as fit, so that no row of up to 4 KiB
// costs two reads. It is block 0, sealed:
//
//	0      8        12         16         32      40      48            4092   4096
//	┌──────┬────────┬──────────┬──────────┬───────┬───────┬───────────────┬──────┐
//	│magic │version │ 0        │ dtype    │ rows  │ dim   │ zeros         │ crc  │
//	└──────┴────────┴──────────┴──────────┴───────┴───────┴───────────────┴──────┘
//
// Row r begins at Offset(r). Rows of more than a block follow each other directly.
type Aligned struct {
	DType string // NumPy's word, or BFloat16
	Rows  int64
	Dim   int64 // values of a row
}

const (
	alignedVersion = 1
	alignedBytes   = 48 // of the header that say something
	dtypeBytes     = 16
)

var alignedMagic = [8]byte{0x89, 'A', 'E', 'F', '\r', '\n', 0x1a, '\n'}

// RowBytes is the size of a row.
func (a Aligned) RowBytes() int64 { return a.Dim * int64(valueBytes(a.DType)) }

// valueBytes is the size of a value, 0 of an unknown dtype.
func valueBytes(dtype string) int {
	if dtype == BFloat16 {
		return 2
	}
	return npy.SizeOf(dtype)
}

// perBlock is how many rows a block holds; 0: rows follow each other directly.
func (a Aligned) perBlock() int64 {
	if n := a.RowBytes(); n > 0 && n <= base.BlockSize {
		return base.BlockSize / n
	}
	return 0
}

// Offset is where a row begins in the file.
func (a Aligned) Offset(row int64) int64 {
	if per := a.perBlock(); per > 0 {
		return (1+row/per)*base.BlockSize + row%per*a.RowBytes()
	}
	return base.BlockSize + row*a.RowBytes()
}

// Bytes is the size of the file: whole blocks.
func (a Aligned) Bytes() int64 {
	if a.Rows == 0 || a.Dim == 0 {
		return base.BlockSize
	}
	end := a.Offset(a.Rows-1) + a.RowBytes()
	return (end + base.BlockSize - 1) / base.BlockSize * base.BlockSize
}

// Header is block 0 of the file.
func (a Aligned) Header() []byte {
	b := make([]byte, base.BlockSize)
	le := binary.LittleEndian
	copy(b, alignedMagic[:])
	le.PutUint32(b[8:], alignedVersion)
	copy(b[16:16+dtypeBytes], a.DType)
	le.PutUint64(b[32:], uint64(a.Rows))
	le.PutUint64(b[40:], uint64(a.Dim))
	binfmt.Seal(b, 0)
	return b
}

// isAligned tells a feature file from a .npy.
func isAligned(r io.ReaderAt) bool {
	var b [8]byte
	_, err := r.ReadAt(b[:], 0)
	return (err == nil || err == io.EOF) && b == alignedMagic
}

// readAligned reads and checks the header of the feature file called name.
func readAligned(r io.ReaderAt, size int64, name string) (Aligned, error) {
	b := make([]byte, base.BlockSize)
	if n, err := r.ReadAt(b, 0); n < len(b) {
		if err == io.EOF {
			err = alignedDamage(name, int64(n), "the file is cut short", base.BlockSize, n)
		}
		return Aligned{}, err
	}
	if want, got, ok := binfmt.Check(b, 0); !ok {
		return Aligned{}, alignedDamage(name, binfmt.PayloadSize, "the checksum does not match the bytes", fmt.Sprintf("%08x", want), fmt.Sprintf("%08x", got))
	}
	if v := binary.LittleEndian.Uint32(b[8:]); v != alignedVersion {
		return Aligned{}, fmt.Errorf("%s: feature file version %d, this program reads %d: %w", name, v, alignedVersion, layout.ErrVersion)
	}
	a := Aligned{
		DType: string(bytes.TrimRight(b[16:16+dtypeBytes], "\x00")),
		Rows:  int64(binary.LittleEndian.Uint64(b[32:])), Dim: int64(binary.LittleEndian.Uint64(b[40:])),
	}
	return a, a.check(size, name)
}

// check holds what the header says to what can be.
func (a Aligned) check(size int64, name string) error {
	const most = int64(base.MaxBlocks) * base.BlockSize
	width := int64(valueBytes(a.DType))
	switch {
	case width == 0:
		return alignedDamage(name, 16, "unknown dtype", "one of NumPy's numbers", fmt.Sprintf("%q", a.DType))
	case a.Rows < 0 || a.Rows > most || a.Dim < 0 || a.Dim > most/width || a.Dim > 0 && a.Rows > most/(a.Dim*width):
		return alignedDamage(name, 32, "rows and columns beyond any file", nil, fmt.Sprintf("(%d, %d)", a.Rows, a.Dim))
	case size != a.Bytes():
		return alignedDamage(name, min(size, a.Bytes()), "the file has not the length that its header says", a.Bytes(), size)
	}
	return nil
}

func alignedDamage(name string, at int64, detail string, want, got any) error {
	return &layout.CorruptError{File: name, Section: "header", Offset: base.ByteOff(at), Detail: detail, Want: strings.TrimPrefix(fmt.Sprint(want), "<nil>"), Got: fmt.Sprint(got)}
}

// header is what a .npy of the same rows would say, for the checks that both
// have in common.
func (a Aligned) header() npy.Header {
	return npy.Header{DType: a.DType, Size: valueBytes(a.DType), Shape: []int64{a.Rows, a.Dim}, DataOff: base.BlockSize}
}
