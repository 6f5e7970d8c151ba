package sampler

import (
	"context"
	"fmt"

	"github.com/aether-ooc/aether-ooc/blockcache"
	"github.com/aether-ooc/aether-ooc/internal/base"
	"github.com/aether-ooc/aether-ooc/internal/rng"
	"github.com/aether-ooc/aether-ooc/layout"
)

// Sampler samples batches of one graph through one lane.
type Sampler struct {
	graph *layout.Graph
	index *layout.Index
	nodes uint64
	files Files
	lane  *blockcache.Lane

	batch   batch
	scratch scratch
	keeper  keeper

	onAdjacency, onEdgeIDs func(i int, b []byte) error // made once: a new closure is an allocation
}

// batch is what the steps of the batch in work share.
type batch struct {
	key    rng.Key
	spec   Spec
	hop    int
	fanout int
	lo     int // the frontier begins at out.NID[lo], local id lo
	out    *Subgraph
}

// Files are what a cache calls the graph's file: by two names where the reads
// of edge ids are to be counted apart, else twice by the same.
type Files struct{ Adjacency, EdgeIDs blockcache.FileID }

// New makes a sampler for the graph whose file the lane's cache knows as f.
func New(g *layout.Graph, f Files, l *blockcache.Lane) *Sampler {
	s := &Sampler{graph: g, index: g.Index, nodes: g.Superblock.Nodes, files: f, lane: l}
	s.onAdjacency, s.onEdgeIDs = s.takeBlock, s.takeEdgeIDs
	return s
}

// Sample draws the subgraph of the seeds into out. All that is random in it
// comes from key, which rng.BatchKey makes. The spec must be valid. A seed that
// is no node gives ErrUnknownNode before anything is read.
func (s *Sampler) Sample(ctx context.Context, key rng.Key, seeds []base.NodeID, spec Spec, out *Subgraph) error {
	if err := s.check(seeds); err != nil {
		return err
	}
	s.batch = batch{key: key, spec: spec, out: out}
	defer s.end()
	out.reset(len(seeds), spec.EdgeIDs)
	s.plant(seeds)
	for hop, fanout := range spec.Fanouts {
		if err := s.walk(ctx, hop, fanout); err != nil {
			return fmt.Errorf("sampling hop %d of %d: %w", hop+1, len(spec.Fanouts), err)
		}
	}
	if err := s.fetchEdgeIDs(ctx); err != nil {
		return fmt.Errorf("fetching edge ids: %w", err)
	}
	return nil
}

// MemoryBytes is what the scratch holds between batches.
func (s *Sampler) MemoryBytes() int64 { return s.scratch.bytes() }

func (s *Sampler) check(seeds []base.NodeID) error {
	if len(seeds) > rng.MaxCopies {
		return fmt.Errorf("%w: %d seeds, at most %d are possible: use a smaller batch size", ErrTooLarge, len(seeds), rng.MaxCopies)
	}
	for i, v := range seeds {
		if uint64(v) >= s.nodes {
			return fmt.Errorf("%w: seed %d (at position %d of its batch): the graph has %d nodes, give ids below that", ErrUnknownNode, v, i, s.nodes)
		}
	}
	return nil
}

// end forgets the batch, so that the caller's subgraph is not kept alive.
func (s *Sampler) end() {
	out := s.batch.out
	s.keeper.review(&s.scratch, max(len(out.NID)+len(out.Row), len(s.scratch.picks)))
	s.batch = batch{}
}

// plant puts the seeds first into n_id and numbers the copies of each.
func (s *Sampler) plant(seeds []base.NodeID) {
	c, out := &s.scratch, s.batch.out
	c.met.reset()
	c.met.room(len(seeds), nil)
	c.copies, c.times = lengthen(c.copies[:0], len(seeds)), lengthen(c.times[:0], len(seeds))
	clear(c.times)
	for i, v := range seeds {
		out.NID = append(out.NID, int64(v))
		first := c.met.meet(hash(int64(v)), int64(v), uint32(i), out.NID)
		c.copies[i] = c.times[first]
		c.times[first]++
	}
}

// walk makes one hop from the nodes that the last one met.
func (s *Sampler) walk(ctx context.Context, hop, fanout int) error {
	b, out := &s.batch, s.batch.out
	b.hop, b.fanout = hop, fanout
	nodes, edges := len(out.NID), len(out.Row)
	if fanout != 0 && b.lo < nodes {
		if err := s.expand(ctx); err != nil {
			return err
		}
	}
	b.lo = nodes
	out.SampledNodes = append(out.SampledNodes, int64(len(out.NID)-nodes))
	out.SampledEdges = append(out.SampledEdges, int64(len(out.Row)-edges))
	return nil
}

func (s *Sampler) expand(ctx context.Context) error {
	if err := s.plan(); err != nil {
		return err
	}
	if err := s.visit(ctx, s.files.Adjacency, s.onAdjacency); err != nil {
		return err
	}
	return s.closeUp()
}

// visit brings the blocks of f that the keys name and calls fn for each.
func (s *Sampler) visit(ctx context.Context, f blockcache.FileID, fn func(i int, b []byte) error) error {
	c := &s.scratch
	c.group()
	if len(c.blocks) == 0 {
		return nil
	}
	return s.lane.Visit(ctx, f, c.blocks, fn)
}
