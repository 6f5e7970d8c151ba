package bench

import (
	"maps"
	"slices"

	"github.com/aether-ooc/aether-ooc/blockcache"
	"github.com/aether-ooc/aether-ooc/engine"
	"github.com/aether-ooc/aether-ooc/uring"
)

// Groups of workloads that share options.
var (
	onlyDevice   = []string{"device"}
	onlyFio      = []string{"fio"}
	ofReads      = []string{"device", "fio"} // those that only read
	onlySample   = []string{"sample"}
	onlyFeatures = []string{"features"}
	onlyServe    = []string{"serve"}
	onlyBuild    = []string{"build"}
	ofBatches    = []string{"sample", "serve", "cache"}                                // those that make batches
	ofOurs       = []string{"device", "sample", "features", "cache", "serve", "build"} // those that this program does itself
	ofEngine     = ofBatches                                                           // those that open a graph for it
	ofCache      = []string{"sample", "features", "serve", "cache"}                    // those that read through a cache
)

var backends = append([]string{"auto"}, uring.Backends()...)

// table is every option there is. Rows of the same name are of different
// workloads.
var table = []Option{
	{Name: "target", Alias: []string{"filename", "file"}, Kind: kindText, Help: "what is measured, the argument of the command"},
	{Name: "repeat", Kind: kindInt, Min: 1, Default: "1", Help: "runs of each section; sections take turns"},
	{Name: "randseed", Alias: []string{"seed"}, Kind: kindUint, Default: "0", Help: "seed of all that is random"},
	{Name: "status-interval", Kind: kindDuration, Auto: "never", Help: "how often to say on standard error how it goes", For: ofOurs},
	{Name: "against", Kind: kindText, Jobs: true, Help: "another section of the job, to which the ratio is given: of medians, and of each repetition"},
	{Name: "figure", Kind: kindText, Jobs: true, Auto: "the foremost of each", Help: "what against divides, by its name in the summary; by the foremost of a section that has none of that name"},

	{Name: "runtime", Kind: kindDuration, Min: 1, Default: "5s", Help: "time to measure", For: ofReads},
	{Name: "ramp", Alias: []string{"ramp-time"}, Kind: kindDuration, Default: "500ms", Help: "time to read before measuring", For: ofReads},
	{Name: "block-size", Short: "b", Alias: []string{"bs", "blocksize"}, Kind: kindBytes, Min: 512, Default: "4KiB", Help: "bytes of a read, a multiple of 512", For: ofReads},
	{Name: "mix", Alias: []string{"bssplit"}, Kind: kindMix, Help: "sizes of reads and how many of them have each, in place of block-size", For: ofReads},
	{Name: "pattern", Alias: []string{"rw", "readwrite"}, Kind: kindText, Default: "random", Choices: []string{"random|randread", "sequential|read"}, Help: "where to read", For: ofReads},
	{Name: "buffers", Kind: kindText, Default: "fixed", Choices: []string{"fixed", "plain"}, Help: "register the buffers with the kernel, where it allows, or not", For: onlyDevice},
	{Name: "buffers", Kind: kindText, Default: "plain", Choices: []string{"fixed", "plain"}, Help: "let fio register its buffers, or not", For: onlyFio},
	{Name: "depth", Alias: []string{"iodepth"}, Kind: kindInt, Min: 1, Default: "128", Help: "reads in flight of each lane", For: ofReads},
	{Name: "sweep", Kind: kindBool, Help: "measure every size at every depth, each for the runtime", For: onlyDevice},
	{Name: "sweep-sizes", Kind: kindSizes, Default: "4k,8k,16k,32k,64k,256k", Help: "bytes of the reads of a sweep", For: onlyDevice},
	{Name: "sweep-depths", Kind: kindCounts, Default: "1,4,16,32,64,128,256", Help: "depths of a sweep", For: onlyDevice},
	{Name: "profile", Kind: kindText, Help: "file to write a sweep's device profile to: what a read of each size costs", For: onlyDevice},
	{Name: "lanes", Alias: []string{"numjobs"}, Kind: kindInt, Min: 1, Default: "1", Help: "threads, each with a ring of its own", For: ofReads},

	{Name: "batches", Kind: kindInt, Min: 1, Default: "100", Help: "batches to measure; at least one batch", For: ofCache},
	{Name: "runtime", Kind: kindDuration, Auto: "until all batches are made", Help: "time after which no more is measured", For: ofCache},
	{Name: "ramp", Alias: []string{"ramp-time"}, Kind: kindInt, Default: "16", Help: "batches to make before measuring", For: ofCache},
	{Name: "fanouts", Kind: kindFanouts, Default: "25,10", Help: "neighbours to draw at each hop; -1 takes all", For: ofCache},
	{Name: "batch-size", Kind: kindInt, Min: 1, Default: "1024", Help: "seeds of a batch", For: ofCache},
	{Name: "input-nodes", Kind: kindText, Default: "all", Help: "seeds of the epoch: all, or a .npy of node ids or a mask", For: ofBatches},
	{Name: "in-order", Kind: kindBool, Help: "take the seeds in order, not shuffled", For: ofBatches},
	{Name: "replace", Kind: kindBool, Help: "draw with replacement", For: ofBatches},
	{Name: "edge-ids", Kind: kindBool, Default: "true", Help: "give the edges' ids, which costs reads where they are stored apart", For: ofBatches},
	{Name: "with-features", Kind: kindBool, Help: "fetch the feature rows too", For: ofBatches},
	{Name: "epoch", Kind: kindUint, Default: "0", Help: "epoch; each has draws of its own", For: ofBatches},
	{Name: "drop-last", Kind: kindBool, Help: "leave out a last batch that is short", For: ofBatches},
	{Name: "resident", Kind: kindText, Default: engine.ResidentAuto, Choices: []string{engine.ResidentAuto, engine.ResidentOff}, Help: "whether the whole adjacency may be decoded into memory, where the budget has room", For: ofEngine},
	{Name: "preload", Kind: kindBool, Help: "bring the adjacency into the cache first", For: onlySample},

	{Name: "calibrate", Kind: kindDuration, Default: "500ms", Help: "time to ask the device afterwards what it gives to such reads; 0: do not", For: onlySample},

	{Name: "ids", Kind: kindText, Default: "uniform", Choices: []string{"uniform", "zipf", "batches"}, Help: "which rows, any alike, few of them often, or the nodes of a graph's batches", For: onlyFeatures},
	{Name: "zipf", Kind: kindFloat, Default: "1.1", Help: "exponent of zipf: the k-th most wanted row is wanted k^-x as often as the first", For: onlyFeatures},
	{Name: "gather", Kind: kindInt, Min: 1, Default: "100000", Help: "rows of a gather, which is what counts as a batch; those of ids=batches have their own size", For: onlyFeatures},
	{Name: "graph", Kind: kindText, Help: "the graph whose batches ids=batches takes", For: onlyFeatures},
	{Name: "rows", Kind: kindInt, Auto: "the file must be there", Help: "make the file, where it is not there, of so many rows", For: onlyFeatures},
	{Name: "dim", Kind: kindInt, Min: 1, Default: "128", Help: "values of a row of a file that is made", For: onlyFeatures},
	{Name: "dtype", Kind: kindText, Default: "float32", Choices: slices.Sorted(maps.Keys(layoutSizes)), Help: "their type", For: onlyFeatures},

	{Name: "memory", Short: "m", Kind: kindBudget, Auto: "a quarter of what the machine or cgroup allows", Help: "budget for index, cache, buffers and batches in flight", For: ofEngine},
	{Name: "memory", Short: "m", Kind: kindBytes, Auto: "a quarter of what the machine or cgroup allows", Help: "budget for the cache", For: onlyFeatures},
	{Name: "features", Kind: kindText, Help: "feature rows, a .npy of shape (N, D), in place of those given to build", For: ofEngine},
	{Name: "lanes", Alias: []string{"numjobs"}, Kind: kindInt, Auto: "one per CPU", Help: "batches made at once, each on a thread with a ring of its own", For: ofCache},
	{Name: "lockstep", Kind: kindInt, Auto: "the engine's", Help: "batches that each lane makes together at most, to read a block once for all; 1 makes each by itself", For: ofEngine},
	{Name: "depth", Alias: []string{"iodepth"}, Kind: kindInt, Auto: "256", Help: "reads in flight of each lane", For: ofCache},
	{Name: "merge", Kind: kindInt, Auto: "as many as pays", Help: "most blocks of one read, which may bring blocks between missing ones too; 1 reads block by block", For: ofCache},
	{Name: "policy", Kind: kindText, Auto: blockcache.DefaultPolicy, Choices: blockcache.Policies(), Help: "what the cache keeps", For: ofCache},

	{Name: "clients", Kind: kindInt, Min: 1, Default: "1", Help: "clients that take batches", For: onlyServe},

	{Name: "memory", Short: "m", Kind: kindBytes, Auto: "half of what the machine or cgroup allows", Help: "most memory to use", For: onlyBuild},
	{Name: "workers", Kind: kindInt, Auto: "one per CPU", Help: "threads", For: onlyBuild},
	{Name: "undirected", Kind: kindBool, Help: "add the reverse of every edge", For: onlyBuild},
	{Name: "dir", Kind: kindText, Auto: "beside the edge list", Help: "folder to build in, which must be on the device that is meant; all is removed again", For: onlyBuild},

	{Name: "io", Alias: []string{"ioengine"}, Kind: kindText, Default: "auto", Choices: choicesOfIO(), Help: "how to read", For: slices.Concat(ofReads, ofCache)},
	{Name: "buffered", Kind: kindBool, Help: "read through the page cache, whose memory is in no budget", For: slices.Concat(ofReads, ofCache)},
	{Name: "page-cache", Kind: kindText, Default: "drop", Choices: []string{"drop", "keep"}, Help: "what to do with the pages of the target before each build and each buffered run", For: slices.Concat(ofReads, ofCache, onlyBuild)},
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
