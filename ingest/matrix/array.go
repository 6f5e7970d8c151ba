package matrix

import (
	"errors"
	"fmt"
	"io"
	"os"
	"slices"

	"github.com/aether-ooc/aether-ooc/internal/npy"
)

// ndarray reads an array of one or two axes.
type ndarray struct {
	name   string
	h      npy.Header
	dtype  string
	rows   int64
	dim    int64
	next   int64
	stream io.Reader   // behind the header; C order
	at     io.ReaderAt // of the values; Fortran order
	column []byte      // of Fortran order: a piece of one
	closes []io.Closer
}

func openNPY(c Config) (Reader, error) {
	f, size, err := openFile(c.Path)
	if err != nil {
		return nil, err
	}
	return newArray(c, c.Path, io.NewSectionReader(f, 0, size), size, f)
}

func openFile(path string) (*os.File, int64, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, 0, err
	}
	st, err := f.Stat()
	if err == nil && !st.Mode().IsRegular() {
		err = refuse(path, "not a regular file; save it to one first")
	}
	if err != nil {
		return nil, 0, errors.Join(err, f.Close())
	}
	return f, st.Size(), nil
}

// newArray reads the header from r, of size bytes. It closes what it was given
// when it fails.
func newArray(c Config, name string, r io.Reader, size int64, closes ...io.Closer) (Reader, error) {
	a := &ndarray{name: name, stream: r, closes: closes}
	if err := a.open(c, size); err != nil {
		return nil, errors.Join(err, a.Close())
	}
	return a, nil
}

func (a *ndarray) open(c Config, size int64) (err error) {
	if a.h, err = npy.ReadHeader(a.stream); err == nil {
		err = a.h.CheckSize(size)
	}
	if err != nil {
		return fmt.Errorf("%s: %w", a.name, err)
	}
	a.dtype = a.h.DType
	switch {
	case c.DType == BFloat16 && a.h.Size == 2 && a.dtype != "float16":
		a.dtype = BFloat16
	case a.dtype == "void16":
		return refuse(a.name, "16-bit words without a type, as bfloat16 is saved; say that they are (--words bf16)")
	case c.DType != "":
		return refuse(a.name, "values of type %s, where bfloat16 is read from 16-bit words; save the words as uint16", a.dtype)
	}
	return a.shape()
}

// shape finds rows and columns, and how to get at the rows.
func (a *ndarray) shape() error {
	switch s := a.h.Shape; len(s) {
	case 1:
		a.rows, a.dim = s[0], 1
	case 2:
		a.rows, a.dim = s[0], s[1]
	default:
		return refuse(a.name, "shape %s; save x.reshape(len(x), -1)", a.h.ShapeString())
	}
	if a.h.RowMajor() {
		return nil
	}
	at, ok := a.stream.(io.ReaderAt)
	if !ok {
		return refuse(a.name, "Fortran order in a compressed file: its rows lie scattered; save numpy.ascontiguousarray(x), or save it uncompressed")
	}
	a.at = io.NewSectionReader(at, a.h.DataOff, a.h.Bytes())
	return nil
}

func (a *ndarray) DType() string { return a.dtype }
func (a *ndarray) Rows() int64   { return a.rows }
func (a *ndarray) Dim() int64    { return a.dim }
func (a *ndarray) Keyed() bool   { return false }

func (a *ndarray) Close() error {
	var errs []error
	for _, c := range a.closes {
		errs = append(errs, c.Close())
	}
	return errors.Join(errs...)
}

func (a *ndarray) Next(dst []byte, _ []int64) (int, error) {
	width := a.dim * int64(a.h.Size)
	if a.next == a.rows {
		return 0, io.EOF
	}
	n := a.rows - a.next
	if width > 0 {
		n = min(n, int64(len(dst))/width)
	}
	dst = dst[:n*width]
	if err := a.read(dst, n); err != nil {
		return 0, err
	}
	if a.h.BigEndian {
		swap(dst, a.h.Size)
	}
	a.next += n
	return int(n), nil
}

func (a *ndarray) read(dst []byte, n int64) error {
	if a.at != nil {
		return a.gather(dst, n)
	}
	_, err := io.ReadFull(a.stream, dst)
	return a.short(err)
}

// short explains the end of a file that should have gone on.
func (a *ndarray) short(err error) error {
	if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
		return refuse(a.name, "the file is cut short; write it again")
	}
	if err != nil {
		return fmt.Errorf("%s: %w", a.name, err)
	}
	return nil
}

// gather makes rows of pieces of all columns.
func (a *ndarray) gather(dst []byte, n int64) error {
	size := int64(a.h.Size)
	a.column = slices.Grow(a.column[:0], int(n*size))[:n*size]
	for d := range a.dim {
		if _, err := a.at.ReadAt(a.column, (d*a.rows+a.next)*size); err != nil && err != io.EOF {
			return a.short(err)
		}
		for r := range n {
			copy(dst[(r*a.dim+d)*size:], a.column[r*size:(r+1)*size])
		}
	}
	return nil
}

// swap turns big-endian values round.
func swap(b []byte, size int) {
	for ; len(b) > 0; b = b[size:] {
		slices.Reverse(b[:size])
	}
}
