//go:build linux

package ingest

import (
	"bufio"
	"bytes"
	"compress/flate"
	"compress/gzip"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"sync/atomic"

	"github.com/aether-ooc/aether-ooc/internal/base"
)

const (
	textBlock = 64 << 10 // bytes of text in a batch
	maxLine   = 16 << 20 // a longer line means that this is no text
)

// textSource reads lines: one goroutine cuts the (decompressed) stream into
// blocks of whole lines, workers parse them.
type textSource struct {
	file    *os.File
	name    string
	bytes   int64 // of the file; 0: not known
	plain   bool  // not compressed, and a regular file
	limit   base.NodeID
	workers int
	block   int // bytes of text in a batch

	r     io.Reader
	carry []byte // the start of a line whose end was not read yet
	ended bool
	read  atomic.Int64 // bytes taken from the file
}

// textItem is a block of whole lines and what was parsed from it.
type textItem struct {
	text []byte
	batch
}

func newTextSource(f *os.File, r *bufio.Reader, size int64, workers int, limit base.NodeID) (*textSource, error) {
	s := &textSource{file: f, name: f.Name(), bytes: size, limit: limit, workers: workers, block: textBlock}
	if head, _ := r.Peek(2); !isGzip(head) {
		skipBOM(r)
		s.plain, s.r = size > 0, &countingReader{r: r, n: &s.read}
		return s, nil
	}
	z, err := gzip.NewReader(&countingReader{r: r, n: &s.read})
	if err != nil {
		return nil, s.badStream(err)
	}
	inner := bufio.NewReaderSize(z, sniffBytes)
	head, _ := inner.Peek(sniffBytes) // an error comes again when it is read
	if isArray(head) {
		return nil, fault(s.name, "this is a gzipped .npy; decompress it first with gunzip")
	}
	skipBOM(inner)
	s.r = inner
	return s, refuseForeign(s.name, head)
}

func skipBOM(r *bufio.Reader) {
	if head, _ := r.Peek(len(bom)); string(head) == bom {
		_, _ = r.Discard(len(bom))
	}
}

type countingReader struct {
	r io.Reader
	n *atomic.Int64
}

func (c *countingReader) Read(p []byte) (int, error) {
	n, err := c.r.Read(p)
	c.n.Add(int64(n))
	return n, err
}

func (s *textSource) Close() error    { return s.file.Close() }
func (s *textSource) position() int64 { return s.read.Load() }

// rows counts the line ends of a plain file, which is many times faster than
// parsing it. Comments and blank lines count too: it is an upper bound.
func (s *textSource) rows() (int64, error) {
	if !s.plain {
		return -1, nil
	}
	r := io.NewSectionReader(s.file, 0, s.bytes)
	buf := make([]byte, 1<<20)
	lf, cr := int64(0), int64(0)
	for {
		n, err := r.Read(buf)
		lf += int64(bytes.Count(buf[:n], []byte{'\n'}))
		cr += int64(bytes.Count(buf[:n], []byte{'\r'}))
		if err == io.EOF {
			return max(lf, cr) + 1, nil
		}
		if err != nil {
			return 0, err
		}
	}
}

func (s *textSource) each(ctx context.Context, fn func(*batch) error) error {
	line := int64(0)
	err := inOrder(ctx, s.workers, stages[textItem]{
		fill: s.fill,
		work: s.parse,
		drain: func(t *textItem) error {
			line += t.lines
			return fn(&t.batch)
		},
	})
	var bad *InputError
	if errors.As(err, &bad) && bad.Line > 0 { // counted in its block so far
		bad.Line += line
	}
	return err
}

func (s *textSource) parse(t *textItem) error {
	t.reset()
	if bad := parseLines(t.text, &t.batch, s.limit); bad != nil {
		bad.File = s.name
		return bad
	}
	return nil
}

// fill puts the next whole lines into t.
func (s *textSource) fill(t *textItem) error {
	t.text = append(t.text[:0], s.carry...)
	s.carry = s.carry[:0]
	for {
		from := max(0, len(t.text)-1) // what was read before has no line end, but for a last \r
		if err := s.more(t); err != nil {
			return err
		}
		cut := len(t.text)
		if !s.ended {
			cut = lastLineEnd(t.text, from)
		}
		if cut > 0 {
			s.carry = append(s.carry, t.text[cut:]...)
			t.text = t.text[:cut]
			return nil
		}
		if s.ended {
			return io.EOF
		}
		if len(t.text) > maxLine {
			return &InputError{File: s.name, Line: 1, Row: -1, Reason: fmt.Sprintf("the line is longer than %d MiB; is this a text file?", maxLine>>20)}
		}
	}
}

// more reads up to a block into t.
func (s *textSource) more(t *textItem) error {
	at := len(t.text)
	t.text = append(t.text, make([]byte, s.block)...)
	n, err := readFull(s.r, t.text[at:])
	t.text = t.text[:at+n]
	if err == io.EOF {
		s.ended = true
		return nil
	}
	return s.badStream(err)
}

// readFull is io.ReadFull but for a short end, which stays io.EOF: a gzip
// stream that was cut short says io.ErrUnexpectedEOF.
func readFull(r io.Reader, p []byte) (n int, err error) {
	for n < len(p) && err == nil {
		var k int
		k, err = r.Read(p[n:])
		n += k
	}
	return n, err
}

// badStream explains an error of reading or decompressing.
func (s *textSource) badStream(err error) error {
	switch {
	case err == nil:
		return nil
	case errors.Is(err, io.ErrUnexpectedEOF), errors.Is(err, io.EOF):
		return fault(s.name, "the gzip stream is cut short; copy the file again")
	case errors.Is(err, gzip.ErrHeader), errors.Is(err, gzip.ErrChecksum), isCorruptFlate(err):
		return fault(s.name, "the gzip stream is damaged (%v); copy the file again", err)
	}
	return fmt.Errorf("%s: %w", s.name, err)
}

func isCorruptFlate(err error) bool {
	var corrupt flate.CorruptInputError
	return errors.As(err, &corrupt)
}

// lastLineEnd is where the last line of text that ends after from ends; 0:
// there is none. A \r at the very end may be half of a line end.
func lastLineEnd(text []byte, from int) int {
	if i := bytes.LastIndexByte(text[from:], '\n'); i >= 0 {
		return from + i + 1
	}
	if i := bytes.LastIndexByte(text[from:max(from, len(text)-1)], '\r'); i >= 0 {
		return from + i + 1
	}
	return 0
}
