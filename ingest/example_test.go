//go:build linux

package ingest_test

import (
	"context"
	"fmt"
	"log"
	"os"
	"path/filepath"

	"github.com/aether-ooc/aether-ooc/ingest"
)

func Example() {
	dir, err := os.MkdirTemp("", "ingest")
	if err != nil {
		log.Fatal(err)
	}
	defer os.RemoveAll(dir)

	// An edge list to try it on: 1,024 nodes, 16,384 edges.
	edges := filepath.Join(dir, "edges.npy")
	if _, err := ingest.RMAT(context.Background(), ingest.RMATConfig{Scale: 10, EdgeFactor: 16, Seed: 1, Out: edges}); err != nil {
		log.Fatal(err)
	}
	res, err := ingest.Run(context.Background(), ingest.Config{Input: edges, Out: filepath.Join(dir, "graph.bin"), Memory: 1 << 30})
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(res.Nodes, res.Edges, res.EdgeIDs)
	// Output: 1024 16384 input
}
