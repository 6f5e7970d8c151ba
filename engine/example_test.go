package engine_test

import (
	"context"
	"errors"
	"fmt"
	"log"
	"os"
	"path/filepath"

	"github.com/aether-ooc/aether-ooc/engine"
	"github.com/aether-ooc/aether-ooc/internal/base"
	"github.com/aether-ooc/aether-ooc/layout"
)

// ring writes a graph of n nodes in a ring, node v-1 pointing to node v, as
// `aether-ooc build` would from an edge list.
func ring(n int) (path string, remove func()) {
	dir, err := os.MkdirTemp("", "engine-example")
	if err != nil {
		log.Fatal(err)
	}
	path = filepath.Join(dir, "graph.bin")
	file, err := os.Create(path)
	if err != nil {
		log.Fatal(err)
	}
	defer file.Close()
	w, err := layout.NewWriter(file, layout.WriterConfig{Nodes: uint64(n), InputEdges: uint64(n), EdgeIDs: layout.EdgeIDsCanonical})
	if err != nil {
		log.Fatal(err)
	}
	for v := range n {
		if err := w.List(base.NodeID(v), []base.NodeID{base.NodeID((v + n - 1) % n)}); err != nil {
			log.Fatal(err)
		}
	}
	if _, err := w.Finish(nil); err != nil {
		log.Fatal(err)
	}
	return path, func() { _ = os.RemoveAll(dir) }
}

func ExampleOpen() {
	path, remove := ring(1000)
	defer remove()

	e, err := engine.Open(path, engine.Options{Memory: 16 << 20, Lanes: 2})
	if err != nil {
		log.Fatal(err)
	}
	defer e.Close()
	i := e.Info()
	fmt.Printf("%d nodes, %d edges, %d lanes\n", i.Nodes, i.Edges, i.Lanes)
	// Output: 1000 nodes, 1000 edges, 2 lanes
}

// A budget that is too small is refused with the one that would do.
func ExampleOpen_budget() {
	path, remove := ring(1000)
	defer remove()

	_, err := engine.Open(path, engine.Options{Memory: 1 << 10, Lanes: 1})
	var b *engine.BudgetError
	fmt.Println(errors.Is(err, engine.ErrOverBudget), errors.As(err, &b))
	e, err := engine.Open(path, engine.Options{Memory: b.Least, Lanes: 1})
	fmt.Println(err)
	e.Close()
	// Output:
	// true true
	// <nil>
}

func ExampleEngine_Batches() {
	path, remove := ring(10)
	defer remove()
	e, err := engine.Open(path, engine.Options{Memory: 16 << 20})
	if err != nil {
		log.Fatal(err)
	}
	defer e.Close()

	r := engine.Request{Nodes: []engine.NodeID{0, 5, 9}, Fanouts: []int{1, 1}, BatchSize: 2, EdgeIDs: true}
	for b, err := range e.Batches(context.Background(), r) {
		if err != nil {
			log.Fatal(err)
		}
		fmt.Println("batch", b.Index, "seeds", b.NID[:b.Seeds], "nodes", b.NID, "edges", b.Row, b.Col, "ids", b.EID)
		b.Release()
	}
	// Output:
	// batch 0 seeds [0 5] nodes [0 5 9 4 8 3] edges [2 3 4 5] [0 1 2 3] ids [0 5 9 4]
	// batch 1 seeds [9] nodes [9 8 7] edges [1 2] [0 1] ids [9 8]
}

// Each rank of a training job asks for its own part of the same epoch.
func ExampleEngine_Batches_ranks() {
	path, remove := ring(100)
	defer remove()
	e, err := engine.Open(path, engine.Options{Memory: 16 << 20})
	if err != nil {
		log.Fatal(err)
	}
	defer e.Close()

	for rank := range 2 {
		r := engine.Request{Fanouts: []int{1}, BatchSize: 40, Rank: rank, WorldSize: 2}
		for b, err := range e.Batches(context.Background(), r) {
			if err != nil {
				log.Fatal(err)
			}
			fmt.Println("rank", rank, "batch", b.Index, "with", b.Seeds, "seeds from", b.InputID[0])
		}
	}
	// Output:
	// rank 0 batch 0 with 40 seeds from 0
	// rank 0 batch 2 with 20 seeds from 80
	// rank 1 batch 1 with 40 seeds from 40
	// rank 1 batch 0 with 40 seeds from 0
}

func ExampleEngine_Sample() {
	path, remove := ring(10)
	defer remove()
	e, err := engine.Open(path, engine.Options{Memory: 16 << 20})
	if err != nil {
		log.Fatal(err)
	}
	defer e.Close()

	b, err := e.Sample(context.Background(), []engine.NodeID{7, 2}, engine.Request{Fanouts: []int{-1}})
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(b.NID, b.SampledNodes, b.SampledEdges)
	// Output: [7 2 6 1] [2 2] [2]
}
