//go:build linux

package source

import (
	"context"
	"errors"
	"io"
	"strconv"

	"github.com/aether-ooc/aether-ooc/internal/base"
	"github.com/aether-ooc/aether-ooc/internal/inorder"
	"github.com/aether-ooc/aether-ooc/internal/npy"
)

// arrayBatch is how many rows of an array are decoded at once.
const arrayBatch = 16 << 10

// array reads edge_index from a .npy: two rows of E ids, or E rows of two, in
// either order in memory. What is no regular file is read from the front, which
// only an array whose edges lie one after the other allows.
type array struct {
	*file
	ids
	h       npy.Header
	edges   int64
	planar  bool // all sources, then all targets; else source and target by turns
	workers int
	next    int64
}

// arrayItem is a run of rows: its place, its bytes and what they mean.
type arrayItem struct {
	first, n int64
	raw      []byte
	mixed    []base.NodeID // source and target by turns
	Batch
}

func openArray(c *Config, f *file) (decoder, error) {
	if c.Columns != nil {
		return nil, Fault(f.name, "an array has no columns to choose from; leave them out")
	}
	s := &array{file: f, ids: c.ids(), workers: c.Workers}
	r := io.Reader(f.r)
	if f.at != nil {
		r = io.NewSectionReader(f.at, 0, f.size)
	}
	var err error
	if s.h, err = npy.ReadHeader(r); err != nil {
		return nil, s.fault(err)
	}
	if err := s.measure(c.Layout); err != nil {
		return nil, err
	}
	return s, s.checkLength()
}

// fault makes an InputError of what package npy says of the file.
func (s *array) fault(err error) error {
	if errors.Is(err, npy.ErrFormat) {
		return Fault(s.name, "%v", err)
	}
	return s.readError(err)
}

// measure finds E.
func (s *array) measure(l Layout) error {
	shape := s.h.Shape
	columns, rows := len(shape) == 2 && shape[0] == 2, len(shape) == 2 && shape[1] == 2
	switch {
	case !s.h.HoldsIDs():
		return Fault(s.name, "dtype %s cannot hold node ids (int32, uint32, int64, uint64 can); use .astype(numpy.int64)", s.h.DType)
	case columns && (l == LayoutColumns || l == LayoutAuto):
		s.edges, s.planar = shape[1], !s.h.Fortran
	case rows && (l == LayoutRows || l == LayoutAuto):
		s.edges, s.planar = shape[0], s.h.Fortran
	case l == LayoutAuto:
		return Fault(s.name, "shape %s is no edge list; it must be (2, E) or (E, 2)", s.h.ShapeString())
	default:
		return Fault(s.name, "shape %s is not %s, as was asked for; leave the layout out, or use .T.copy()", s.h.ShapeString(), l)
	}
	return nil
}

// checkLength refuses a file that is not as long as its header says, and what
// would have to be read in two places at once.
func (s *array) checkLength() error {
	if s.at == nil {
		if s.planar && s.edges > 1 {
			return Fault(s.name, "all its sources come before its targets, which cannot be read from a pipe or a compressed file; save it with numpy.save to a file, or save numpy.ascontiguousarray(edge_index.T)")
		}
		return nil
	}
	if err := s.h.CheckSize(s.size); err != nil {
		return s.fault(err)
	}
	return s.checkRest(s.size - s.h.DataOff - s.h.Bytes())
}

func (s *array) checkRest(bytes int64) error {
	if bytes > 0 {
		return Fault(s.name, "something follows the array of %s %s; save it alone with numpy.save", s.h.ShapeString(), s.h.DType)
	}
	return nil
}

func (s *array) close() error   { return nil }
func (s *array) extent() extent { return extent{rows: s.edges, most: s.edges} }

func (s *array) each(ctx context.Context, fn func(*Batch) error) error {
	return inorder.Run(ctx, s.workers, inorder.Stages[arrayItem]{
		Fill:  s.fill,
		Work:  s.decode,
		Drain: func(a *arrayItem) error { return fn(&a.Batch) },
	})
}

