//go:build linux

package source

import (
	"errors"
	"fmt"
	"strings"
)

// The kinds of failure; everything else is the operating system's.
var (
	ErrInput  = errors.New("bad input")  // every *InputError matches it
	ErrOption = errors.New("bad option") // a Config that cannot be meant
)

// InputError says where an input is wrong and what to do about it.
type InputError struct {
	File   string
	Line   int64  // of a text, from 1; 0: not about a line
	Row    int64  // of an array or a table, from 0; -1: not about a row
	Column int    // of a text or a table, from 1; 0: not about one value
	Value  string // as it stands in the input, shortened
	Reason string
}

func (e *InputError) Error() string {
	var b strings.Builder
	b.WriteString(e.File)
	if e.Line > 0 {
		fmt.Fprintf(&b, ", line %d", e.Line)
	}
	if e.Row >= 0 {
		fmt.Fprintf(&b, ", row %d", e.Row)
	}
	if e.Column > 0 {
		fmt.Fprintf(&b, ", column %d", e.Column)
	}
	if e.Value != "" {
		fmt.Fprintf(&b, ": %q", e.Value)
	}
	return b.String() + ": " + e.Reason
}

func (e *InputError) Unwrap() error { return ErrInput }

// Fault is an InputError about a whole file.
func Fault(file, format string, args ...any) error {
	return &InputError{File: file, Row: -1, Reason: fmt.Sprintf(format, args...)}
}

func option(format string, args ...any) error {
	return fmt.Errorf("%w: %s", ErrOption, fmt.Sprintf(format, args...))
}
