package sampler

import (
	"fmt"

	"github.com/aether-ooc/aether-ooc/internal/base"
	"github.com/aether-ooc/aether-ooc/internal/rng"
	"github.com/aether-ooc/aether-ooc/layout"
)

// piece is a run of a Many list's picks that lie in one block.
type piece struct {
	item  uint32 // whose list it is
	n     uint32
	at    uint32 // the first pick's place in the arena
	walk  uint32 // whose arena
	first uint64 // the rank of the block's first entry of the list
}

// run is where a frontier node's picks lie in its batch's arena.
type run struct{ at, n uint32 }

// plan says which blocks the hop needs and for whom, and draws where the index
// knows the degree.
func (s *Sampler) plan(runs int) error {
	s.scratch.begin(runs)
	for i := range s.group.walks {
		if err := s.planWalk(i); err != nil {
			return err
		}
	}
	return s.fits(&s.group.walks[0], 0)
}

func (s *Sampler) planWalk(i int) error {
	c, w := &s.scratch, &s.group.walks[i]
	for t, v := range w.Out.NID[w.lo:w.nodes] {
		span := s.index.Locate(base.NodeID(v))
		switch span.Where {
		case layout.One:
			c.keys = append(c.keys, keyOf(span.First, w.first+t))
		case layout.Many:
			if err := s.planMany(i, w.first+t, span); err != nil {
				return err
			}
		}
	}
	return nil
}

// planMany draws from a list that lies in several blocks and cuts the picks into
// pieces.
func (s *Sampler) planMany(walk, item int, span layout.Span) error {
	c, w := &s.scratch, &s.group.walks[walk]
	picks, err := s.draw(w, item, span.Degree)
	if err != nil {
		return err
	}
	for p := 0; p < len(picks); {
		b := s.index.RankBlock(span, picks[p])
		lo, hi := s.index.Ranks(span, b)
		q := p + 1
		for q < len(picks) && lo <= picks[q] && picks[q] < hi {
			q++
		}
		c.keys = append(c.keys, keyOf(b, len(c.runs)+len(c.pieces)))
		c.pieces = append(c.pieces, piece{item: uint32(item), n: uint32(q - p), at: c.runs[item].at + uint32(p), walk: uint32(walk), first: lo})
		p = q
	}
	return nil
}

// draw appends the ranks that a frontier node draws from its degree to its
// batch's arena.
func (s *Sampler) draw(w *walk, item int, degree uint64) ([]uint64, error) {
	g, out := &s.group, w.Out
	k := degree
	if g.fanout != All {
		k = uint64(g.fanout)
		if !g.spec.Replace {
			k = min(k, degree)
		}
	}
	if err := s.fits(w, k); err != nil {
		return nil, err
	}
	copies := uint32(0)
	if g.hop == 0 {
		copies = s.scratch.copies[item]
	}
	at, arena := len(out.Col), as[uint64](out.Col)
	stream := rng.NewStream(w.Key, g.hop, s.frontier(w, item), copies)
	if g.spec.Replace && g.fanout != All {
		arena = stream.WithRepeats(arena, k, degree)
	} else {
		arena = stream.Distinct(arena, k, degree)
	}
	out.Col = as[int64](arena)
	g.edges += int64(len(arena) - at)
	s.scratch.runs[item] = run{uint32(at - w.from), uint32(len(arena) - at)}
	return arena[at:], nil
}

// fits reports ErrTooLarge when the group, with n picks more of batch w, has more
// edges than it may, or the hop's items outgrow the 32 bits that number them.
func (s *Sampler) fits(w *walk, n uint64) error {
	const most = 1 << 31
	c, g := &s.scratch, &s.group
	if n >= most || uint64(len(w.Out.Col)-w.from)+n >= most || len(c.runs)+len(c.pieces) >= most {
		return fmt.Errorf("%w: more than %d picks in one hop: use a smaller batch size or fanout", ErrTooLarge, uint64(most))
	}
	if edges := g.edges + int64(n); g.spec.MaxEdges > 0 && edges > g.spec.MaxEdges {
		return fmt.Errorf("%w: at least %d edges where %d fit the memory budget: use a smaller batch size or fanout, or a larger budget", ErrTooLarge, edges, g.spec.MaxEdges)
	}
	return nil
}
