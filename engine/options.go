package engine

import (
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strings"

	"github.com/aether-ooc/aether-ooc/blockcache"
	"github.com/aether-ooc/aether-ooc/internal/host"
	"github.com/aether-ooc/aether-ooc/internal/report"
	"github.com/aether-ooc/aether-ooc/uring"
)

// ErrClosed is what the calls of a closed engine return, and what ends the
// iterators that run when it closes.
var ErrClosed = errors.New("engine: closed")

// ErrOption marks Options that cannot be meant.
var ErrOption = errors.New("bad option")

// ErrOverBudget marks a memory budget that is too small for the graph or for a
// request. Errors that wrap it say what the least is. It is blockcache's.
var ErrOverBudget = blockcache.ErrOverBudget

// BudgetError is an ErrOverBudget with its figures.
type BudgetError struct {
	What          string // what needs more
	Memory, Least int64  // the budget, and the smallest that would do
	Lanes         int    // with so many
}

func (e *BudgetError) Error() string {
	return fmt.Sprintf("engine: %s needs a memory budget of at least %d bytes (%s) with %d lanes, and has %d (%s); raise the budget (--memory, Options.Memory)",
		e.What, e.Least, report.Bytes(e.Least), e.Lanes, e.Memory, report.Bytes(e.Memory))
}

// Unwrap makes errors.Is(err, ErrOverBudget) true.
func (e *BudgetError) Unwrap() error { return ErrOverBudget }

// Options say how an engine works; what it answers does not depend on them. The
// zero value is a good one.
type Options struct {
	// Memory is the budget in bytes; 0: a quarter of what the machine and the
	// control group allow. See the package comment for what it bounds.
	Memory int64

	// Lanes is how many batches are made at once; 0: as many as GOMAXPROCS,
	// or fewer where the budget is too small for them.
	Lanes int

	// Depth is how many reads a lane keeps in flight at most; 0: the
	// default of the ring.
	Depth int

	// Lockstep is how many batches of a request a lane makes together at most,
	// so that a block which several need is read once; 1: each by itself; 0:
	// as many as is good, 32 now. There are fewer where the budget has no room
	// for them, and while the request is young.
	Lockstep int

	// Merge is the most blocks of one read, which may bring blocks between
	// missing ones too; 1: every block is a read of its own; 0: as many as pays
	// on the device.
	Merge int

	Backend string // "auto" (default), "uring" or "pread"; see uring.Config
	Policy  string // what the cache keeps: "lfu" (default), "ristretto", "clock"; see blockcache.Config

	// Resident says whether the whole adjacency may be decoded into memory
	// when the budget has room for it: ResidentAuto (default), ResidentOff.
	Resident string

	// Buffered reads through the page cache, which is then memory beyond the
	// budget. By default files are opened with O_DIRECT, where possible.
	Buffered bool

	// Features is the path of a .npy with a row for each node, in place of
	// the features that build left beside the graph.
	Features string

	// FeaturesDType is features.BFloat16 where the 16-bit words of Features are
	// that, which .npy has no name for; else leave it empty.
	FeaturesDType string

	// OnVisit records what is asked of the cache, for this module's own
	// benchmarks; see blockcache.Config.
	OnVisit func(f blockcache.FileID, blocks []BlockNo)

	Log *slog.Logger // warnings; nil: slog.Default
}

// complete fills in the defaults, except that of Lanes, which needs the graph.
func (o Options) complete() (Options, error) {
	if o.Log == nil {
		o.Log = slog.Default()
	}
	for _, f := range []struct {
		name  string
		value int64
	}{{"Memory", o.Memory}, {"Lanes", int64(o.Lanes)}, {"Depth", int64(o.Depth)}, {"Lockstep", int64(o.Lockstep)}, {"Merge", int64(o.Merge)}} {
		if f.value < 0 {
			return o, fmt.Errorf("engine: %w: %s is %d: give 0 for the default, or more", ErrOption, f.name, f.value)
		}
	}
	if err := o.checkNames(); err != nil {
		return o, err
	}
	if o.Memory == 0 {
		limit, err := host.MemoryLimit()
		if err != nil {
			return o, fmt.Errorf("engine: Options.Memory is 0 and the machine's memory is not known; give a budget: %w", err)
		}
		o.Memory = limit / 4
	}
	return o, nil
}

// checkNames checks what is chosen by name.
func (o Options) checkNames() error {
	for _, f := range []struct {
		field, value string
		known        []string
	}{
		{"Backend", o.Backend, append([]string{"auto"}, uring.Backends()...)},
		{"Policy", o.Policy, blockcache.Policies()},
		{"Resident", o.Resident, []string{ResidentAuto, ResidentOff}},
	} {
		if f.value != "" && !slices.Contains(f.known, f.value) {
			return fmt.Errorf("engine: %w: %s %q is not known; choose one of %s", ErrOption, f.field, f.value, strings.Join(f.known, ", "))
		}
	}
	return nil
}

// defaultLockstep: what more brings, see docs/DECISIONS.md.
const defaultLockstep = 32

func (o Options) lockstep() int {
	if o.Lockstep == 0 {
		return defaultLockstep
	}
	return o.Lockstep
}

// Values of Options.Resident.
const (
	ResidentAuto = "auto"
	ResidentOff  = "off" // blocks and their cache, whatever the budget: to compare, and to test
)

func (o Options) mode() uring.Mode {
	if o.Buffered {
		return uring.Buffered
	}
	return uring.Direct
}
