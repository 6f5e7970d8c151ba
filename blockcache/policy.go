package blockcache

import (
	"maps"
	"slices"
)

// Names of the policies.
const (
	PolicyRistretto = "ristretto"
	PolicyClock     = "clock"
)

// policy advises which blocks to keep. It owns nothing: which block lies in
// which slot is the cache's business, and advice that comes late or is wrong
// costs hits, never correctness. All calls but close may come from any lane at
// any time, with no lock of the cache held; none may wait for a lane.
type policy interface {
	// touch: block k was asked for. s is the slot that holds it, or none.
	touch(k key, s slotNo)
	// insert: block k has been read into slot s and is pinned there.
	insert(k key, s slotNo)
	// victim names a slot whose block may go, or none for want of advice. The
	// cache takes it at its word: an advised block leaves now, or with its last
	// pin.
	victim() slotNo
	// forget: the block that was inserted into slot s has left it.
	forget(s slotNo)
	close()
}

// policyKind is how to make a policy and what it holds.
type policyKind struct {
	open   func(env policyEnv) (policy, error)
	tables func(slots int64) int64 // bytes off the heap
	heap   func(slots int64) int64 // bytes on the Go heap, at most
}

// policyEnv is what a policy is made from.
type policyEnv struct {
	slots    int
	slack    int         // slots that are being read, at most, and so hold nothing to keep
	memory   *memory     // to carve its tables from
	rejected func(k key) // to be told of each block it declines to keep
}

var policies = map[string]policyKind{
	PolicyRistretto: {openRistretto, ristrettoTables, ristrettoHeap},
	PolicyClock:     {openClock, clockTables, func(int64) int64 { return 0 }},
}

// Policies lists the names that Config.Policy may have.
func Policies() []string { return slices.Sorted(maps.Keys(policies)) }
