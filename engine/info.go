package engine

import (
	"github.com/aether-ooc/aether-ooc/blockcache"
	"github.com/aether-ooc/aether-ooc/internal/report"
	"github.com/aether-ooc/aether-ooc/internal/rng"
	"github.com/aether-ooc/aether-ooc/layout"
	"github.com/aether-ooc/aether-ooc/uring"
)

// Info says what is open and how. It does not change while the engine is open,
// but for Direct, which a filesystem may take back at the first read.
type Info struct {
	Path        string      `json:"path"`
	Bytes       int64       `json:"file_bytes"`
	Nodes       uint64      `json:"nodes"`
	Edges       uint64      `json:"edges"`
	Blocks      uint64      `json:"adjacency_blocks"`
	Direction   string      `json:"direction"`
	Undirected  bool        `json:"undirected"`
	EdgeIDs     string      `json:"edge_ids"`     // "input", "canonical" or "stored", see layout.EdgeIDMode
	Original    string      `json:"original_ids"` // "none", "ids" or "names": what is kept of the nodes' own, see layout.Original
	Fingerprint string      `json:"fingerprint"`  // 32 hexadecimal digits
	ContentID   string      `json:"content_id"`   //
	Features    *TableInfo  `json:"features"`     // nil: the graph has none
	Attrs       []TableInfo `json:"node_attrs"`   // by name
	Generator   string      `json:"generator"`    // of every draw, with its version: "philox4x32-10/1"
	Backend     string      `json:"backend"`      // "uring" or "pread": what is in use
	Direct      bool        `json:"direct"`       // reads of the graph go past the page cache
	Policy      string      `json:"cache_policy"` //
	Lanes       int         `json:"lanes"`        //
	Depth       int         `json:"depth"`        // reads that one lane keeps in flight at most
	Lockstep    int         `json:"lockstep"`     // batches that one lane makes together at most
	Budget      Budget      `json:"budget"`       //
}

// TableInfo describes features or a node attribute.
type TableInfo struct {
	Name  string `json:"name"`
	Path  string `json:"path"`
	Dim   int64  `json:"dim"`   // values in a row; 0: one axis
	DType string `json:"dtype"` // in NumPy's words, or "bfloat16"
}

// Info may be called at any time, after Close too.
func (e *Engine) Info() Info {
	s := e.graph.Superblock
	ring := e.lanes[0].ring.Stats()
	i := Info{
		Path: e.path, Bytes: e.file.Size(), Nodes: s.Nodes, Edges: s.Edges, Blocks: s.Blocks,
		Direction: s.Direction.String(), Undirected: s.Undirected, EdgeIDs: s.EdgeIDs.String(), Original: e.graph.Original().String(),
		Fingerprint: s.Fingerprint.String(), ContentID: s.ContentID.String(),
		Generator: rng.Name,
		Backend:   ring.Backend, Direct: e.file.Direct(), Policy: e.options.Policy,
		Lanes: len(e.lanes), Depth: ring.Depth, Lockstep: e.options.lockstep(), Budget: e.budget, Attrs: []TableInfo{},
	}
	if i.Policy == "" {
		i.Policy = blockcache.DefaultPolicy
	}
	if e.features != nil {
		x := e.features.info(layout.Features)
		i.Features = &x
	}
	for _, t := range e.attrs {
		i.Attrs = append(i.Attrs, t.info(layout.Attr))
	}
	return i
}

// Stats is what an engine has done since it was opened, up to the last batch
// that each lane has finished.
type Stats struct {
	Work
	Mode       string        `json:"mode"`                // "cached", "loading" or "resident": see ModeCached
	Total      IO            `json:"total"`               // of all files, and of loading the adjacency
	Adjacency  IO            `json:"adjacency"`           // of graph.bin: the lists
	EdgeIDs    IO            `json:"edge_ids"`            // of graph.bin: what Request.EdgeIDs costs where ids are stored
	Features   IO            `json:"features"`            //
	Attrs      map[string]IO `json:"node_attrs"`          // by name
	Original   IO            `json:"original_ids"`        // of graph.bin: what Request.OriginalIDs and Lookup cost
	Hops       []HopIO       `json:"hops"`                // of Adjacency, what each hop of all batches asked for
	Evictions  int64         `json:"evictions"`           // of the cache
	Rejected   int64         `json:"rejected"`            // blocks that its policy declined to keep
	Ring       uring.Stats   `json:"ring"`                // of all lanes together; Depth is their sum
	Alone      int64         `json:"alone_batches"`       // made alone, because they were, or could have been, beyond the batches' share
	LargestMem int64         `json:"largest_batch_bytes"` // memory of the largest batch made, without scratch
}

