package oracle

import (
	"cmp"
	"slices"

	"github.com/aether-ooc/aether-ooc/internal/base"
	"github.com/aether-ooc/aether-ooc/internal/rng"
)

// Edges is an edge list as a user gives it, and the options of the build.
type Edges struct {
	Nodes      int64   `json:"nodes"`
	Src        []int64 `json:"src"`
	Dst        []int64 `json:"dst"`
	Out        bool    `json:"out,omitempty"` // lists of out-neighbours, not of in-neighbours
	Undirected bool    `json:"undirected,omitempty"`
	Dedup      bool    `json:"dedup,omitempty"`
	DropLoops  bool    `json:"drop_loops,omitempty"`
	Stored     bool    `json:"stored,omitempty"` // e_id is the place in canonical order, not the row
}

// Batch is what a sampler must give.
type Batch struct {
	NID          []int64 `json:"n_id"`
	Row          []int64 `json:"row"`
	Col          []int64 `json:"col"`
	EID          []int64 `json:"e_id"`
	SampledNodes []int64 `json:"num_sampled_nodes"`
	SampledEdges []int64 `json:"num_sampled_edges"`
}

// Entry is one place of a list.
type Entry struct{ Node, Neighbour, ID int64 }

// Lists gives every node's entries in canonical order.
func (e Edges) Lists() [][]Entry {
	var all []Entry
	for row := range e.Src {
		at, nbr := e.Dst[row], e.Src[row]
		if e.Out {
			at, nbr = nbr, at
		}
		if at == nbr && e.DropLoops {
			continue
		}
		all = append(all, Entry{at, nbr, int64(row)})
		if e.Undirected && at != nbr {
			all = append(all, Entry{nbr, at, int64(row)})
		}
	}
	slices.SortFunc(all, func(a, b Entry) int {
		return cmp.Or(cmp.Compare(a.Node, b.Node), cmp.Compare(a.Neighbour, b.Neighbour), cmp.Compare(a.ID, b.ID))
	})
	if e.Dedup {
		all = slices.CompactFunc(all, func(a, b Entry) bool { return a.Node == b.Node && a.Neighbour == b.Neighbour })
	}
	lists := make([][]Entry, e.Nodes)
	for i, x := range all {
		if e.Stored {
			x.ID = int64(i)
		}
		lists[x.Node] = append(lists[x.Node], x)
	}
	return lists
}

// Sample is the batch of the seeds, drawn from the lists with the batch's key.
func Sample(lists [][]Entry, key rng.Key, seeds []base.NodeID, fanouts []int, replace bool) Batch {
	b := Batch{NID: []int64{}, Row: []int64{}, Col: []int64{}, EID: []int64{}, SampledNodes: []int64{int64(len(seeds))}, SampledEdges: []int64{}}
	local, times := map[int64]int64{}, map[int64]uint32{} // a node's place in n_id; how often it was a seed
	meet := func(v int64) int64 {
		if _, met := local[v]; !met {
			local[v] = int64(len(b.NID))
			b.NID = append(b.NID, v)
		}
		return local[v]
	}
	copies := make([]uint32, len(seeds))
	for i, v := range seeds {
		if copies[i] = times[int64(v)]; copies[i] > 0 {
			b.NID = append(b.NID, int64(v)) // a repeated seed keeps its place
		}
		meet(int64(v))
		times[int64(v)]++
	}
	frontier := 0
	for hop, fanout := range fanouts {
		nodes, edges := len(b.NID), len(b.Row)
		for target := frontier; target < nodes; target++ {
			v, which := b.NID[target], uint32(0)
			if hop == 0 {
				which = copies[target]
			}
			stream := rng.NewStream(key, hop, base.NodeID(v), which)
			for _, rank := range draw(&stream, fanout, len(lists[v]), replace) {
				x := lists[v][rank]
				b.Row, b.Col, b.EID = append(b.Row, meet(x.Neighbour)), append(b.Col, int64(target)), append(b.EID, x.ID)
			}
		}
		frontier = nodes
		b.SampledNodes = append(b.SampledNodes, int64(len(b.NID)-nodes))
		b.SampledEdges = append(b.SampledEdges, int64(len(b.Row)-edges))
	}
	return b
}

func draw(s *rng.Stream, fanout, degree int, replace bool) []uint64 {
	switch {
	case fanout < 0:
		return s.Distinct(nil, uint64(degree), uint64(degree))
	case replace:
		return s.WithRepeats(nil, uint64(fanout), uint64(degree))
	}
	return s.Distinct(nil, uint64(fanout), uint64(degree))
}
