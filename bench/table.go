package bench

import (
	"slices"

	"github.com/aether-ooc/aether-ooc/blockcache"
	"github.com/aether-ooc/aether-ooc/uring"
)

// Groups of workloads that share options.
var (
	onlyDevice = []string{"device"}
	onlySample = []string{"sample"}
	ofEngine   = []string{"sample"} // those that open a graph
	ofBatches  = []string{"sample"} // those that make batches
)

var backends = append([]string{"auto"}, uring.Backends()...)

// table is every option there is. Rows of the same name are of different
// workloads.
var table = []Option{
	{Name: "target", Alias: []string{"filename", "file"}, Kind: kindText, Help: "what is measured, the argument of the command"},
	{Name: "repeat", Kind: kindInt, Min: 1, Default: "1", Help: "runs of each section; sections take turns"},
	{Name: "randseed", Alias: []string{"seed"}, Kind: kindUint, Default: "1", Help: "seed of all that is random"},
	{Name: "status-interval", Kind: kindDuration, Auto: "never", Help: "how often to say on standard error how it goes"},

	{Name: "runtime", Kind: kindDuration, Min: 1, Default: "5s", Help: "time to measure", For: onlyDevice},
	{Name: "ramp", Alias: []string{"ramp-time"}, Kind: kindDuration, Default: "500ms", Help: "time to read before measuring", For: onlyDevice},
	{Name: "block-size", Short: "b", Alias: []string{"bs", "blocksize"}, Kind: kindBytes, Min: 512, Default: "4KiB", Help: "bytes of a read, a multiple of 512", For: onlyDevice},
	{Name: "mix", Alias: []string{"bssplit"}, Kind: kindMix, Help: "sizes of reads and how many of them have each, in place of block-size", For: onlyDevice},
	{Name: "pattern", Alias: []string{"rw", "readwrite"}, Kind: kindText, Default: "random", Choices: []string{"random|randread", "sequential|read"}, Help: "where to read", For: onlyDevice},
	{Name: "buffers", Kind: kindText, Default: "fixed", Choices: []string{"fixed", "plain"}, Help: "register the buffers with the kernel, where it allows, or not", For: onlyDevice},
	{Name: "depth", Alias: []string{"iodepth"}, Kind: kindInt, Min: 1, Default: "128", Help: "reads in flight of each lane", For: onlyDevice},
	{Name: "sweep", Kind: kindBool, Help: "measure every size at every depth, each for the runtime", For: onlyDevice},
	{Name: "sweep-sizes", Kind: kindSizes, Default: "4k,8k,16k,32k,64k,256k", Help: "bytes of the reads of a sweep", For: onlyDevice},
	{Name: "sweep-depths", Kind: kindCounts, Default: "1,4,16,32,64,128,256", Help: "depths of a sweep", For: onlyDevice},
	{Name: "profile", Kind: kindText, Help: "file to write a sweep's device profile to: what a read of each size costs", For: onlyDevice},
	{Name: "lanes", Alias: []string{"numjobs"}, Kind: kindInt, Min: 1, Default: "1", Help: "threads, each with a ring of its own", For: onlyDevice},

	{Name: "batches", Kind: kindInt, Min: 1, Default: "100", Help: "batches to measure; at least one batch", For: ofBatches},
	{Name: "runtime", Kind: kindDuration, Auto: "until all batches are made", Help: "time after which no more is measured", For: ofBatches},
	{Name: "ramp", Alias: []string{"ramp-time"}, Kind: kindInt, Default: "16", Help: "batches to make before measuring", For: ofBatches},
	{Name: "fanouts", Kind: kindFanouts, Default: "25,10", Help: "neighbours to draw at each hop; -1 takes all", For: ofBatches},
	{Name: "batch-size", Kind: kindInt, Min: 1, Default: "1024", Help: "seeds of a batch", For: ofBatches},
	{Name: "input-nodes", Kind: kindText, Default: "all", Help: "seeds of the epoch: all, or a .npy of node ids or a mask", For: ofBatches},
	{Name: "in-order", Kind: kindBool, Help: "take the seeds in order, not shuffled", For: ofBatches},
	{Name: "replace", Kind: kindBool, Help: "draw with replacement", For: ofBatches},
	{Name: "edge-ids", Kind: kindBool, Default: "true", Help: "give the edges' ids, which costs reads where they are stored apart", For: ofBatches},
	{Name: "with-features", Kind: kindBool, Help: "fetch the feature rows too", For: ofBatches},
	{Name: "epoch", Kind: kindUint, Default: "0", Help: "epoch; each has draws of its own", For: ofBatches},
	{Name: "drop-last", Kind: kindBool, Help: "leave out a last batch that is short", For: ofBatches},
	{Name: "preload", Kind: kindBool, Help: "bring the adjacency into the cache first", For: onlySample},

	{Name: "calibrate", Kind: kindDuration, Default: "500ms", Help: "time to ask the device afterwards what it gives to such reads; 0: do not", For: onlySample},

	{Name: "memory", Short: "m", Kind: kindBytes, Auto: "a quarter of what the machine or cgroup allows", Help: "budget for index, cache, buffers and batches in flight", For: ofEngine},
	{Name: "features", Kind: kindText, Help: "feature rows, a .npy of shape (N, D), in place of those given to build", For: ofEngine},
	{Name: "lanes", Alias: []string{"numjobs"}, Kind: kindInt, Auto: "one per CPU", Help: "batches made at once, each on a thread with a ring of its own", For: ofEngine},
	{Name: "depth", Alias: []string{"iodepth"}, Kind: kindInt, Auto: "128", Help: "reads in flight of each lane", For: ofEngine},
	{Name: "merge", Kind: kindInt, Auto: "the cache's", Help: "most consecutive missing blocks that become one read; 1 reads block by block", For: ofEngine},
	{Name: "policy", Kind: kindText, Auto: blockcache.PolicyRistretto, Choices: blockcache.Policies(), Help: "what the cache keeps", For: ofEngine},

	{Name: "io", Alias: []string{"ioengine"}, Kind: kindText, Default: "auto", Choices: choicesOfIO(), Help: "how to read", For: slices.Concat(onlyDevice, ofEngine)},
	{Name: "buffered", Kind: kindBool, Help: "read through the page cache, whose memory is in no budget", For: slices.Concat(onlyDevice, ofEngine)},
	{Name: "page-cache", Kind: kindText, Default: "drop", Choices: []string{"drop", "keep"}, Help: "what to do before each buffered run with the pages of the target", For: slices.Concat(onlyDevice, ofEngine)},
}

// choicesOfIO are the backends, with fio's words for two of them.
func choicesOfIO() []string {
	words := slices.Clone(backends)
	for i, w := range words {
		switch w {
		case "uring":
			words[i] = "uring|io_uring"
		case "pread":
			words[i] = "pread|psync"
		}
	}
	return words
}
