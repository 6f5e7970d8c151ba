package engine

import (
	"context"
	"fmt"
	"slices"

	"github.com/aether-ooc/aether-ooc/blockcache"
	"github.com/aether-ooc/aether-ooc/internal/base"
	"github.com/aether-ooc/aether-ooc/internal/rng"
	"github.com/aether-ooc/aether-ooc/layout"
)

// maker gives the job that makes the i-th batch of a query.
func (e *Engine) maker(q *query) func(context.Context, *lane, int64, *Batch) error {
	return func(ctx context.Context, l *lane, i int64, b *Batch) error {
		number := q.number(i)
		if err := e.make(ctx, l, q, number, b); err != nil {
			return fmt.Errorf("engine: batch %d of %s: %w", number, e.path, err)
		}
		return nil
	}
}

// number is the global number of the query's i-th batch; -1 where it has none.
func (q *query) number(i int64) base.BatchIdx {
	if q.explicit {
		return -1
	}
	return q.batch(i)
}

func (e *Engine) make(ctx context.Context, l *lane, q *query, number base.BatchIdx, b *Batch) error {
	s := &b.store
	keyed, from := uint64(number), number
	if q.explicit {
		keyed, from = q.hash, 0
	}
	l.seeds, s.ids = q.fill(from, l.seeds[:0], s.ids[:0])
	if q.spec.EdgeIDs {
		s.sub.EID = s.eid
	}
	key := rng.BatchKey(e.graph.Superblock.Fingerprint, q.request.Seed, q.request.Epoch, keyed)
	if err := l.sampler.Sample(ctx, key, l.seeds, e.limited(q.spec), &s.sub); err != nil {
		return err
	}
	*b = Batch{Subgraph: s.sub, Index: number, Epoch: q.request.Epoch, InputID: s.ids,
		Fingerprint: e.graph.Superblock.Fingerprint, ContentID: e.graph.Superblock.ContentID, Generator: rng.Name, home: e.sched, store: *s}
	b.store.keepEdgeIDs()
	if err := e.checkRows(q, b); err != nil {
		return err
	}
	if err := l.gather(ctx, q, b); err != nil {
		return err
	}
	l.count(e.workOf(q, b))
	return nil
}

// keepEdgeIDs puts the memory of the edge ids where a batch without them does
// not lose it.
func (s *store) keepEdgeIDs() {
	if s.sub.EID != nil {
		s.eid, s.sub.EID = s.sub.EID, nil
	}
}

// gather fetches the rows of the batch's nodes.
func (l *lane) gather(ctx context.Context, q *query, b *Batch) error {
	l.gathers = q.gatherBytes(int64(len(b.NID)))
	for i, t := range q.tables {
		if t == nil {
			continue
		}
		rows := b.store.room(i, int64(len(b.NID))*t.RowBytes())
		if err := t.Gather(ctx, l.cache, b.NID, rows); err != nil {
			return fmt.Errorf("fetching rows of %s: %w", t.name, err)
		}
		if i == 0 {
			b.X = Rows{Data: rows, Dim: t.dim(layout.Features), DType: t.DType()}
		} else {
			b.Attrs = append(b.Attrs, Attr{Name: t.name, Rows: Rows{Data: rows, Dim: t.dim(layout.Attr), DType: t.DType()}})
		}
	}
	return nil
}

// room gives n bytes of the i-th table's memory.
func (s *store) room(i int, n int64) []byte {
	for len(s.rows) <= i {
		s.rows = append(s.rows, nil)
	}
	s.rows[i] = slices.Grow(s.rows[i][:0], int(n))[:n]
	return s.rows[i]
}

// preload visits blocks [lo, hi) of a section that begins at first.
func (l *lane) preload(ctx context.Context, f blockcache.FileID, first base.BlockNo, lo, hi int64) error {
	blocks := make([]base.BlockNo, 0, hi-lo)
	for i := lo; i < hi; i++ {
		blocks = append(blocks, first+base.BlockNo(i))
	}
	return l.cache.Visit(ctx, f, blocks, func(int, []byte) error { return nil })
}
