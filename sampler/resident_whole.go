package sampler

import (
	"fmt"
	"slices"

	"github.com/aether-ooc/aether-ooc/internal/base"
	"github.com/aether-ooc/aether-ooc/layout"
)

// whole is the form of the file itself: all blocks in its order, found through
// the index.
type whole struct {
	graph  *layout.Graph
	first  base.BlockNo
	blocks []byte
}

func newWhole(g *layout.Graph, memory []byte) *whole {
	adjacency, _ := g.Table.Find(layout.KindAdjacency, 0, 0)
	return &whole{g, adjacency.First, memory}
}

func (r *whole) block(no base.BlockNo) []byte {
	return r.blocks[int(no-r.first)*base.BlockSize:][:base.BlockSize]
}

func (r *whole) place(no base.BlockNo, n int, _ []byte) []byte {
	return r.blocks[int(no-r.first)*base.BlockSize:][:n*base.BlockSize]
}

// fill has nothing to do: the block lies where it is to stay.
func (r *whole) fill(base.BlockNo, layout.Block) error { return nil }

// look goes over the window three times: through the index, to the blocks' headers,
// and to the lists. What one pass loads does not wait for itself.
func (r *whole) look(nodes []int64, s *sheet) error {
	headers := uint64(0)
	for i, v := range nodes {
		s.spans[i] = r.graph.Index.Locate(base.NodeID(v))
		if s.spans[i].Where == layout.One {
			headers |= uint64(r.block(s.spans[i].First)[0])
		}
	}
	keep(headers)
	for i, v := range nodes {
		if err := r.find(base.NodeID(v), i, s); err != nil {
			return err
		}
	}
	return nil
}

// find notes the list of the window's i-th node.
func (r *whole) find(v base.NodeID, i int, s *sheet) (err error) {
	switch x, span := r.graph.Index, s.spans[i]; span.Where {
	case layout.One:
		if s.lists[i], err = r.list(span.First, v); err != nil {
			return err
		}
		s.first[i], s.degree[i] = uint64(x.FirstEdge(span.First))+uint64(s.lists[i].Pos()), uint64(s.lists[i].Len())
	case layout.Many:
		_, n := x.Ranks(span, span.First)
		s.first[i], s.degree[i] = uint64(x.FirstEdge(span.First+1))-n, span.Degree
	default:
		s.degree[i] = 0
	}
	return nil
}

func (r *whole) list(no base.BlockNo, v base.NodeID) (layout.List, error) {
	k, err := layout.ViewBlock(r.block(no))
	if err != nil {
		return layout.List{}, r.graph.Place(no, err)
	}
	return k.Find(v), nil
}

func (r *whole) take(nodes, drawn []int64, s *sheet) error {
	for i, v := range nodes {
		part := as[uint64](drawn[:s.picks[i]])
		drawn = drawn[len(part):]
		for j := range part {
			part[j] -= s.first[i]
		}
		if s.spans[i].Where == layout.Many {
			if err := r.takeMany(base.NodeID(v), s.spans[i], part); err != nil {
				return err
			}
		} else {
			s.lists[i].Take(part)
		}
		if len(part) > 0 && slices.Max(part) >= r.graph.Superblock.Nodes {
			return r.graph.Place(s.spans[i].First, foreign(r.graph.Superblock.Nodes, slices.Max(part)))
		}
	}
	return nil
}

// takeMany replaces ranks in a list that lies in several blocks.
func (r *whole) takeMany(v base.NodeID, span layout.Span, ranks []uint64) error {
	for len(ranks) > 0 {
		no := r.graph.Index.RankBlock(span, ranks[0])
		lo, hi := r.graph.Index.Ranks(span, no)
		list, err := r.list(no, v)
		if err != nil {
			return err
		}
		n := 0
		for ; n < len(ranks) && lo <= ranks[n] && ranks[n] < hi; n++ {
			if ranks[n] -= lo; ranks[n] >= uint64(list.Len()) {
				return r.graph.Place(no, unlisted(v, ranks[n], list.Len()))
			}
		}
		list.Take(ranks[:n])
		ranks = ranks[n:]
	}
	return nil
}

func unlisted(v base.NodeID, rank uint64, entries int) error {
	return &layout.CorruptError{Detail: fmt.Sprintf("the list of node %d is not what the index says", v),
		Want: fmt.Sprintf("entry %d", rank), Got: fmt.Sprintf("%d entries", entries)}
}

// foreign is the error of a neighbour beyond all nodes.
func foreign(nodes, v uint64) error {
	return &layout.CorruptError{Detail: "a neighbour is no node of the graph", Want: fmt.Sprintf("below %d", nodes), Got: fmt.Sprint(v)}
}
