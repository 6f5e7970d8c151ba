package sampler

import (
	"fmt"

	"github.com/aether-ooc/aether-ooc/internal/base"
	"github.com/aether-ooc/aether-ooc/layout"
)

// takeBlock serves every item that waits for adjacency block i of the visit.
func (s *Sampler) takeBlock(i int, b []byte) error {
	c := &s.scratch
	block, err := layout.ViewBlock(b)
	if err != nil {
		return s.graph.Place(c.blocks[i], err)
	}
	first, owner := s.index.FirstEdge(c.blocks[i]), 0
	for _, key := range c.items(i) {
		if item := int(uint32(key)); item < len(c.runs) {
			owner = s.owner(item, owner)
			err = s.takeOne(&s.group.walks[owner], item, block, first)
		} else {
			err = s.takePiece(&c.pieces[item-len(c.runs)], block, first)
		}
		if err != nil {
			return s.graph.Place(c.blocks[i], err)
		}
	}
	return nil
}

// owner is the number of the walk whose item it is; near is a guess, and a good
// one where items are asked about in order.
func (s *Sampler) owner(item, near int) int {
	for item < s.group.walks[near].first {
		near--
	}
	for item >= s.group.walks[near].end {
		near++
	}
	return near
}

// takeOne draws from a list that lies in one block, now that its degree shows.
func (s *Sampler) takeOne(w *walk, item int, block layout.Block, first base.EdgeIdx) error {
	list := block.Find(s.frontier(w, item))
	if list.Len() == 0 {
		return nil
	}
	if _, err := s.draw(w, item, uint64(list.Len())); err != nil {
		return err
	}
	r := s.scratch.runs[item]
	return s.translate(w, list, r.at, r.n, 0, first)
}

// takePiece turns a piece's ranks into neighbours.
func (s *Sampler) takePiece(p *piece, block layout.Block, first base.EdgeIdx) error {
	w := &s.group.walks[p.walk]
	v := s.frontier(w, int(p.item))
	list := block.Find(v)
	for _, rank := range w.picks(p.at, p.n) {
		if rank-p.first >= uint64(list.Len()) {
			return &layout.CorruptError{
				Detail: fmt.Sprintf("the list of node %d is not what the index says", v),
				Want:   fmt.Sprintf("entry %d", rank), Got: fmt.Sprintf("%d entries from entry %d on", list.Len(), p.first),
			}
		}
	}
	return s.translate(w, list, p.at, p.n, p.first, first)
}

// frontier is the node that an item of w is about.
func (s *Sampler) frontier(w *walk, item int) base.NodeID {
	return base.NodeID(w.Out.NID[w.lo+item-w.first])
}

// picks are n places of the hop's arena: ranks, later neighbours.
func (w *walk) picks(at, n uint32) []uint64 {
	return as[uint64](w.Out.Col[w.from+int(at):])[:n]
}

// translate replaces n ranks of the arena by the neighbours that they mean, and
// notes the edges beside, if they are wanted. The list begins at rank skip, the
// block with edge first.
func (s *Sampler) translate(w *walk, list layout.List, at, n uint32, skip uint64, first base.EdgeIdx) error {
	picks := w.picks(at, n)
	if s.group.spec.EdgeIDs {
		w.Out.EID = lengthen(w.Out.EID, len(w.Out.Col))
		zero := uint64(first) + uint64(list.Pos()) - skip
		edges := w.Out.EID[w.from+int(at):]
		for i, rank := range picks {
			edges[i] = int64(zero + rank)
		}
	}
	if skip > 0 {
		for i := range picks {
			picks[i] -= skip
		}
	}
	list.Take(picks)
	most := uint64(0)
	for _, v := range picks {
		most = max(most, v)
	}
	if most >= s.nodes && n > 0 {
		return &layout.CorruptError{
			Detail: "a neighbour is no node of the graph", Want: fmt.Sprintf("below %d", s.nodes), Got: fmt.Sprint(most),
		}
	}
	return nil
}

// closeUp writes a batch's edges of the hop in frontier order and gives new
// nodes their local ids.
func (s *Sampler) closeUp(w *walk) error {
	c, out := &s.scratch, w.Out
	runs, picks := c.runs[w.first:w.end], out.Col[w.from:]
	if uint64(len(out.NID))+uint64(len(picks)) > 1<<32 {
		return fmt.Errorf("%w: more nodes than 32 bits number: use a smaller batch size or fanout", ErrTooLarge)
	}
	out.Row = lengthen(out.Row, len(out.Col))
	gather(out.Row[w.from:], picks, runs)
	if s.group.spec.EdgeIDs {
		c.edges = append(c.edges[:0], out.EID[w.from:]...)
		gather(out.EID[w.from:], c.edges, runs)
	}
	number(picks, runs, int64(w.lo))
	s.recall(w)
	out.NID = w.met.meetAll(out.Row[w.from:], out.NID)
	return nil
}

// gather puts the arena's runs into the frontier's order.
func gather(to, arena []int64, runs []run) {
	for _, r := range runs {
		n := copy(to, arena[r.at:r.at+r.n])
		to = to[n:]
	}
}

// number writes the target of each edge, of which the first is lo.
func number(to []int64, runs []run, lo int64) {
	for t, r := range runs {
		for i := range to[:r.n] {
			to[i] = lo + int64(t)
		}
		to = to[r.n:]
	}
}
