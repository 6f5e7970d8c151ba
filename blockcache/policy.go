package blockcache

import (
	"maps"
	"slices"

	"github.com/aether-ooc/aether-ooc/internal/base"
)

// Names of the policies.
const (
	PolicyRistretto = "ristretto"
	PolicyClock     = "clock"
	PolicyLFU       = "lfu"
	DefaultPolicy   = PolicyLFU
)

// policy advises which blocks to keep. It owns nothing: which block lies in
// which slot is the cache's business, and advice that comes late or is wrong
// costs hits, never correctness. All calls but close may come from any lane at
// any time, with no lock of the cache held; none may wait for a lane.
type policy interface {
	// asked: a visit is about to ask for these blocks of f, all of which lie in it.
	asked(f FileID, blocks []base.BlockNo)
	// insert: block k has been read into slot s, is pinned there, and no guest.
	insert(k key, s slotNo)
	// victim names a slot whose block may go for block k, or none for want of
	// advice; and guest, where it had better stay and k not be kept, else missing.
	victim(k key) (slotNo, outcome)
	// forget: the block that was in slot s has left it, inserted or not.
	forget(s slotNo)
	close()
}

// toucher is a policy that wants to hear of each hit.
type toucher interface {
	// touch: block k, which slot s holds, is looked at again.
	touch(k key, s slotNo)
}

// policyKind is how to make a policy and what it holds.
type policyKind struct {
	open   func(c *Cache, m *memory) (policy, error) // c has its slots; m to carve tables from
	tables func(slots int64) int64                   // bytes off the heap
	heap   func(slots int64) int64                   // bytes on the Go heap, at most
	counts bool                                      // it counts in file.heat
	final  bool                                      // it has forgotten the victims that it names: they leave with their last pin, if not now
}

var policies map[string]policyKind

func init() { // the policies' own files refer to it
	policies = map[string]policyKind{
		PolicyRistretto: {open: openRistretto, tables: ristrettoTables, heap: ristrettoHeap, final: true},
		PolicyClock:     {open: openClock, tables: clockTables, heap: nothing},
		PolicyLFU:       {open: openLFU, tables: nothing, heap: nothing, counts: true},
	}
}

func nothing(int64) int64 { return 0 }

// Policies lists the names that Config.Policy may have.
func Policies() []string { return slices.Sorted(maps.Keys(policies)) }
