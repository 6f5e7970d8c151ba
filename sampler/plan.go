package sampler

import (
	"fmt"

	"github.com/aether-ooc/aether-ooc/internal/base"
	"github.com/aether-ooc/aether-ooc/internal/rng"
	"github.com/aether-ooc/aether-ooc/layout"
)

// piece is a run of a Many list's picks that lie in one block.
type piece struct {
	target uint32 // place in the frontier
	n      uint32
	at     int    // the first pick's place in the arena
	first  uint64 // the rank of the block's first entry of the list
}

// run is where a frontier node's picks lie in the arena.
type run struct{ at, n int }

// plan says which blocks the hop needs and for whom, and draws where the index
// knows the degree.
func (s *Sampler) plan() error {
	c, frontier := &s.scratch, s.batch.out.NID[s.batch.lo:]
	c.begin(len(frontier))
	for i, v := range frontier {
		span := s.index.Locate(base.NodeID(v))
		switch span.Where {
		case layout.One:
			c.keys = append(c.keys, keyOf(span.First, i))
		case layout.Many:
			if err := s.planMany(i, span); err != nil {
				return err
			}
		}
	}
	return s.fits(0)
}

// planMany draws from a list that lies in several blocks and cuts the picks into
// pieces.
func (s *Sampler) planMany(target int, span layout.Span) error {
	c := &s.scratch
	if err := s.draw(target, span.Degree); err != nil {
		return err
	}
	r := c.runs[target]
	for p := r.at; p < r.at+r.n; {
		b := s.index.RankBlock(span, c.picks[p])
		lo, hi := s.index.Ranks(span, b)
		q := p + 1
		for q < r.at+r.n && lo <= c.picks[q] && c.picks[q] < hi {
			q++
		}
		c.keys = append(c.keys, keyOf(b, len(c.runs)+len(c.pieces)))
		c.pieces = append(c.pieces, piece{target: uint32(target), n: uint32(q - p), at: p, first: lo})
		p = q
	}
	return nil
}

// draw appends the ranks that a frontier node draws from its degree to the
// arena.
func (s *Sampler) draw(target int, degree uint64) error {
	c, b := &s.scratch, &s.batch
	k := degree
	if b.fanout != All {
		k = uint64(b.fanout)
		if !b.spec.Replace {
			k = min(k, degree)
		}
	}
	if err := s.fits(k); err != nil {
		return err
	}
	copies := uint32(0)
	if b.hop == 0 {
		copies = c.copies[target]
	}
	at := len(c.picks)
	stream := rng.NewStream(b.key, b.hop, base.NodeID(b.out.NID[b.lo+target]), copies)
	if b.spec.Replace && b.fanout != All {
		c.picks = stream.WithRepeats(c.picks, k, degree)
	} else {
		c.picks = stream.Distinct(c.picks, k, degree)
	}
	c.runs[target] = run{at, len(c.picks) - at}
	return nil
}

// fits reports ErrTooLarge when the batch, with n picks more, has more edges
// than it may, or the hop's items outgrow the 32 bits that number them.
func (s *Sampler) fits(n uint64) error {
	const most = 1 << 31
	c, b := &s.scratch, &s.batch
	if n >= most || uint64(len(c.picks))+n >= most || len(c.runs)+len(c.pieces) >= most {
		return fmt.Errorf("%w: more than %d picks in one hop: use a smaller batch size or fanout", ErrTooLarge, uint64(most))
	}
	if edges := int64(len(b.out.Row)+len(c.picks)) + int64(n); b.spec.MaxEdges > 0 && edges > b.spec.MaxEdges {
		return fmt.Errorf("%w: at least %d edges where %d fit the memory budget: use a smaller batch size or fanout, or a larger budget", ErrTooLarge, edges, b.spec.MaxEdges)
	}
	return nil
}
