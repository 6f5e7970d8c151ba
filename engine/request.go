package engine

import "fmt"

// MaxBatchSize is the largest Request.BatchSize.
const MaxBatchSize = 1 << 24

// Uneven says what happens when the ranks do not divide an epoch's batches.
type Uneven uint8

const (
	// Wrap starts again from batch 0, so that every rank has the same number
	// of batches, as torch's DistributedSampler does. The default.
	Wrap Uneven = iota
	// Drop leaves the rest out: every rank has the same number of batches,
	// none of them twice.
	Drop
	// Ragged gives ranks different numbers of batches, each batch once: for
	// evaluation.
	Ragged
)

var unevenNames = [...]string{"wrap", "drop", "ragged"}

// String gives "wrap", "drop" or "ragged".
func (u Uneven) String() string {
	if int(u) < len(unevenNames) {
		return unevenNames[u]
	}
	return fmt.Sprintf("Uneven(%d)", uint8(u))
}

// Request says which batches a caller wants. The generator, the graph's
// fingerprint, Seed, Epoch and the number of a batch fix every draw in it: the
// same request gives the same bytes whatever the options of the engine and the
// load on it.
//
// The slices belong to the caller, who must not change them while an iterator
// over the request's batches runs.
type Request struct {
	Nodes    []NodeID // the epoch's seeds, in order; nil: all nodes
	InputIDs []int64  // Batch.InputID of each of Nodes; nil: its position in Nodes, or the node's id when Nodes is nil

	Fanouts   []int // neighbours to draw at each hop; -1: all
	BatchSize int   // seeds in a batch, 1 … MaxBatchSize
	Replace   bool  // draw with replacement
	EdgeIDs   bool  // give Batch.EID, and read it

	Features bool     // give Batch.X where the graph has features
	Attrs    []string // give these node attributes (see Info.Attrs)

	OriginalIDs bool // give Batch.Original, and read it: an error where Info.Original is "none"

	Generator   string // that draws, as Info.Generator names it; "": the engine's own
	Seed, Epoch uint64
	Shuffle     bool // permute the epoch's seeds, by Seed and Epoch
	DropLast    bool // leave out a last batch of fewer than BatchSize seeds

	Rank, WorldSize int    // give batches Rank, Rank+WorldSize, …; a WorldSize of 0 counts as 1
	Uneven          Uneven // what happens when WorldSize does not divide the batches

	First, Count int64 // a range of this rank's batches, cut at their end; a Count of 0: up to the end
}

// RequestError says which field of a request cannot be served, and why. It
// wraps the kind, such as sampler.ErrUnknownNode, where there is one.
type RequestError struct {
	Field string // the field of Request
	Value any
	Why   string // what is wrong, and what would be right
	Err   error  // its kind, or nil
}

func (e *RequestError) Error() string {
	return fmt.Sprintf("engine: Request.%s is %v: %s", e.Field, e.Value, e.Why)
}

func (e *RequestError) Unwrap() error { return e.Err }

func bad(field string, value any, format string, args ...any) error {
	return &RequestError{Field: field, Value: value, Why: fmt.Sprintf(format, args...)}
}
