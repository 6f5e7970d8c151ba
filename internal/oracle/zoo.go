package oracle

import (
	"math/bits"
	"math/rand/v2"
)

// Animal is a named graph of the zoo.
type Animal struct {
	Name string
	Edges
}

// Zoo gives the graphs that samplers get wrong. The same call gives the same
// graphs.
func Zoo() []Animal {
	r := rand.New(rand.NewPCG(1, 2))
	rmat := RMAT(r, 9, 8)
	with := func(set func(*Edges)) Edges {
		e := rmat
		set(&e)
		return e
	}
	return []Animal{
		{"empty", Edges{}},
		{"one node", Edges{Nodes: 1}},
		{"one loop", Edges{Nodes: 1, Src: []int64{0}, Dst: []int64{0}}},
		{"isolated", Edges{Nodes: 5000}},
		{"path", path(300)},
		{"star in", star(2000, true)},
		{"star out", star(2000, false)},
		{"parallel", parallel(r)},
		{"loops", loops(r)},
		{"hub", hub(r)},
		{"long lists", longLists(r)},
		{"rmat", rmat},
		{"rmat out", with(func(e *Edges) { e.Out = true })},
		{"rmat undirected", with(func(e *Edges) { e.Undirected = true })},
		{"rmat undirected dedup", with(func(e *Edges) { e.Undirected, e.Dedup = true, true })},
		{"rmat dedup no loops", with(func(e *Edges) { e.Dedup, e.DropLoops = true, true })},
		{"rmat stored ids", with(func(e *Edges) { e.Stored = true })},
	}
}

// RMAT is 2^scale nodes and factor edges for each, with the usual a, b, c, d =
// 0.57, 0.19, 0.19, 0.05. Loops and parallel edges stay.
func RMAT(r *rand.Rand, scale int, factor int64) Edges {
	e := Edges{Nodes: 1 << scale}
	for range factor << scale {
		var src, dst int64
		for range scale {
			quarter := r.IntN(100)
			src, dst = src<<1, dst<<1
			switch {
			case quarter < 57:
			case quarter < 76:
				dst |= 1
			case quarter < 95:
				src |= 1
			default:
				src, dst = src|1, dst|1
			}
		}
		e.add(scramble(src, scale), scramble(dst, scale))
	}
	return e
}

// scramble permutes the ids below 2^scale, so that hubs do not sit together.
func scramble(v int64, scale int) int64 {
	odd := uint64(0x9e3779b97f4a7c15)
	return int64(bits.Reverse64(uint64(v)*odd) >> (64 - scale))
}

func (e *Edges) add(src, dst int64) {
	e.Src, e.Dst = append(e.Src, src), append(e.Dst, dst)
}

func path(n int64) Edges {
	e := Edges{Nodes: n}
	for v := range n - 1 {
		e.add(v, v+1)
	}
	return e
}

// star joins node 0 with all others: it is every edge's target, or its source.
func star(n int64, in bool) Edges {
	e := Edges{Nodes: n}
	for v := int64(1); v < n; v++ {
		if in {
			e.add(v, 0)
		} else {
			e.add(0, v)
		}
	}
	return e
}

// parallel repeats few edges often, in mixed order.
func parallel(r *rand.Rand) Edges {
	e := Edges{Nodes: 6}
	for range 500 {
		e.add(r.Int64N(3), 3+r.Int64N(3))
	}
	return e
}

func loops(r *rand.Rand) Edges {
	e := Edges{Nodes: 40}
	for range 400 {
		v := r.Int64N(40)
		e.add(v, v)
		e.add(r.Int64N(40), v)
	}
	return e
}

// hub gives one node a list over hundreds of blocks, with short lists before
// and after it and parallel edges in it.
func hub(r *rand.Rand) Edges {
	const nodes, at, degree = 70_000, 31_234, 300_000
	e := Edges{Nodes: nodes}
	for range degree {
		e.add(r.Int64N(nodes), at)
	}
	for range 60_000 {
		e.add(r.Int64N(nodes), r.Int64N(nodes))
	}
	for range 2_000 {
		e.add(at, r.Int64N(nodes)) // so that later hops meet the hub
	}
	return e
}

// longLists has lists of about one block each, so that most lie in two.
func longLists(r *rand.Rand) Edges {
	const nodes = 60
	e := Edges{Nodes: 100_000}
	for v := range int64(nodes) {
		for range 500 + r.Int64N(1500) {
			e.add(r.Int64N(2*nodes)*r.Int64N(2), v)
		}
	}
	e.add(e.Nodes-1, 0)
	return e
}
