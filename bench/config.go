package bench

import (
	"fmt"
	"io"
	"os"

	"github.com/aether-ooc/aether-ooc/engine"
	"github.com/aether-ooc/aether-ooc/internal/base"
	"github.com/aether-ooc/aether-ooc/internal/npy"
	"github.com/aether-ooc/aether-ooc/layout"
)

// engineOptions are the settings of a workload that opens a graph.
func engineOptions(s *Settings) (engine.Options, error) {
	o := cacheOptions(s)
	var err error
	o.Features, o.Lockstep, o.Resident = s.text("features"), s.int("lockstep"), s.text("resident")
	o.Memory, err = value[budget](s, "memory").of(s.text("target"))
	return o, err
}

// cacheOptions are the settings of all that reads through a cache.
func cacheOptions(s *Settings) engine.Options {
	return engine.Options{
		Lanes: s.int("lanes"), Depth: s.int("depth"), Merge: s.int("merge"),
		Backend: s.text("io"), Policy: s.text("policy"), Buffered: s.on("buffered"),
	}
}

// of gives the budget in bytes. A share is one of what the graph's edges would
// take as plain 32-bit ids, which does not change with the encoding.
func (b budget) of(graph string) (int64, error) {
	if b.share == 0 {
		return b.bytes, nil
	}
	f, err := os.Open(graph)
	if err != nil {
		return 0, fmt.Errorf("bench: %w", err)
	}
	defer f.Close()
	head := make([]byte, base.BlockSize)
	if _, err := io.ReadFull(f, head); err != nil {
		return 0, fmt.Errorf("bench: %s is no graph file: %w", graph, err)
	}
	super, err := layout.DecodeSuperblock(head)
	if err != nil {
		return 0, fmt.Errorf("bench: %s: %w", graph, err)
	}
	return int64(b.share * plainBytes(super.Edges)), nil
}

// plainBytes is what an adjacency takes as plain 32-bit ids.
func plainBytes(edges uint64) float64 { return 4 * float64(edges) }

// engineRequest are the settings of a workload that makes batches, and what to
// ask of the graph once it is open.
func engineRequest(s *Settings) (engine.Request, func(engine.Info) error, error) {
	r := engine.Request{
		Fanouts: value[[]int](s, "fanouts"), BatchSize: s.int("batch-size"), Replace: s.on("replace"), EdgeIDs: s.on("edge-ids"),
		Features: s.on("with-features"), Seed: s.uint64("randseed"), Epoch: s.uint64("epoch"), Shuffle: !s.on("in-order"), DropLast: s.on("drop-last"),
	}
	path := s.text("input-nodes")
	if path == "all" {
		return r, anyGraph, nil
	}
	f, err := os.Open(path)
	if err != nil {
		return r, nil, fmt.Errorf("bench: input-nodes: %w", err)
	}
	defer f.Close()
	list, err := npy.ReadNodes(f)
	if err != nil {
		return r, nil, optionf("input-nodes %s: %w", path, err)
	}
	r.Nodes = list.IDs
	return r, func(i engine.Info) error { return maskFits(path, list, i) }, nil
}

func anyGraph(engine.Info) error { return nil }

// maskFits refuses a mask over other nodes than the graph's.
func maskFits(path string, list npy.NodeList, i engine.Info) error {
	if !list.Mask || uint64(list.Len) == i.Nodes {
		return nil
	}
	return optionf("input-nodes: %s is a mask over %d nodes, the graph has %d: give one value per node, or the list of ids", path, list.Len, i.Nodes)
}

// preparePages brings the page cache into the state that a run asks for. What
// reads past it can do without.
func preparePages(s *Settings) {
	_, err := s.option("buffered")
	through := err != nil || s.on("buffered")
	if through && s.text("page-cache") == "drop" {
		dropPages(s.text("target"))
	}
}
