//go:build linux

package source

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"

	"github.com/aether-ooc/aether-ooc/internal/inorder"
)

const (
	textBlock = 64 << 10 // bytes of text in a batch
	maxLine   = 16 << 20 // a longer line means that this is no text
)

// lines reads a text: one goroutine cuts the stream into blocks of whole lines,
// workers parse them. It is the part that all formats of text share.
type lines struct {
	*file
	workers int
	block   int // bytes of text in a batch
	longest int // bytes of a line

	// parse appends the edges of whole lines; an error's Line counts from 1 in
	// the block.
	parse func(text []byte, b *Batch) *InputError
	// took sees each batch before it is handed on, in order; finish what is
	// missing in the end. Either may be nil.
	took   func(b *Batch) error
	finish func() error

	seen  int64  // lines before the first block: comments, headers
	carry []byte // what was read of the next block: whole lines, or the start of one
	ended bool
}

// textItem is a block of whole lines and what was parsed from it.
type textItem struct {
	text []byte
	Batch
}

func newLines(c *Config, f *file) *lines {
	if head, _ := f.r.Peek(len(bom)); string(head) == bom {
		_, _ = f.r.Discard(len(bom))
	}
	return &lines{file: f, workers: c.Workers, block: textBlock, longest: maxLine}
}

func (s *lines) close() error { return nil }

// extent: the shortest edge takes four bytes, "0 1\n".
func (s *lines) extent() extent {
	x := extent{rows: -1, most: -1}
	if s.at != nil {
		x.most = s.size/4 + 1
	}
	return x
}

func (s *lines) each(ctx context.Context, fn func(*Batch) error) error {
	line := s.seen
	if s.seen > 0 {
		if err := fn(&Batch{Lines: s.seen, Skipped: s.seen}); err != nil {
			return err
		}
	}
	err := inorder.Run(ctx, s.workers, inorder.Stages[textItem]{
		Fill: s.fill,
		Work: func(t *textItem) error {
			t.reset()
			if bad := s.parse(t.text, &t.Batch); bad != nil {
				bad.File = s.name
				return &placed{bad}
			}
			return nil
		},
		Drain: func(t *textItem) error {
			if s.took != nil {
				if err := s.took(&t.Batch); err != nil {
					return err
				}
			}
			line += t.Lines
			return fn(&t.Batch)
		},
	})
	var bad *placed
	if errors.As(err, &bad) {
		bad.Line += line
		return bad.InputError
	}
	if err == nil && s.finish != nil {
		err = s.finish()
	}
	return err
}

// placed is an error whose Line counts from the start of its block.
type placed struct{ *InputError }

// fill puts the next whole lines into t.
func (s *lines) fill(t *textItem) error {
	t.text = append(t.text[:0], s.carry...)
	s.carry = s.carry[:0]
	for {
		from := max(0, len(t.text)-1) // what was read before ends with its only line end, or with half of one, or has none
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
		if len(t.text) > s.longest {
			return s.endless()
		}
	}
}

// endless refuses a line, counted from 1 in the block that comes next.
func (s *lines) endless() error {
	return &placed{s.bad(1, "the line is longer than %d MiB; is this a text file?", s.longest>>20)}
}

func (s *lines) bad(line int64, format string, args ...any) *InputError {
	return &InputError{File: s.name, Line: line, Row: -1, Reason: fmt.Sprintf(format, args...)}
}

// more reads up to a block into t.
func (s *lines) more(t *textItem) error {
	at := len(t.text)
	t.text = append(t.text, make([]byte, s.block)...)
	n, err := readFull(s.r, t.text[at:])
	t.text = t.text[:at+n]
	if err == io.EOF {
		s.ended = true
		return nil
	}
	return s.readError(err)
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

// first reads up to the first line that is neither blank nor a comment. It comes
// without its end, and stays the first to be parsed until takeOut; nil: there is
// none.
func (s *lines) first() ([]byte, error) {
	for {
		line, ended, err := s.line()
		if err != nil {
			return nil, err
		}
		if text := trimEnd(line); !isIdle(text) {
			s.carry = line
			return text, nil
		}
		if len(line) > 0 {
			s.seen++
		}
		if ended {
			return nil, nil
		}
	}
}

// takeOut makes the line that first gave one of those before the first block.
func (s *lines) takeOut() {
	s.carry = nil
	s.seen++
}

// line reads one line with its end; ended: there is no other.
func (s *lines) line() (line []byte, ended bool, err error) {
	for {
		c, err := s.r.ReadByte()
		if err == io.EOF {
			return line, true, nil
		}
		if err != nil {
			return nil, false, s.readError(err)
		}
		line = append(line, c)
		if c == '\n' {
			return line, false, nil
		}
		if c == '\r' {
			if next, _ := s.r.Peek(1); string(next) != "\n" {
				return line, false, nil
			}
		}
		if len(line) > s.longest {
			return nil, false, s.bad(s.seen+1, "the line is longer than %d MiB; is this a text file?", s.longest>>20)
		}
	}
}

func trimEnd(line []byte) []byte { return bytes.TrimRight(line, "\r\n") }

// isIdle tells a line, without its end, that is blank or a comment.
func isIdle(line []byte) bool {
	for len(line) > 0 && (line[0] == ' ' || line[0] == '\t') {
		line = line[1:]
	}
	return len(line) == 0 || isComment(line[0])
}

func isComment(c byte) bool { return c == '#' || c == '%' }
