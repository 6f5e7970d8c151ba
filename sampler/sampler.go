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

	group   group
	scratch scratch
	keeper  keeper
	asked   []Hop
	single  [1]Draw // Sample's

	resident *Resident // nil: blocks are asked for
	sheet    sheet

	onAdjacency, onEdgeIDs func(i int, b []byte) error // made once: a new closure is an allocation
}

// Draw is one batch to sample.
type Draw struct {
	Key   rng.Key // of all that is random in it; rng.BatchKey makes it
	Seeds []base.NodeID
	Out   *Subgraph
	Err   error // what became of it
}

// group is what the steps of the batches in work share.
type group struct {
	spec   Spec
	hop    int
	fanout int
	edges  int64 // of all batches
	walks  []walk
	known  *walk // whose nodes the table of a group holds
}

// walk is one batch of the group.
type walk struct {
	*Draw
	met        *table
	lo, nodes  int // the frontier is Out.NID[lo:nodes], local ids lo to nodes
	from       int // the hop's edges begin at Out.Row[from]
	first, end int // the frontier's runs among those of the group
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

// Sample draws the subgraph of the seeds into out: a group of one.
func (s *Sampler) Sample(ctx context.Context, key rng.Key, seeds []base.NodeID, spec Spec, out *Subgraph) error {
	s.single[0] = Draw{Key: key, Seeds: seeds, Out: out}
	s.SampleGroup(ctx, spec, s.single[:])
	err := s.single[0].Err
	s.single[0] = Draw{}
	return err
}

// SampleGroup draws batches that have all in common but keys and seeds, hop by
// hop together, so that a block that several need is asked for once. Each comes
// out as it would alone. The spec must be valid, and its MaxEdges bounds the
// group. A seed that is no node gives its batch ErrUnknownNode before anything is
// read for it.
//
// A group that fails is made again, batch by batch, so that an error finds the
// batches that it belongs to; the context's is everyone's.
func (s *Sampler) SampleGroup(ctx context.Context, spec Spec, draws []Draw) {
	err := s.together(ctx, spec, draws)
	for i := range draws {
		if draws[i].Err = err; err != nil && len(draws) > 1 && ctx.Err() == nil {
			draws[i].Err = s.together(ctx, spec, draws[i:i+1])
		}
	}
}

func (s *Sampler) together(ctx context.Context, spec Spec, draws []Draw) error {
	for i := range draws {
		if err := s.check(draws[i].Seeds); err != nil {
			return err
		}
	}
	defer s.end()
	s.begin(spec, draws)
	if err := s.hops(ctx); err != nil {
		return err
	}
	if err := s.fetchEdgeIDs(ctx); err != nil {
		return fmt.Errorf("fetching edge ids: %w", err)
	}
	return nil
}

// hops makes all hops of all batches.
func (s *Sampler) hops(ctx context.Context) error {
	if s.resident != nil {
		return s.walkResident()
	}
	for hop, fanout := range s.group.spec.Fanouts {
		if err := s.step(ctx, hop, fanout); err != nil {
			return inHop(hop, s.group.spec, err)
		}
	}
	return nil
}

func inHop(hop int, spec Spec, err error) error {
	return fmt.Errorf("sampling hop %d of %d: %w", hop+1, len(spec.Fanouts), err)
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

// begin plants the batches' seeds.
func (s *Sampler) begin(spec Spec, draws []Draw) {
	c := &s.scratch
	for len(c.met) < s.tables(len(draws)) {
		c.met = append(c.met, table{})
	}
	c.copies = c.copies[:0]
	s.group = group{spec: spec, walks: s.group.walks[:0]}
	for i := range draws {
		w := walk{Draw: &draws[i], met: &c.met[i%s.tables(len(draws))]}
		w.Out.reset(len(w.Seeds), spec.EdgeIDs)
		c.plant(&w)
		s.group.walks = append(s.group.walks, w)
	}
}

// tables is how many tables a group needs. The batches of one share a table, since
// each needs it only while it is closed up: it is as large as the batch's part of
// the group, but filled anew for each hop in a moment.
func (s *Sampler) tables(batches int) int {
	if s.resident != nil {
		return batches
	}
	return 1
}

// recall makes the table hold the nodes of w.
func (s *Sampler) recall(w *walk) {
	if s.group.known != w && len(s.group.walks) > 1 {
		w.met.reset()
		w.met.refill(w.Out.NID)
		s.group.known = w
	}
}

// end forgets the batches, so that the caller's subgraphs are not kept alive.
func (s *Sampler) end() {
	size := 0
	for i := range s.group.walks {
		out := s.group.walks[i].Out
		size += len(out.NID) + max(len(out.Row), len(out.Col))
	}
	s.keeper.review(&s.scratch, size)
	clear(s.group.walks)
}

// plant puts the seeds first into n_id and numbers the copies of each.
func (c *scratch) plant(w *walk) {
	w.met.reset()
	w.met.room(len(w.Seeds), nil)
	c.times = lengthen(c.times[:0], len(w.Seeds))
	clear(c.times)
	for i, v := range w.Seeds {
		w.Out.NID = append(w.Out.NID, int64(v))
		first := w.met.meet(hash(int64(v)), int64(v), uint32(i), w.Out.NID)
		c.copies = append(c.copies, c.times[first])
		c.times[first]++
	}
}

// step makes one hop from the nodes that the last one met.
func (s *Sampler) step(ctx context.Context, hop, fanout int) error {
	g := &s.group
	g.hop, g.fanout = hop, fanout
	runs := 0
	for i := range g.walks {
		w := &g.walks[i]
		w.nodes, w.from, w.first = len(w.Out.NID), len(w.Out.Row), runs
		runs += w.nodes - w.lo
		w.end = runs
	}
	if fanout != 0 && runs > 0 {
		if err := s.expand(ctx, runs); err != nil {
			return err
		}
	}
	for i := range g.walks {
		g.walks[i].endHop()
	}
	return nil
}

// endHop makes the nodes that the hop met the next frontier.
func (w *walk) endHop() {
	w.lo = w.nodes
	w.Out.SampledNodes = append(w.Out.SampledNodes, int64(len(w.Out.NID)-w.nodes))
	w.Out.SampledEdges = append(w.Out.SampledEdges, int64(len(w.Out.Row)-w.from))
}

// expand draws the neighbours of all frontiers, which have so many nodes.
func (s *Sampler) expand(ctx context.Context, runs int) error {
	if err := s.plan(runs); err != nil {
		return err
	}
	if err := s.visit(ctx, s.files.Adjacency, s.onAdjacency); err != nil {
		return err
	}
	s.countHop()
	for i := range s.group.walks {
		if err := s.closeUp(&s.group.walks[i]); err != nil {
			return err
		}
	}
	return nil
}

// Hop is what a hop, of all batches that a sampler has made, asked of the cache.
type Hop struct{ Blocks, Reads, ReadBytes int64 }

// Hops are those that have asked for anything. What is drawn from a resident
// adjacency does not.
func (s *Sampler) Hops() []Hop { return s.asked }

// countHop adds what the last visit, of the hop's lists, led to.
func (s *Sampler) countHop() {
	for len(s.asked) <= s.group.hop {
		s.asked = append(s.asked, Hop{})
	}
	n, h := s.lane.LastVisit(), &s.asked[s.group.hop]
	h.Blocks += n.Asked()
	h.Reads += n.Reads
	h.ReadBytes += n.BytesRead
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
