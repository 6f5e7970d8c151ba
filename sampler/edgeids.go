package sampler

import (
	"context"
	"fmt"

	"github.com/aether-ooc/aether-ooc/internal/base"
)

// fetchEdgeIDs replaces the canonical numbers in out.EID by the ids that the
// graph stores for them, if it stores any.
func (s *Sampler) fetchEdgeIDs(ctx context.Context) error {
	c, out := &s.scratch, s.batch.out
	if len(out.EID) == 0 || !s.graph.HasEdgeIDs() {
		return nil
	}
	if uint64(len(out.EID)) > 1<<32 {
		return fmt.Errorf("%w: %d edges, of which 32 bits number the ids: use a smaller batch size or fanout", ErrTooLarge, len(out.EID))
	}
	c.begin(0)
	for i, e := range out.EID {
		b, _ := s.graph.EdgeIDBlock(base.EdgeIdx(e))
		c.keys = append(c.keys, keyOf(b, i))
	}
	return s.visit(ctx, s.files.EdgeIDs, s.onEdgeIDs)
}

// takeEdgeIDs serves every edge that waits for edge id block i of the visit.
func (s *Sampler) takeEdgeIDs(i int, b []byte) error {
	c, eid := &s.scratch, s.batch.out.EID
	for _, key := range c.items(i) {
		at := &eid[uint32(key)]
		_, slot := s.graph.EdgeIDBlock(base.EdgeIdx(*at))
		*at = int64(s.graph.EdgeIDAt(b, slot))
	}
	return nil
}
