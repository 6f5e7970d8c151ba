package layout

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/aether-ooc/aether-ooc/internal/base"
)

// benchFile is a graph whose lists all have one length, so that few of
// its blocks lie in a cache.
func benchFile(b *testing.B, e Encoding, degree int) (*memFile, *Graph, []base.NodeID) {
	const nodes, edges = 1 << 24, 1 << 21
	r, l := rand.New(rand.NewPCG(9, 10)), lists{}
	for range edges / degree {
		l[base.NodeID(r.Uint64N(nodes))] = randomList(r, nodes, degree)
	}
	f := write(b, WriterConfig{Nodes: nodes, InputEdges: l.edges(), EdgeIDs: EdgeIDsStored, Encoding: e}, l, nil, 1<<20)
	return f, open(b, f), l.nodes()
}

// Finding a list, and drawing ten entries of it, by length and encoding: from
// blocks all over the file, and again and again from the same one.
func BenchmarkDraw(b *testing.B) {
	for _, degree := range []int{4, 32, 300, 3000} {
		for _, e := range []Encoding{Plain, Compact} {
			f, g, vs := benchFile(b, e, degree)
			r := rand.New(rand.NewPCG(1, 2))
			order := make([]base.NodeID, 1<<16)
			for i := range order {
				order[i] = vs[r.IntN(len(vs))]
			}
			for _, stride := range []int{1, 0} {
				b.Run(fmt.Sprintf("%v/%d/%s", e, degree, [...]string{"hot", "cold"}[stride]), func(b *testing.B) {
					for i := range b.N {
						v := order[i*stride%len(order)]
						s := g.Index.Locate(v)
						k, _ := ViewBlock(f.block(s.First))
						draw(k.Find(v), uint64(i))
					}
				})
			}
		}
	}
}

// draw takes ten entries, or all.
func draw(l List, seed uint64) (sum uint64) {
	var ranks [10]uint64
	n := min(len(ranks), l.Len())
	for i := range n {
		seed = seed*6364136223846793005 + 1442695040888963407
		ranks[i] = seed >> 33 * uint64(l.Len()) >> 31
	}
	slices.Sort(ranks[:n])
	l.Take(ranks[:n])
	for _, x := range ranks[:n] {
		sum += x
	}
	return sum
}
