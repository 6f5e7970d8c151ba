package engine

import (
	"context"
	"fmt"
	"slices"

	"github.com/aether-ooc/aether-ooc/blockcache"
	"github.com/aether-ooc/aether-ooc/internal/base"
	"github.com/aether-ooc/aether-ooc/internal/rng"
	"github.com/aether-ooc/aether-ooc/layout"
	"github.com/aether-ooc/aether-ooc/sampler"
)

// maker says how the batches of a query are made: sampled together, then the rows
// of each are fetched.
func (e *Engine) maker(q *query) work {
	return work{
		begin: func(ctx context.Context, l *lane, jobs []job) { e.sample(ctx, l, q, jobs) },
		make: func(ctx context.Context, l *lane, j job) error {
			number := q.number(j.i)
			if err := e.finish(ctx, l, q, number, j); err != nil {
				return fmt.Errorf("engine: batch %d of %s: %w", number, e.path, err)
			}
			return nil
		},
	}
}

// number is the global number of the query's i-th batch; -1 where it has none.
func (q *query) number(i int64) base.BatchIdx {
	if q.explicit {
		return -1
	}
	return q.batch(i)
}

// sample makes the subgraphs of the jobs' batches.
func (e *Engine) sample(ctx context.Context, l *lane, q *query, jobs []job) {
	l.seeds = slices.Grow(l.seeds[:0], len(jobs)*int(q.size)) // so that those of the first do not move
	l.draws = l.draws[:0]
	for _, j := range jobs {
		l.draws = append(l.draws, e.draw(l, q, j))
	}
	l.sampler.SampleGroup(ctx, e.limited(q.spec), l.draws)
	l.countHops()
}

// draw says what a job's subgraph is drawn from.
func (e *Engine) draw(l *lane, q *query, j job) sampler.Draw {
	s, number := &j.batch.store, q.number(j.i)
	keyed, from := uint64(number), number
	if q.explicit {
		keyed, from = q.hash, 0
	}
	at := len(l.seeds)
	l.seeds, s.ids = q.fill(from, l.seeds, s.ids[:0])
	if q.spec.EdgeIDs {
		s.sub.EID = s.eid
	}
	key := rng.BatchKey(e.graph.Superblock.Fingerprint, q.request.Seed, q.request.Epoch, keyed)
	return sampler.Draw{Key: key, Seeds: l.seeds[at:], Out: &s.sub}
}

// finish completes the batch of a job whose subgraph has been drawn.
func (e *Engine) finish(ctx context.Context, l *lane, q *query, number base.BatchIdx, j job) error {
	if err := l.draws[j.k].Err; err != nil {
		return err
	}
	b, s := j.batch, &j.batch.store
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
		switch {
		case t == q.original():
			b.Original = int64s(rows)
		case i == 0:
			b.X = Rows{Data: rows, Dim: t.dim(layout.Features), DType: t.DType()}
		default:
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