func (s *array) fill(a *arrayItem) error {
	if s.next == s.edges {
		return s.end()
	}
	a.first, a.n = s.next, min(arrayBatch, s.edges-s.next)
	s.next += a.n
	if s.at != nil {
		return nil
	}
	a.raw = sized(a.raw, 2*int(a.n)*s.h.Size)
	_, err := io.ReadFull(s.r, a.raw)
	if err == io.EOF || (err == io.ErrUnexpectedEOF && s.codec == nil) {
		return Fault(s.name, "it is cut short: rows %d and on of %d are missing; write it again", a.first, s.edges)
	}
	return s.readError(err)
}

// end looks for what is too much in a stream.
func (s *array) end() error {
	if s.at != nil {
		return io.EOF
	}
	_, err := s.r.Peek(1)
	if err == nil {
		err = s.checkRest(1)
	}
	return s.readError(err)
}

func (s *array) decode(a *arrayItem) error {
	a.reset()
	a.Src, a.Dst = sized(a.Src, int(a.n)), sized(a.Dst, int(a.n))
	var err error
	if s.planar && s.at != nil {
		err = s.decodePlanar(a)
	} else {
		err = s.decodeMixed(a)
	}
	if err != nil {
		return err
	}
	return s.number(a)
}

func (s *array) decodePlanar(a *arrayItem) error {
	src, err := s.values(a, a.Src, a.first)
	if err != nil {
		return err
	}
	dst, err := s.values(a, a.Dst, a.first+s.edges)
	switch {
	case err != nil:
		return err
	case src != nil && (dst == nil || src.At <= dst.At):
		return s.noID(a.first+src.At, 1, src.Text)
	case dst != nil:
		return s.noID(a.first+dst.At, 2, dst.Text)
	}
	return nil
}

func (s *array) decodeMixed(a *arrayItem) error {
	a.mixed = sized(a.mixed, 2*int(a.n))
	bad, err := s.values(a, a.mixed, 2*a.first)
	if err != nil {
		return err
	}
	if bad != nil {
		return s.noID(a.first+bad.At/2, 1+int(bad.At%2), bad.Text)
	}
	for i := range a.Src {
		a.Src[i], a.Dst[i] = a.mixed[2*i], a.mixed[2*i+1]
	}
	return nil
}

// values decodes len(dst) values from the first-th on; those of a stream are in
// a.raw.
func (s *array) values(a *arrayItem, dst []base.NodeID, first int64) (*npy.BadID, error) {
	if s.at != nil {
		a.raw = sized(a.raw, len(dst)*s.h.Size)
		if n, err := s.at.ReadAt(a.raw, s.h.DataOff+first*int64(s.h.Size)); n < len(a.raw) {
			if err == io.EOF {
				return nil, Fault(s.name, "it became shorter while it was read; leave it alone meanwhile")
			}
			return nil, s.readError(err)
		}
		s.read.Add(int64(len(a.raw)))
	}
	return s.h.DecodeIDs(dst, a.raw), nil
}

// number turns ids into nodes, finds the largest, and refuses the first row with
// an id that is none.
func (s *array) number(a *arrayItem) error {
	for i := range a.Src {
		src, ok := s.node(a.Src[i])
		dst, fine := s.node(a.Dst[i])
		if !ok {
			return s.badRow(a.first+int64(i), 1, a.Src[i])
		}
		if !fine {
			return s.badRow(a.first+int64(i), 2, a.Dst[i])
		}
		a.Src[i], a.Dst[i] = src, dst
		a.Max = max(a.Max, src, dst)
	}
	return nil
}

func (s *array) badRow(row int64, column int, id base.NodeID) error {
	text := strconv.FormatUint(uint64(id), 10)
	return s.bad(row, column, text, s.reason(text))
}

// noID complains of a value that cannot be an id in any graph.
func (s *array) noID(row int64, column int, value string) error {
	return s.bad(row, column, value, anyID.reason(value))
}

func (s *array) bad(row int64, column int, value, reason string) error {
	return &InputError{File: s.name, Row: row, Column: column, Value: value, Reason: reason}
}
