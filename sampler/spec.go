package sampler

import (
	"errors"
	"fmt"
)

// ErrUnknownNode marks a seed that is no node of the graph.
var ErrUnknownNode = errors.New("unknown node")

// ErrTooLarge marks a batch that has more edges than Spec.MaxEdges allows, or with
// more nodes, or more picks in one hop, than 32 bits can number.
var ErrTooLarge = errors.New("mini-batch too large")

// All, as a fanout, takes every entry of a list.
const All = -1

// MaxHops is how many fanouts a Spec may have.
const MaxHops = 255

// Spec is one request's choice.
type Spec struct {
	Fanouts []int // neighbours to draw per node, hop by hop; All; 0 ends the walk. None: the seeds alone
	Replace bool  // draw with replacement (All takes each entry once all the same)
	EdgeIDs bool  // fill Subgraph.EID

	MaxEdges int64 // a group that would have more is refused while it is sampled; 0: no bound
}

// EdgeBytes is about what each sampled edge takes in a batch and in the scratch
// behind it, with the node that it may bring.
func (sp Spec) EdgeBytes() int64 {
	bytes := uint64(edgeBytes + nodeBytes + metBytes/2)
	if sp.EdgeIDs {
		bytes += 2*eidBytes + keyBytes
	}
	return int64(bytes)
}

// Validate says what is wrong with the choice, if anything.
func (sp Spec) Validate() error {
	if n := len(sp.Fanouts); n > MaxHops {
		return fmt.Errorf("%d fanouts: at most %d hops are possible", n, MaxHops)
	}
	for hop, k := range sp.Fanouts {
		if k < All {
			return fmt.Errorf("fanout %d in hop %d: give 0 or more neighbours, or %d for all", k, hop+1, All)
		}
	}
	return nil
}
