package sampler

import (
	"math"
	"math/bits"
	"unsafe"
)

// Bound is the most that one batch can take.
type Bound struct {
	Nodes, Edges int64 // in the Subgraph
	ResultBytes  int64 // of a Subgraph: one per batch in flight
	ScratchBytes int64 // of a Sampler for it
}

const (
	nodeBytes = 8  // NID
	edgeBytes = 16 // Row, Col
	eidBytes  = 8

	keyBytes      = 2*8 + 4 + 4 // key, spare, block, start
	runBytes      = uint64(unsafe.Sizeof(run{}))
	pieceBytes    = uint64(unsafe.Sizeof(piece{})) + keyBytes
	frontierBytes = runBytes + keyBytes
	copyBytes     = 2 * 4         // copies, times
	metBytes      = 4 * slotBytes // a table is at least a quarter full
	slackBytes    = 1 << 16       // size classes and first growth
	leastEntries  = 200           // of a full block: path graphs come lowest, with 18 bytes an entry
)

// hopBound is the most that one hop can take.
type hopBound struct{ frontier, picks, pieces uint64 }

// Bound computes the worst case for batches of so many seeds from a graph of so
// many nodes and edges; math.MaxInt64 stands for that and more. Without
// replacement no later hop takes an edge twice, so with All the graph itself is
// the bound. For the first hop that holds if the seeds differ: copies of a seed
// draw for themselves, and with All each copy of a hub brings the hub's whole
// list.
func (sp Spec) Bound(seeds int, nodes, edges uint64) Bound {
	met, first, later, most := uint64(seeds), uint64(0), uint64(0), hopBound{}
	frontier := met
	for hop, k := range sp.Fanouts {
		h := sp.hopBound(hop, k, frontier, edges)
		most = hopBound{max(most.frontier, h.frontier), max(most.picks, h.picks), max(most.pieces, h.pieces)}
		if hop == 0 {
			first = h.picks
		} else {
			later = sum(later, h.picks)
		}
		frontier = min(h.picks, nodes)
		met = sum(met, frontier)
	}
	if !sp.Replace {
		later = min(later, edges)
	}
	picked := sum(first, later)
	met = min(met, sum(uint64(seeds), nodes))
	result := sum(times(met, nodeBytes), times(picked, edgeBytes))
	scratch := sum(times(most.frontier, frontierBytes), times(most.pieces, pieceBytes))
	if sp.EdgeIDs {
		result = sum(result, times(picked, eidBytes))
		scratch = sum(scratch, times(most.picks, eidBytes), times(picked, keyBytes))
	}
	table := max(minSlots*slotBytes, times(sum(met, chunk), metBytes))
	return Bound{
		Nodes: clamp(met), Edges: clamp(picked), ResultBytes: clamp(grown(result)),
		ScratchBytes: clamp(sum(grown(scratch), times(uint64(seeds), copyBytes), table)),
	}
}

// hopBound bounds a hop with fanout k from so many nodes. A list is cut into
// pieces by block ends only, of which there are few; draws with replacement are
// in no order, so each may be a piece of its own.
func (sp Spec) hopBound(hop, k int, frontier, edges uint64) hopBound {
	h := hopBound{frontier: frontier, picks: edges}
	cuts := 2 * (edges/leastEntries + 1)
	if k != All {
		h.picks = times(frontier, uint64(k))
		if sp.Replace {
			cuts = times(cuts, uint64(k))
		} else if hop > 0 {
			h.picks = min(h.picks, edges)
		}
	}
	h.pieces = h.picks
	if hop > 0 || k == All {
		h.pieces = min(h.picks, cuts)
	}
	return h
}

// grown adds what growing by append may leave unused.
func grown(bytes uint64) uint64 { return sum(bytes, bytes/4, slackBytes) }

func sum(xs ...uint64) uint64 {
	total := uint64(0)
	for _, x := range xs {
		s, carry := bits.Add64(total, x, 0)
		if carry != 0 {
			return math.MaxUint64
		}
		total = s
	}
	return total
}

func times(a, b uint64) uint64 {
	hi, lo := bits.Mul64(a, b)
	if hi != 0 {
		return math.MaxUint64
	}
	return lo
}

func clamp(x uint64) int64 { return int64(min(x, math.MaxInt64)) }
