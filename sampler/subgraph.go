package sampler

// Subgraph is one sampled mini-batch. NID holds the seeds first, then the other
// nodes in the order in which they were met. Row and Col hold each edge's source
// (the neighbour) and target as places in NID; Col does not decrease. EID is the
// edges' ids, nil unless they were asked for. SampledNodes counts the nodes new
// in each hop, the seeds first; SampledEdges counts each hop's edges. After an
// error the contents mean nothing.
type Subgraph struct {
	NID, Row, Col, EID         []int64
	SampledNodes, SampledEdges []int64
	Seeds                      int
}

// MemoryBytes is what the slices hold, used or not.
func (g *Subgraph) MemoryBytes() int64 {
	return 8 * int64(cap(g.NID)+cap(g.Row)+cap(g.Col)+cap(g.EID)+cap(g.SampledNodes)+cap(g.SampledEdges))
}

// reset empties the subgraph and keeps its memory.
func (g *Subgraph) reset(seeds int, edgeIDs bool) {
	*g = Subgraph{
		NID: g.NID[:0], Row: g.Row[:0], Col: g.Col[:0], EID: g.EID[:0],
		SampledNodes: append(g.SampledNodes[:0], int64(seeds)), SampledEdges: g.SampledEdges[:0],
		Seeds: seeds,
	}
	switch {
	case !edgeIDs:
		g.EID = nil
	case g.EID == nil:
		g.EID = []int64{}
	}
}
