package engine

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"unsafe"

	"github.com/aether-ooc/aether-ooc/layout"
	"github.com/aether-ooc/aether-ooc/sampler"
)

const noOriginal = "the graph keeps no original ids: its ids are the input's; build it with --relabel to number nodes anew"

// checkOriginal refuses what the graph has no original ids for.
func (e *Engine) checkOriginal() error {
	switch e.graph.Original() {
	case layout.NoOriginal:
		return bad("OriginalIDs", "asked for", noOriginal)
	case layout.OriginalNames:
		return bad("OriginalIDs", "asked for", "the graph's nodes have names, which batches do not carry: aether-ooc export --original gives them")
	}
	return nil
}

// original is the table of original ids, nil unless the query asks for them.
func (q *query) original() *table { return q.tables[len(q.tables)-1] }

// Lookup gives the nodes whose original ids these are, in their order: what a
// Request takes as Nodes. An id that no node has is an error that says which.
func (e *Engine) Lookup(ctx context.Context, originals []int64) ([]NodeID, error) {
	if err := e.checkOriginal(); err != nil {
		return nil, err
	}
	order := make([]int, len(originals))
	for i, id := range originals {
		if order[i] = i; id < 0 {
			return nil, unknownOriginal(i, id)
		}
	}
	slices.SortFunc(order, func(a, b int) int { return cmp.Compare(originals[a], originals[b]) })
	keys := make([]uint64, len(originals))
	for i, at := range order {
		keys[i] = uint64(originals[at])
	}
	ids, _ := e.graph.Table.Find(layout.KindOriginal, 0, layout.ColOriginalIDs)
	search := layout.NewSearch(ids, keys)
	err := e.each(ctx, 1, func(ctx context.Context, l *lane, _ int64) error { return e.find(ctx, l, search) })
	if err != nil {
		return nil, fmt.Errorf("engine: looking up original ids: %w", err)
	}
	nodes := make([]NodeID, len(originals))
	for i, at := range order {
		if search.Ranks[i] == layout.NotFound {
			return nil, unknownOriginal(at, originals[at])
		}
		nodes[at] = NodeID(search.Ranks[i])
	}
	return nodes, nil
}

// find goes through the rounds of a search: a Visit each.
func (e *Engine) find(ctx context.Context, l *lane, x *layout.Search) error {
	for blocks := x.Blocks(); len(blocks) > 0; blocks = x.Blocks() {
		err := l.cache.Visit(ctx, e.original.File(), blocks, func(i int, b []byte) error {
			x.See(i, b)
			return nil
		})
		if err != nil {
			return err
		}
	}
	return nil
}

func unknownOriginal(at int, id int64) error {
	return &RequestError{Field: fmt.Sprintf("Nodes[%d]", at), Value: id, Err: sampler.ErrUnknownNode,
		Why: "no node has this original id; look for ids of another graph or a wrong column"}
}

// int64s sees rows of 8 bytes as numbers. They are a whole allocation, and so lie
// at a multiple of 8.
func int64s(rows []byte) []int64 {
	return unsafe.Slice((*int64)(unsafe.Pointer(unsafe.SliceData(rows))), len(rows)/8)
}
