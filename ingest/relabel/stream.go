//go:build linux

package relabel

import (
	"errors"
	"io"
	"unsafe"

	"github.com/aether-ooc/aether-ooc/internal/offheap"
	"github.com/aether-ooc/aether-ooc/internal/spill"
)

// pieceBytes is how much is written and read at once.
const pieceBytes = 256 << 10

// stream is a run of bytes in the temporary file: full pieces, and a last one
// that may be shorter.
type stream struct {
	pieces []int64 // where each lies
	bytes  int64
}

// at is the length of the i-th piece.
func (s *stream) at(i int) int64 { return min(pieceBytes, s.bytes-int64(i)*pieceBytes) }

// free gives the room of the i-th piece back.
func (s *stream) free(f *spill.File, i int) error { return f.Free(s.pieces[i], pages(s.at(i))) }

func pages(n int64) int64 { return (n + spill.Page - 1) &^ (spill.Page - 1) }

// pool is a fixed number of buffers of a piece each.
type pool struct {
	free    chan []byte
	release func() error
}

func newPool(n int) (*pool, error) {
	mem, release, err := offheap.Reserve(int64(n) * pieceBytes)
	if err != nil {
		return nil, err
	}
	p := &pool{free: make(chan []byte, n), release: release}
	for i := range n {
		p.free <- mem[i*pieceBytes : (i+1)*pieceBytes : (i+1)*pieceBytes]
	}
	return p, nil
}

// writer makes a stream.
type writer struct {
	f    *spill.File
	pool *pool
	buf  []byte // nil: none taken
	n    int
	out  stream
}

// Write implements io.Writer.
func (w *writer) Write(p []byte) (int, error) {
	total := len(p)
	for len(p) > 0 {
		if w.buf == nil {
			w.buf, w.n = <-w.pool.free, 0
		}
		k := copy(w.buf[w.n:], p)
		w.n, p = w.n+k, p[k:]
		if w.n == pieceBytes {
			if err := w.send(); err != nil {
				return 0, err
			}
		}
	}
	return total, nil
}

func (w *writer) send() error {
	if w.buf == nil {
		return nil
	}
	buf := w.buf
	w.buf = nil
	clear(buf[w.n:])
	off, err := w.f.Append(buf[:pages(int64(w.n))], func() { w.pool.free <- buf })
	if err != nil {
		w.pool.free <- buf
		return err
	}
	w.out.pieces = append(w.out.pieces, off)
	w.out.bytes += int64(w.n)
	return nil
}

// finish gives the stream, all of it written.
func (w *writer) finish() (stream, error) {
	err := errors.Join(w.send(), w.f.Flush())
	out := w.out
	w.out = stream{}
	return out, err
}

// abandon gives the buffer back.
func (w *writer) abandon() {
	if w.buf != nil {
		w.pool.free <- w.buf
		w.buf = nil
	}
}

// reader reads a stream from its start. Its buffer is its own.
type reader struct {
	f    *spill.File
	s    stream
	next int // piece
	buf  []byte
	left []byte
	eat  bool // give the room back of what was read
}

// piece loads the next piece.
func (r *reader) piece() error {
	if r.next == len(r.s.pieces) {
		return io.EOF
	}
	n := r.s.at(r.next)
	if err := r.f.Read([]spill.Piece{{Off: r.s.pieces[r.next], P: r.buf[:pages(n)]}}); err != nil {
		return err
	}
	r.left = r.buf[:n]
	if r.eat {
		if err := r.s.free(r.f, r.next); err != nil {
			return err
		}
	}
	r.next++
	return nil
}

// Read implements io.Reader.
func (r *reader) Read(p []byte) (int, error) {
	if len(r.left) == 0 {
		if err := r.piece(); err != nil {
			return 0, err
		}
	}
	n := copy(p, r.left)
	r.left = r.left[n:]
	return n, nil
}

// offset is how far b's address is beyond a page's start.
func offset(b []byte) int {
	return int(uintptr(unsafe.Pointer(unsafe.SliceData(b))) % spill.Page)
}
