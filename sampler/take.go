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
	first := s.index.FirstEdge(c.blocks[i])
	for _, key := range c.items(i) {
		if item := int(uint32(key)); item < len(c.runs) {
			err = s.takeOne(item, block, first)
		} else {
			err = s.takePiece(&c.pieces[item-len(c.runs)], block, first)
		}
		if err != nil {
			return s.graph.Place(c.blocks[i], err)
		}
	}
	return nil
}

// takeOne draws from a list that lies in one block, now that its degree shows.
func (s *Sampler) takeOne(target int, block layout.Block, first base.EdgeIdx) error {
	list := block.Find(s.frontier(target))
	if list.Len() == 0 {
		return nil
	}
	if err := s.draw(target, uint64(list.Len())); err != nil {
		return err
	}
	r := s.scratch.runs[target]
	return s.translate(list, r.at, r.n, 0, first)
}

// takePiece turns a piece's ranks into neighbours.
func (s *Sampler) takePiece(p *piece, block layout.Block, first base.EdgeIdx) error {
	v := s.frontier(int(p.target))
	list := block.Find(v)
	for _, rank := range s.scratch.picks[p.at : p.at+int(p.n)] {
		if rank-p.first >= uint64(list.Len()) {
			return &layout.CorruptError{
				Detail: fmt.Sprintf("the list of node %d is not what the index says", v),
				Want:   fmt.Sprintf("entry %d", rank), Got: fmt.Sprintf("%d entries from entry %d on", list.Len(), p.first),
			}
		}
	}
	return s.translate(list, p.at, int(p.n), p.first, first)
}

func (s *Sampler) frontier(target int) base.NodeID {
	return base.NodeID(s.batch.out.NID[s.batch.lo+target])
}

// translate replaces n ranks of the arena by the neighbours that they mean, and
// notes the edges beside, if they are wanted. The list begins at rank skip, the
// block with edge first.
func (s *Sampler) translate(list layout.List, at, n int, skip uint64, first base.EdgeIdx) error {
	c := &s.scratch
	picks := c.picks[at : at+n]
	if s.batch.spec.EdgeIDs {
		c.edges = lengthen(c.edges, len(c.picks))
		zero := uint64(first) + uint64(list.Pos()) - skip
		for i, rank := range picks {
			c.edges[at+i] = zero + rank
		}
	}
	most := uint64(0)
	for i, rank := range picks {
		v := uint64(list.At(int(rank - skip)))
		picks[i], most = v, max(most, v)
	}
	if most >= s.nodes && n > 0 {
		return &layout.CorruptError{
			Detail: "a neighbour is no node of the graph", Want: fmt.Sprintf("below %d", s.nodes), Got: fmt.Sprint(most),
		}
	}
	return nil
}

// closeUp writes the hop's edges in frontier order and gives new nodes their
// local ids.
func (s *Sampler) closeUp() error {
	c, out := &s.scratch, s.batch.out
	from := len(out.Row)
	out.Row = lengthen(out.Row, from+len(c.picks))
	out.Col = lengthen(out.Col, from+len(c.picks))
	if s.batch.spec.EdgeIDs {
		out.EID = lengthen(out.EID, from+len(c.picks))
	}
	s.gather(from)
	if uint64(len(out.NID))+uint64(len(c.picks)) > 1<<32 {
		return fmt.Errorf("%w: more nodes than 32 bits number: use a smaller batch size or fanout", ErrTooLarge)
	}
	out.NID = c.met.meetAll(out.Row[from:], out.NID)
	return nil
}

// gather copies the arena's runs to the output, from edge w on.
func (s *Sampler) gather(w int) {
	c, out := &s.scratch, s.batch.out
	for target, r := range c.runs {
		row, col := out.Row[w:w+r.n], out.Col[w:w+r.n]
		for i, v := range c.picks[r.at : r.at+r.n] {
			row[i], col[i] = int64(v), int64(s.batch.lo+target)
		}
		if s.batch.spec.EdgeIDs {
			for i, e := range c.edges[r.at : r.at+r.n] {
				out.EID[w+i] = int64(e)
			}
		}
		w += r.n
	}
}
