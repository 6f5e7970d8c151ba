//go:build linux

package ingest

import (
	"errors"
	"fmt"

	"github.com/aether-ooc/aether-ooc/ingest/source"
	"github.com/aether-ooc/aether-ooc/internal/report"
)

// The kinds of failure that a caller may want to tell apart; everything else
// is the operating system's.
var (
	ErrInput      = source.ErrInput                       // every *InputError matches it
	ErrOverBudget = errors.New("over the memory budget")  // every *BudgetError matches it
	ErrOption     = source.ErrOption                      // a Config that cannot be meant
	ErrSpace      = errors.New("not enough disk space")   // for the temporary file, by what the input says of its length
	ErrBusy       = errors.New("target is being written") // by another process, or another call
)

// InputError says where an input is wrong and what to do about it.
type InputError = source.InputError

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
