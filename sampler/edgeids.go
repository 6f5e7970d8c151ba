package sampler

import (
	"context"
	"fmt"

	"github.com/aether-ooc/aether-ooc/internal/base"
)

// fetchEdgeIDs replaces the canonical numbers in the batches' EID by the ids that
// the graph stores for them, if it stores any. An item is a place in the EIDs,
// one batch's after the other's.
func (s *Sampler) fetchEdgeIDs(ctx context.Context) error {
	c, g := &s.scratch, &s.group
	if !g.spec.EdgeIDs || !s.graph.HasEdgeIDs() {
		return nil
	}
	if uint64(g.edges) > 1<<32 {
		return fmt.Errorf("%w: %d edges, of which 32 bits number the ids: use a smaller batch size or fanout", ErrTooLarge, g.edges)
	}
	c.begin(0)
	items := 0
	for i := range g.walks {
		w := &g.walks[i]
		w.first = items
		for _, e := range w.Out.EID {
			b, _ := s.graph.EdgeIDBlock(base.EdgeIdx(e))
			c.keys = append(c.keys, keyOf(b, items))
			items++
		}
		w.end = items
	}
	return s.visit(ctx, s.files.EdgeIDs, s.onEdgeIDs)
}

// takeEdgeIDs serves every edge that waits for edge id block i of the visit.
func (s *Sampler) takeEdgeIDs(i int, b []byte) error {
	owner := 0
	for _, key := range s.scratch.items(i) {
		item := int(uint32(key))
		owner = s.owner(item, owner)
		w := &s.group.walks[owner]
		at := &w.Out.EID[item-w.first]
		_, slot := s.graph.EdgeIDBlock(base.EdgeIdx(*at))
		*at = int64(s.graph.EdgeIDAt(b, slot))
	}
	return nil
}
