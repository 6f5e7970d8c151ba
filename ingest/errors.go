//go:build linux

package ingest

import (
	"errors"
	"fmt"
	"strings"

	"github.com/aether-ooc/aether-ooc/internal/report"
)

// The kinds of failure that a caller may want to tell apart; everything else
// is the operating system's.
var (
	ErrInput      = errors.New("bad input")               // every *InputError matches it
	ErrOverBudget = errors.New("over the memory budget")  // every *BudgetError matches it
	ErrOption     = errors.New("bad option")              // a Config that cannot be meant
	ErrSpace      = errors.New("not enough disk space")   // for the temporary file, by what the input says of its length
	ErrBusy       = errors.New("target is being written") // by another process, or another call
)

// InputError says where an input is wrong and what to do about it.
type InputError struct {
	File   string
	Line   int64  // of a text, from 1; 0: not about a line
	Row    int64  // of an array, from 0; -1: not about a row
	Column int    // 1: source, 2: target; 0: not about one value
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

// fault is an InputError about a whole file.
func fault(file, format string, args ...any) error {
	return &InputError{File: file, Row: -1, Reason: fmt.Sprintf(format, args...)}
}

// BudgetError says how much memory would do.
type BudgetError struct{ NeedBytes, HaveBytes int64 }

func (e *BudgetError) Error() string {
	return fmt.Sprintf("building takes at least %s of memory, %s are allowed; give --memory %dMiB or more",
		report.Bytes(e.NeedBytes), report.Bytes(e.HaveBytes), (e.NeedBytes+1<<20-1)>>20)
}

func (e *BudgetError) Unwrap() error { return ErrOverBudget }

func option(format string, args ...any) error {
	return fmt.Errorf("%w: %s", ErrOption, fmt.Sprintf(format, args...))
}
