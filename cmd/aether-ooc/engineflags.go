package main

import (
	"fmt"
	"os"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/aether-ooc/aether-ooc/engine"
	"github.com/aether-ooc/aether-ooc/features"
	"github.com/aether-ooc/aether-ooc/internal/npy"
)

// engineFlags binds what an engine needs to know.
type engineFlags struct {
	opt    engine.Options
	memory byteSize
	dtype  string
}

func (e *engineFlags) bind(f *pflag.FlagSet) {
	memoryFlag(f, &e.memory, engineMemoryHelp)
	f.StringVar(&e.opt.Features, "features", "", "feature rows, a .npy of shape (N, D), in place of those given to build")
	f.StringVar(&e.dtype, "dtype", "", dtypeHelp)
	f.IntVar(&e.opt.Lanes, "lanes", 0, "batches made at once, each on a thread with a ring of its own (default one per CPU)")
	f.IntVar(&e.opt.Lockstep, "lockstep", 0, "batches of a request that each lane makes together at most, to read a block once for all; 1 makes each by itself (default 32)")
	f.IntVar(&e.opt.Depth, "depth", 0, "reads in flight of each lane (default 256)")
	f.IntVar(&e.opt.Merge, "merge", 0, "most blocks of one read, which may bring blocks between missing ones too; 1 reads block by block (default as many as pays)")
	f.StringVar(&e.opt.Backend, "io", "auto", "how to read: auto, uring or pread")
	f.StringVar(&e.opt.Policy, "policy", "", "what the cache keeps: lfu, ristretto or clock (default lfu)")
	f.StringVar(&e.opt.Resident, "resident", engine.ResidentAuto, "auto brings the whole adjacency into memory where the budget has room for it; off keeps to cached blocks")
	f.BoolVar(&e.opt.Buffered, "buffered", false, "read through the page cache, whose memory is not in the budget")
}

// options gives the engine's options.
func (e *engineFlags) options(c *cobra.Command) (engine.Options, error) {
	o := e.opt
	o.Memory, o.Log = int64(e.memory), newLogger(c)
	if e.dtype == "" {
		return o, nil
	}
	if o.Features == "" {
		return o, usagef("--dtype says what the words of --features are: name the file too")
	}
	var err error
	o.FeaturesDType, err = choose("--dtype", e.dtype, map[string]string{"bf16": features.BFloat16})
	return o, err
}

// requestFlags binds what a sampling request needs to know.
type requestFlags struct {
	req     engine.Request
	fanouts fanouts
	nodes   string
	own     bool  // nodes are original ids
	mask    int64 // nodes that the mask of --input-nodes speaks of; -1: it is no mask
}

func (r *requestFlags) bind(f *pflag.FlagSet) {
	r.fanouts = fanouts{25, 10}
	f.Var(&r.fanouts, "fanouts", "neighbours to draw at each hop; -1 takes all")
	f.IntVar(&r.req.BatchSize, "batch-size", 1024, "seeds of a batch")
	f.StringVar(&r.nodes, "input-nodes", "all", "seeds of the epoch: all, or a .npy of node ids or a mask")
	f.BoolVar(&r.own, "original-input", false, "--input-nodes holds the ids that nodes had before build --relabel")
	f.BoolVar(&r.req.OriginalIDs, "original-ids", false, "give the ids that nodes had before build --relabel (n_id_original), which costs reads")
	f.BoolVar(&r.req.Replace, "replace", false, "draw with replacement")
	f.BoolVar(&r.req.EdgeIDs, "edge-ids", true, "give the edges' ids, which costs reads where they are stored apart")
	f.Uint64Var(&r.req.Seed, "seed", 0, "seed of all draws")
	f.Uint64Var(&r.req.Epoch, "epoch", 0, "epoch; each has draws of its own")
	f.BoolVar(&r.req.DropLast, "drop-last", false, "leave out a last batch that is short")
}

// request reads the seeds and gives the request.
func (r *requestFlags) request() (engine.Request, error) {
	req := r.req
	req.Fanouts, r.mask = r.fanouts, -1
	if r.nodes == "all" {
		return req, nil
	}
	list, err := readNodes(r.nodes)
	if err != nil {
		return req, fmt.Errorf("--input-nodes: %w", err)
	}
	req.Nodes = list.IDs
	if list.Mask && r.own {
		return req, usagef("--original-input: %s is a mask, which speaks of the graph's own ids: give a list", r.nodes)
	}
	if list.Mask {
		r.mask = list.Len
		for _, v := range list.IDs {
			req.InputIDs = append(req.InputIDs, int64(v))
		}
	}
	return req, nil
}

func readNodes(path string) (npy.NodeList, error) {
	f, err := os.Open(path)
	if err != nil {
		return npy.NodeList{}, err
	}
	defer f.Close()
	list, err := npy.ReadNodes(f)
	if err != nil {
		return list, usagef("%s: %w", path, err)
	}
	return list, nil
}

// resolve puts the graph's ids in the place of original ones.
func (r *requestFlags) resolve(c *cobra.Command, e *engine.Engine, req *engine.Request) (err error) {
	if !r.own || req.Nodes == nil {
		return nil
	}
	originals := make([]int64, len(req.Nodes))
	for i, id := range req.Nodes {
		originals[i] = int64(id)
	}
	req.Nodes, err = e.Lookup(c.Context(), originals)
	return err
}

// fits refuses a mask over other nodes than the graph's.
func (r *requestFlags) fits(i engine.Info) error {
	if r.mask < 0 || uint64(r.mask) == i.Nodes {
		return nil
	}
	return usagef("--input-nodes: %s is a mask over %d nodes, the graph has %d: give one value per node, or the list of ids", r.nodes, r.mask, i.Nodes)
}