// Work is what lanes have made.
type Work struct {
	Batches      int64 `json:"batches"`
	Seeds        int64 `json:"seeds"`
	SampledNodes int64 `json:"sampled_nodes"` // the seeds included
	SampledEdges int64 `json:"sampled_edges"`
	UsedBytes    int64 `json:"used_bytes"` // what the batches needed: an entry for each edge, its id if asked for, the rows
}

// IO is what came of the blocks that batches asked for.
type IO struct {
	Asked     int64 `json:"blocks_asked"`
	Hits      int64 `json:"hits"`
	Waits     int64 `json:"waits"` // another lane was reading the block
	Misses    int64 `json:"misses"`
	Reads     int64 `json:"reads"`
	ReadBytes int64 `json:"read_bytes"`
	SunkBytes int64 `json:"sunk_bytes"` // of them, of blocks between missing ones, that nobody had asked for

	// ReadCost is what the reads cost the device by their sizes, in reads of
	// 4 KiB; ReadSizes counts them by their blocks: of 1, 2, 3–4, 5–8, and so on.
	ReadCost  float64                       `json:"read_cost"`
	ReadSizes [blockcache.SizeBuckets]int64 `json:"reads_by_blocks"`
}

// HopIO is what one hop of the batches asked of the cache, for its lists.
type HopIO struct {
	Blocks    int64 `json:"blocks_asked"`
	Reads     int64 `json:"reads"`
	ReadBytes int64 `json:"read_bytes"`
}

func ioOf(c blockcache.Counters) IO {
	return IO{Asked: c.Asked(), Hits: c.Hits, Waits: c.Waits, Misses: c.Misses, Reads: c.Reads, ReadBytes: c.BytesRead,
		SunkBytes: c.BytesSunk, ReadCost: c.ReadCost, ReadSizes: c.ReadSizes}
}

// HitRatio is the part of the blocks asked for that needed no read; 0 when none
// was asked for.
func (io IO) HitRatio() float64 { return report.Ratio(io.Asked-io.Misses, io.Asked) }

// ReadAmplification is bytes read for each byte used; 0 when none was used.
func (s Stats) ReadAmplification() float64 { return report.Ratio(s.Total.ReadBytes, s.UsedBytes) }

// BlocksPerEdge is blocks asked for by each sampled edge.
func (s Stats) BlocksPerEdge() float64 { return report.Ratio(s.Total.Asked, s.SampledEdges) }

// Stats may be called at any time, after Close too.
func (e *Engine) Stats() Stats {
	c := e.cache.Stats()
	s := Stats{Mode: e.mode(), Total: ioOf(c.Counters), Evictions: c.Evictions, Rejected: c.Rejected, Attrs: map[string]IO{}}
	of := func(f blockcache.FileID) IO {
		if int(f) < len(c.Files) {
			return ioOf(c.Files[f])
		}
		return IO{}
	}
	s.Adjacency, s.EdgeIDs = of(e.files.Adjacency), of(e.files.EdgeIDs)
	for _, io := range []*IO{&s.Total, &s.Adjacency} {
		io.Reads += e.resident.reads.Load()
		io.ReadBytes += e.resident.bytes.Load()
	}
	if e.features != nil {
		s.Features = of(e.features.File())
	}
	if e.original != nil {
		s.Original = of(e.original.File())
	}
	for _, t := range e.attrs {
		s.Attrs[t.name] = of(t.File())
	}
	for _, l := range e.lanes {
		s.Work = s.Work.add(l.done())
		s.Hops = l.addHops(s.Hops)
		s.Ring = s.Ring.Add(l.ring.Stats())
	}
	s.Alone, s.LargestMem = e.sched.extremes()
	return s
}

func (w Work) add(o Work) Work {
	return Work{w.Batches + o.Batches, w.Seeds + o.Seeds, w.SampledNodes + o.SampledNodes,
		w.SampledEdges + o.SampledEdges, w.UsedBytes + o.UsedBytes}
}

// workOf counts one batch.
func (e *Engine) workOf(q *query, b *Batch) Work {
	nodes, edges := int64(len(b.NID)), int64(len(b.Row))
	used := edges*int64(e.graph.Superblock.EntryBytes()) + nodes*q.rowBytes()
	if q.spec.EdgeIDs {
		ids, _ := e.graph.Table.Find(layout.KindEdgeIDs, 0, 0)
		used += edges * int64(ids.Width)
	}
	return Work{Batches: 1, Seeds: int64(b.Seeds), SampledNodes: nodes, SampledEdges: edges, UsedBytes: used}
}
