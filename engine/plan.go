package engine

import (
	"fmt"

	"github.com/aether-ooc/aether-ooc/internal/base"
	"github.com/aether-ooc/aether-ooc/internal/rng"
	"github.com/aether-ooc/aether-ooc/sampler"
)

// plan is the part of a request that needs no graph data: which batches, which
// seeds, which ids. The epoch's list of batches is the same for every rank;
// a plan is one rank's walk through it.
type plan struct {
	nodes []base.NodeID // nil: all
	ids   []int64       // nil: positions
	order *rng.Permutation

	seeds uint64 // in the epoch
	size  uint64 // of a batch
	total int64  // batches in the epoch, all ranks together

	rank, world  int64
	first, count int64 // the range of this rank's batches
}

const maxWorld = 1 << 31

func newPlan(r Request, fp base.Fingerprint, nodes uint64) (*plan, error) {
	if err := checkShape(r); err != nil {
		return nil, err
	}
	if err := checkNodes(r, nodes); err != nil {
		return nil, err
	}
	p := &plan{nodes: r.Nodes, ids: r.InputIDs, seeds: nodes, size: uint64(r.BatchSize),
		rank: int64(r.Rank), world: max(1, int64(r.WorldSize))}
	if r.Nodes != nil {
		p.seeds = uint64(len(r.Nodes))
	}
	if r.Shuffle {
		order := rng.NewPermutation(fp, r.Seed, r.Epoch, p.seeds)
		p.order = &order
	}
	p.total = int64(p.seeds / p.size)
	if !r.DropLast && p.seeds%p.size != 0 {
		p.total++
	}
	mine := p.perRank(r.Uneven)
	p.first = min(r.First, mine)
	p.count = mine - p.first
	if r.Count > 0 {
		p.count = min(p.count, r.Count)
	}
	return p, nil
}

func checkShape(r Request) error {
	switch {
	case r.BatchSize < 1 || r.BatchSize > MaxBatchSize:
		return bad("BatchSize", r.BatchSize, "it must lie in 1 … %d", MaxBatchSize)
	case r.WorldSize < 0 || r.WorldSize > maxWorld:
		return bad("WorldSize", r.WorldSize, "it must be the number of ranks, at least 1")
	case r.Rank < 0 || r.Rank >= max(1, r.WorldSize):
		return bad("Rank", r.Rank, "it must lie in 0 … %d, below WorldSize", max(1, r.WorldSize)-1)
	case r.Generator != "" && r.Generator != rng.Name:
		return bad("Generator", fmt.Sprintf("%.40q", r.Generator), "this engine has %s: leave it empty for that, or use the release that the request was made with", rng.Name)
	case r.Uneven > Ragged:
		return bad("Uneven", r.Uneven, "it must be Wrap, Drop or Ragged")
	case r.First < 0:
		return bad("First", r.First, "it must be 0 or more: batches are counted from 0")
	case r.Count < 0:
		return bad("Count", r.Count, "it must be a number of batches, or 0 for all from First on")
	}
	return nil
}

func checkNodes(r Request, nodes uint64) error {
	if r.InputIDs != nil && r.Nodes == nil {
		return bad("InputIDs", fmt.Sprintf("given (%d ids) without Nodes", len(r.InputIDs)), "give the Nodes that they belong to, or leave both out")
	}
	if r.InputIDs != nil && len(r.InputIDs) != len(r.Nodes) {
		return bad("InputIDs", fmt.Sprintf("of length %d", len(r.InputIDs)), "give one id for each of the %d Nodes", len(r.Nodes))
	}
	for i, v := range r.Nodes {
		if uint64(v) >= nodes {
			return unknownNode(i, v, nodes)
		}
	}
	return nil
}

func unknownNode(at int, v base.NodeID, nodes uint64) error {
	why := "the graph has no nodes; leave Nodes out"
	if nodes > 0 {
		why = fmt.Sprintf("node ids of this graph lie in 0 … %d; look for ids of another graph or a wrong column", nodes-1)
	}
	return &RequestError{Field: fmt.Sprintf("Nodes[%d]", at), Value: uint64(v), Why: why, Err: sampler.ErrUnknownNode}
}

// perRank is how many batches the plan's rank has.
func (p *plan) perRank(u Uneven) int64 {
	whole, rest := p.total/p.world, p.total%p.world
	if rest > 0 && (u == Wrap || u == Ragged && p.rank < rest) {
		whole++
	}
	return whole
}

// batch is the global number of the plan's i-th batch, i < count.
func (p *plan) batch(i int64) base.BatchIdx {
	return base.BatchIdx((p.rank + (p.first+i)*p.world) % p.total)
}

// span is the range of the epoch's positions that batch b covers.
func (p *plan) span(b base.BatchIdx) (lo, hi uint64) {
	lo = uint64(b) * p.size
	return lo, min(lo+p.size, p.seeds)
}

// fill appends the seeds of batch b and their input ids.
func (p *plan) fill(b base.BatchIdx, seeds []base.NodeID, ids []int64) ([]base.NodeID, []int64) {
	lo, hi := p.span(b)
	for at := lo; at < hi; at++ {
		item := at
		if p.order != nil {
			item = p.order.At(at)
		}
		seeds = append(seeds, p.node(item))
		ids = append(ids, p.id(item))
	}
	return seeds, ids
}

func (p *plan) node(item uint64) base.NodeID {
	if p.nodes == nil {
		return base.NodeID(item)
	}
	return p.nodes[item]
}

func (p *plan) id(item uint64) int64 {
	if p.ids == nil {
		return int64(item)
	}
	return p.ids[item]
}
