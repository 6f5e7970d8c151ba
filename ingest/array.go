//go:build linux

package ingest

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strconv"
	"sync/atomic"

	"github.com/aether-ooc/aether-ooc/internal/base"
	"github.com/aether-ooc/aether-ooc/internal/npy"
)

// arrayBatch is how many rows of an array are decoded at once.
const arrayBatch = 16 << 10

// arraySource reads edge_index from a .npy: two rows of E ids, or E rows of
// two, in either order in memory.
type arraySource struct {
	file    *os.File
	h       npy.Header
	edges   int64
	planar  bool // all sources, then all targets; else source and target by turns
	limit   base.NodeID
	workers int
	next    int64
	read    atomic.Int64
}

// arrayItem is a run of rows: its place, its bytes and what they mean.
type arrayItem struct {
	first, n int64
	raw      []byte
	mixed    []base.NodeID // source and target by turns
	batch
}

func newArraySource(f *os.File, st os.FileInfo, workers int, limit base.NodeID) (*arraySource, error) {
	s := &arraySource{file: f, workers: workers, limit: limit}
	if !st.Mode().IsRegular() {
		return nil, fault(f.Name(), "a .npy is read in two places at once, which a pipe cannot do; save it to a file first")
	}
	h, err := npy.ReadHeader(io.NewSectionReader(f, 0, st.Size()))
	if err == nil {
		err = h.CheckSize(st.Size())
	}
	if err != nil {
		return nil, arrayFault(f.Name(), err)
	}
	s.h = h
	return s, s.checkShape()
}

// arrayFault makes an InputError of what package npy says of a file.
func arrayFault(file string, err error) error {
	if errors.Is(err, npy.ErrFormat) {
		return fault(file, "%v", err)
	}
	return fmt.Errorf("%s: %w", file, err)
}

// checkShape finds E. An array of shape (2, 2) is taken as (2, E).
func (s *arraySource) checkShape() error {
	shape := s.h.Shape
	switch {
	case !s.h.HoldsIDs():
		return fault(s.file.Name(), "dtype %s cannot hold node ids (int32, uint32, int64, uint64 can); use .astype(numpy.int64)", s.h.DType)
	case len(shape) == 2 && shape[0] == 2:
		s.edges, s.planar = shape[1], !s.h.Fortran
	case len(shape) == 2 && shape[1] == 2:
		s.edges, s.planar = shape[0], s.h.Fortran
	default:
		return fault(s.file.Name(), "shape %s is no edge list; it must be (2, E) or (E, 2)", s.h.ShapeString())
	}
	return nil
}

func (s *arraySource) Close() error         { return s.file.Close() }
func (s *arraySource) position() int64      { return s.read.Load() }
func (s *arraySource) rows() (int64, error) { return s.edges, nil }

func (s *arraySource) each(ctx context.Context, fn func(*batch) error) error {
	return inOrder(ctx, s.workers, stages[arrayItem]{
		fill:  s.fill,
		work:  s.decode,
		drain: func(a *arrayItem) error { return fn(&a.batch) },
	})
}

func (s *arraySource) fill(a *arrayItem) error {
	if s.next == s.edges {
		return io.EOF
	}
	a.first, a.n = s.next, min(arrayBatch, s.edges-s.next)
	s.next += a.n
	return nil
}

func (s *arraySource) decode(a *arrayItem) error {
	a.reset()
	a.src, a.dst = sized(a.src, a.n), sized(a.dst, a.n)
	var err error
	if s.planar {
		err = s.decodePlanar(a)
	} else {
		err = s.decodeMixed(a)
	}
	if err != nil {
		return err
	}
	return s.measure(a)
}

func sized[E any](s []E, n int64) []E {
	if int64(cap(s)) < n {
		return make([]E, n)
	}
	return s[:n]
}

func (s *arraySource) decodePlanar(a *arrayItem) error {
	src, err := s.ids(a, a.src, a.first)
	if err != nil {
		return err
	}
	dst, err := s.ids(a, a.dst, a.first+s.edges)
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

func (s *arraySource) decodeMixed(a *arrayItem) error {
	a.mixed = sized(a.mixed, 2*a.n)
	bad, err := s.ids(a, a.mixed, 2*a.first)
	if err != nil {
		return err
	}
	if bad != nil {
		return s.noID(a.first+bad.At/2, 1+int(bad.At%2), bad.Text)
	}
	for i := range a.src {
		a.src[i], a.dst[i] = a.mixed[2*i], a.mixed[2*i+1]
	}
	return nil
}

// ids reads len(dst) values from the first-th on.
func (s *arraySource) ids(a *arrayItem, dst []base.NodeID, first int64) (*npy.BadID, error) {
	a.raw = sized(a.raw, int64(len(dst)*s.h.Size))
	if _, err := s.file.ReadAt(a.raw, s.h.DataOff+first*int64(s.h.Size)); err != nil {
		return nil, fmt.Errorf("%s: %w", s.file.Name(), err)
	}
	s.read.Add(int64(len(a.raw)))
	return s.h.DecodeIDs(dst, a.raw), nil
}

// measure finds the largest id and refuses the first beyond the limit.
func (s *arraySource) measure(a *arrayItem) error {
	for i := range a.src {
		a.max = max(a.max, a.src[i], a.dst[i])
	}
	if a.max <= s.limit {
		return nil
	}
	for i := range a.src {
		for column, id := range []base.NodeID{a.src[i], a.dst[i]} {
			if id > s.limit {
				text := strconv.FormatUint(uint64(id), 10)
				return s.badRow(a.first+int64(i), column+1, text, tooLarge(text, s.limit))
			}
		}
	}
	return nil
}

// noID complains of a value that cannot be an id in any graph.
func (s *arraySource) noID(row int64, column int, value string) error {
	return s.badRow(row, column, value, reason(value, maxNodeID))
}

func (s *arraySource) badRow(row int64, column int, value, reason string) error {
	return &InputError{File: s.file.Name(), Row: row, Column: column, Value: value, Reason: reason}
}
