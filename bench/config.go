package bench

import (
	"fmt"
	"os"

	"github.com/aether-ooc/aether-ooc/engine"
	"github.com/aether-ooc/aether-ooc/internal/npy"
)

// engineOptions are the settings of a workload that opens a graph.
func engineOptions(s *Settings) engine.Options {
	return engine.Options{
		Memory: s.int64("memory"), Lanes: s.int("lanes"), Depth: s.int("depth"), MergeAdjacent: s.int("merge"),
		Backend: s.text("io"), Policy: s.text("policy"), Buffered: s.on("buffered"), Features: s.text("features"), Lockstep: s.int("lockstep"),
	}
}

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
