//go:build linux

package ingest

import (
	"context"
	"encoding/binary"
	"io"
	"math"
	"slices"

	"github.com/aether-ooc/aether-ooc/internal/base"
	"github.com/aether-ooc/aether-ooc/internal/inorder"
	"github.com/aether-ooc/aether-ooc/internal/spill"
)

const (
	spoolPiece   = 1 << 20
	spoolBuffers = 3
)

// idSpool keeps the edge ids on disk while the lists are written, before which
// they cannot stand.
type idSpool struct {
	file    *spill.File
	mem     region
	bufs    *buffers
	open    []byte // what was not sent to disk yet; its capacity is a buffer's
	buffer  int    // whose memory that is
	width   int
	extents []spoolExtent
}

type spoolExtent struct {
	off int64
	n   int // ids
}

// newIDSpool begins a spool for the ids of so many rows.
func newIDSpool(file *spill.File, rows int64) (*idSpool, error) {
	mem, err := newRegion(spoolBuffers * spoolPiece)
	if err != nil {
		return nil, err
	}
	s := &idSpool{file: file, mem: mem, bufs: newBuffers(mem, spoolPiece), width: 4}
	if rows > math.MaxUint32 {
		s.width = 8
	}
	s.turn()
	return s, nil
}

// free gives the memory back, once nothing is written from it.
func (s *idSpool) free() {
	if s != nil {
		_ = s.file.Flush() // the error came, or comes, to whoever needs what was written
		s.mem.free()
		s.mem = nil
	}
}

// spool adds the rows of edges.
func spool[T word](s *idSpool, edges []edge[T]) error {
	for len(edges) > 0 {
		n := min(len(edges), (cap(s.open)-len(s.open))/s.width)
		for _, e := range edges[:n] {
			if s.width == 4 {
				s.open = binary.LittleEndian.AppendUint32(s.open, uint32(e.row))
			} else {
				s.open = binary.LittleEndian.AppendUint64(s.open, uint64(e.row))
			}
		}
		if edges = edges[n:]; len(edges) > 0 {
			if err := s.send(); err != nil {
				return err
			}
			s.turn()
		}
	}
	return nil
}

// turn goes on with another buffer.
func (s *idSpool) turn() {
	s.buffer = <-s.bufs.free
	s.open = s.bufs.bytes(s.buffer)[:0]
}

func (s *idSpool) send() error {
	buffer := s.buffer
	off, err := s.file.Append(s.open[:pages(int64(len(s.open)))], func() { s.bufs.free <- buffer })
	s.extents = append(s.extents, spoolExtent{off, len(s.open) / s.width})
	return err
}

// end brings all to disk.
func (s *idSpool) end() error {
	if len(s.open) > 0 {
		if err := s.send(); err != nil {
			return err
		}
	}
	return s.file.Flush()
}

// idItem is a run of ids on its way from the spool to the Writer.
type idItem struct {
	mem []byte
	n   int
	ids []base.EdgeID
}

// eachSpooled hands the ids to fn, and frees their places. A piece holds an even
// number of them, but for the last.
func eachSpooled(ctx context.Context, s *idSpool, fn func([]base.EdgeID) error) error {
	const workers = 1
	mem, err := newRegion(unitsOf[int64](workers) * spoolPiece)
	if err != nil {
		return err
	}
	defer mem.free()
	bufs, left := newBuffers(mem, spoolPiece), s.extents
	return inorder.Run(ctx, workers, inorder.Stages[idItem]{
		Fill: func(i *idItem) error {
			if len(left) == 0 {
				return io.EOF
			}
			if i.mem == nil {
				i.mem = bufs.bytes(<-bufs.free)
			}
			e := left[0]
			left, i.n = left[1:], e.n
			bytes := pages(int64(e.n * s.width))
			if err := s.file.Read([]spill.Piece{{Off: e.off, P: i.mem[:bytes]}}); err != nil {
				return err
			}
			return s.file.Free(e.off, bytes)
		},
		Work:  func(i *idItem) error { i.decode(s.width); return nil },
		Drain: func(i *idItem) error { return fn(i.ids) },
	})
}

func (i *idItem) decode(width int) {
	i.ids = slices.Grow(i.ids[:0], i.n)[:i.n]
	for k := range i.ids {
		if width == 4 {
			i.ids[k] = base.EdgeID(binary.LittleEndian.Uint32(i.mem[4*k:]))
		} else {
			i.ids[k] = base.EdgeID(binary.LittleEndian.Uint64(i.mem[8*k:]))
		}
	}
}
