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
// workers parse them.
type lines struct {
	*file
	workers int
	block   int                                     // bytes of text in a batch
	parse   func(text []byte, b *Batch) *InputError // appends the edges of whole lines
	seen    int64                                   // lines before the first block

	carry []byte // the start of a line whose end was not read yet
	ended bool
}

// textItem is a block of whole lines and what was parsed from it.
type textItem struct {
	text []byte
	Batch
}

func openText(c *Config, f *file) (decoder, error) {
	skipBOM(f)
	r := c.ids()
	return newLines(c, f, func(text []byte, b *Batch) *InputError { return parseLines(text, b, r) }), nil
}

func newLines(c *Config, f *file, parse func([]byte, *Batch) *InputError) *lines {
	return &lines{file: f, workers: c.Workers, block: textBlock, parse: parse}
}

func skipBOM(f *file) {
	if head, _ := f.r.Peek(len(bom)); string(head) == bom {
		_, _ = f.r.Discard(len(bom))
	}
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
	err := inorder.Run(ctx, s.workers, inorder.Stages[textItem]{
		Fill: s.fill,
		Work: func(t *textItem) error {
			t.reset()
			if bad := s.parse(t.text, &t.Batch); bad != nil {
				bad.File = s.name
				return bad
			}
			return nil
		},
		Drain: func(t *textItem) error {
			line += t.Lines
			return fn(&t.Batch)
		},
	})
	var bad *InputError
	if errors.As(err, &bad) && bad.Line > 0 { // counted in its block so far
		bad.Line += line
	}
	return err
}

// fill puts the next whole lines into t.
func (s *lines) fill(t *textItem) error {
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
