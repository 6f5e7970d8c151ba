package layout

import (
	"encoding/binary"
	"fmt"
	"io"

	"github.com/aether-ooc/aether-ooc/internal/base"
	"github.com/aether-ooc/aether-ooc/internal/binfmt"
)

// streamBytes is the size of the pieces in which blocks are written and read.
const streamBytes = 1 << 20

// stream sends sealed blocks to w, ascending, in large pieces.
type stream struct {
	w    io.WriterAt
	buf  []byte // begun blocks, not yet written
	next uint64 // the number of the next block to begin
}

func newStream(w io.WriterAt, first base.BlockNo) *stream {
	return &stream{w: w, buf: make([]byte, 0, streamBytes), next: uint64(first)}
}

// begin gives a zeroed block to fill; it is the stream's until the next begin,
// which seals it.
func (s *stream) begin() ([]byte, error) {
	if s.next == base.MaxBlocks {
		return nil, fmt.Errorf("layout: the file would be larger than 16 TiB; build the graph in parts")
	}
	s.seal()
	if len(s.buf) == cap(s.buf) {
		if err := s.flush(); err != nil {
			return nil, err
		}
	}
	s.next++
	s.buf = s.buf[:len(s.buf)+base.BlockSize]
	b := s.buf[len(s.buf)-base.BlockSize:]
	clear(b)
	return b, nil
}

func (s *stream) seal() {
	if n := len(s.buf); n > 0 {
		binfmt.Seal(s.buf[n-base.BlockSize:], base.BlockNo(s.next-1))
	}
}

func (s *stream) flush() error {
	if len(s.buf) == 0 {
		return nil
	}
	s.seal()
	at := int64(s.next)*base.BlockSize - int64(len(s.buf))
	_, err := s.w.WriteAt(s.buf, at)
	s.buf = s.buf[:0]
	return err
}

// values writes a section of fixed-width values.
type values struct {
	s     *stream
	sec   Section
	block []byte
	at    int
}

func (s *stream) values(k Kind, column uint16, width int) *values {
	return &values{s: s, sec: Section{Kind: k, Column: column, Width: uint8(width), First: base.BlockNo(s.next)}, at: binfmt.PayloadSize}
}

func (v *values) put(x uint64) (err error) {
	w := int(v.sec.Width)
	if v.at+w > binfmt.PayloadSize {
		if v.block, err = v.s.begin(); err != nil {
			return err
		}
		v.sec.Blocks++
		v.at = 0
	}
	putValue(v.block[v.at:], w, x)
	v.at += w
	v.sec.Values++
	return nil
}

// putValues puts many values at once.
func putValues[W ~uint64](v *values, xs []W) error {
	for w := int(v.sec.Width); len(xs) > 0; {
		n := min(len(xs)-1, (binfmt.PayloadSize-v.at)/w)
		for i, x := range xs[:n] {
			if b := v.block[v.at+i*w:]; w == 4 {
				binary.LittleEndian.PutUint32(b, uint32(x))
			} else {
				putValue(b, w, uint64(x))
			}
		}
		v.at += n * w
		v.sec.Values += uint64(n)
		if err := v.put(uint64(xs[n])); err != nil { // begins a block if need be
			return err
		}
		xs = xs[n+1:]
	}
	return nil
}

func (v *values) putBytes(b []byte) error {
	for _, x := range b {
		if err := v.put(uint64(x)); err != nil {
			return err
		}
	}
	return nil
}

// wholeFile reads blocks of a file of ours, naming the file in every error.
type wholeFile struct {
	r    io.ReaderAt
	name string
	size int64
}

// blocks reads and checks a run of blocks in large pieces and calls fn for each.
func (f wholeFile) blocks(section string, first base.BlockNo, n uint64, fn func(b []byte) error) error {
	buf := make([]byte, min(n*base.BlockSize, streamBytes))
	for n > 0 {
		piece := buf[:min(uint64(len(buf)), n*base.BlockSize)]
		if err := f.read(section, piece, first.Off()); err != nil {
			return err
		}
		for ; len(piece) > 0; first, n, piece = first+1, n-1, piece[base.BlockSize:] {
			b := piece[:base.BlockSize]
			if e := checkSeal(f.name, section, first, b); e != nil {
				return e
			}
			if err := fn(b); err != nil {
				return err
			}
		}
	}
	return nil
}

func (f wholeFile) read(section string, p []byte, off base.ByteOff) error {
	n, err := f.r.ReadAt(p, int64(off))
	if n == len(p) {
		return nil
	}
	if err == nil || err == io.EOF || err == io.ErrUnexpectedEOF {
		return truncated(f.name, section, int64(off)+int64(len(p)), int64(off)+int64(n))
	}
	return fmt.Errorf("%s: %s at offset %d: %w", f.name, section, off, err)
}

// truncated is the error for a file that is shorter, or longer, than it says.
func truncated(file, section string, want, got int64) *CorruptError {
	detail := "the file is cut short"
	if got > want {
		detail = "the file is longer than it says"
	}
	at := min(want, got)
	return &CorruptError{File: file, Section: section, Block: base.BlockNo(at / base.BlockSize), Offset: base.ByteOff(at), Detail: detail,
		Want: fmt.Sprintf("%d bytes", want), Got: fmt.Sprintf("%d bytes", got)}
}

// values reads a section of fixed-width values.
func (f wholeFile) values(s Section, fn func(i uint64, x uint64) error) error {
	w, i := int(s.Width), uint64(0)
	return f.blocks(s.String(), s.First, s.Blocks, func(b []byte) error {
		for at := 0; at+w <= binfmt.PayloadSize && i < s.Values; at, i = at+w, i+1 {
			if err := fn(i, getValue(b[at:], w)); err != nil {
				return err
			}
		}
		return nil
	})
}

// sectionBytes reads a section of width 1 whole.
func (f wholeFile) sectionBytes(s Section) ([]byte, error) {
	out := make([]byte, 0, s.Values)
	err := f.blocks(s.String(), s.First, s.Blocks, func(b []byte) error {
		out = append(out, b[:min(binfmt.PayloadSize, s.Values-uint64(len(out)))]...)
		return nil
	})
	return out, err
}

// le64 is how numbers enter hashes.
func le64(b []byte, xs ...uint64) []byte {
	for _, x := range xs {
		b = binary.LittleEndian.AppendUint64(b, x)
	}
	return b
}
