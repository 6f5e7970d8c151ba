package engine

import (
	"fmt"
	"math"
	"runtime"

	"github.com/aether-ooc/aether-ooc/blockcache"
	"github.com/aether-ooc/aether-ooc/internal/base"
	"github.com/aether-ooc/aether-ooc/layout"
	"github.com/aether-ooc/aether-ooc/sampler"
	"github.com/aether-ooc/aether-ooc/uring"
)

// Open opens the graph at path and the files that build left beside it, and
// starts the lanes. It fails with ErrOverBudget, and says what the least is, when
// the budget is too small; with a *layout.CorruptError when what it reads is
// damaged.
func Open(path string, o Options) (*Engine, error) {
	o, err := o.complete()
	if err != nil {
		return nil, err
	}
	e := &Engine{path: path, options: o}
	for _, step := range []func() error{e.openGraph, e.openTables, e.divide, e.openCache, e.startLanes} {
		if err := step(); err != nil {
			_ = e.Close()
			return nil, err
		}
	}
	return e, nil
}

func (e *Engine) openGraph() (err error) {
	if e.file, err = uring.OpenFile(e.path, e.options.mode(), uring.WarnTo(e.options.Log)); err != nil {
		return fmt.Errorf("engine: opening the graph: %w", err)
	}
	if err := e.foresee(); err != nil {
		return err
	}
	if e.graph, err = layout.OpenGraph(e.file, e.file.Size(), e.path); err != nil {
		return fmt.Errorf("engine: opening the graph: %w", err)
	}
	return nil
}

const (
	ringReadBytes = 512      // what a ring holds for each read of its depth
	laneBytes     = 96 << 10 // a lane's window lists and small change
)

const (
	leastIndexRow = 12       // bytes of the index for a block
	indexShare    = 200      // the index takes at most this part of the file
	harmless      = 32 << 20 // an index that may be read to learn what it takes exactly
)

// foresee refuses a budget that a large index alone would exceed, before it is
// in memory.
func (e *Engine) foresee() error {
	b := make([]byte, base.BlockSize)
	_, _ = e.file.ReadAt(b, 0)
	s, err := layout.DecodeSuperblock(b)
	if err != nil || s.Blocks*leastIndexRow <= uint64(max(e.options.Memory, harmless)) {
		return nil // OpenGraph says what is wrong with the file, divide with the budget
	}
	e.demand = e.newDemand(int64(s.FileLength / indexShare))
	e.demand.lanes = max(1, e.demand.lanes)
	return e.overBudget("the graph", anyBudget)
}

func anyBudget(Budget) bool { return true }

func (e *Engine) newDemand(index int64) demand {
	depth := e.options.Depth
	if depth == 0 {
		depth = uring.DefaultDepth
	}
	return demand{index: index, perLane: laneBytes + int64(depth)*ringReadBytes, lanes: e.options.Lanes,
		blocks: e.file.Size() / base.BlockSize, footprint: e.footprint}
}

// divide settles lanes and budget.
func (e *Engine) divide() error {
	e.demand = e.newDemand(e.graph.Index.Bytes())
	e.wantResident()
	for _, t := range e.tables() {
		e.demand.index += t.Bytes()
		e.demand.blocks += t.Rows()*t.RowBytes()/base.BlockSize + 2 // with the header's
	}
	o, fits := e.options, false
	if o.Lanes > 0 {
		e.budget, fits = e.demand.divide(o.Memory)
	}
	for lanes := runtime.GOMAXPROCS(0); o.Lanes == 0 && lanes > 0 && !fits; lanes /= 2 {
		e.demand.lanes = lanes
		e.budget, fits = e.demand.divide(o.Memory)
	}
	if !fits {
		return e.overBudget("the graph", anyBudget)
	}
	e.budget.Mapped = blockcache.Mapped(e.cacheConfig(e.budget.Slots)) + e.budget.Resident
	return nil
}

// overBudget says what would do.
func (e *Engine) overBudget(what string, good func(Budget) bool) error {
	return &BudgetError{What: what, Memory: e.options.Memory, Least: e.demand.least(good), Lanes: e.demand.lanes}
}

func (e *Engine) cacheConfig(slots int) blockcache.Config {
	return blockcache.Config{Slots: slots, Lanes: e.demand.lanes, Policy: e.options.Policy,
		Depth: e.options.Depth, Merge: e.options.Merge, Blocks: e.blocks(), OnVisit: e.options.OnVisit}
}

// blocks is how many blocks the files have that openCache adds.
func (e *Engine) blocks() int64 {
	n := 2 * blocksOf(e.file.Size())
	for _, t := range e.tables() {
		n += blocksOf(t.FileBytes())
	}
	return n
}

func blocksOf(bytes int64) int64 { return (bytes + base.BlockSize - 1) / base.BlockSize }

func (e *Engine) footprint(slots int) int64 { return blockcache.Footprint(e.cacheConfig(slots)) }

func (e *Engine) openCache() (err error) {
	if e.cache, err = blockcache.New(e.cacheConfig(e.budget.Slots)); err != nil {
		return fmt.Errorf("engine: making the block cache: %w", err)
	}
	// Twice, so that the reads of edge ids are counted apart; no block is in both.
	e.files.Adjacency = e.cache.AddFile(e.file, e.graph.CheckBlock)
	e.files.EdgeIDs = e.cache.AddFile(e.file, e.graph.CheckBlock)
	for _, t := range e.tables() {
		t.AddTo(e.cache)
	}
	e.resident.gate = make(chan struct{}, 1)
	e.sched = newScheduler(int64(e.demand.lanes), int64(e.options.lockstep()), e.budget.Batches, e.wakeLanes)
	if uint64(e.budget.Slots) < e.graph.Superblock.Blocks/2 {
		e.sched.busy = 1 // reading is what takes time
	}
	return nil
}

// query checks a request and works out what its batches need.
func (e *Engine) query(r Request) (*query, error) {
	s := e.graph.Superblock
	q := &query{request: r, spec: sampler.Spec{Fanouts: r.Fanouts, Replace: r.Replace, EdgeIDs: r.EdgeIDs}}
	if len(r.Fanouts) == 0 {
		return nil, bad("Fanouts", "empty", "give the number of neighbours to draw at each hop, such as 25, 10; -1 takes all")
	}
	if err := q.spec.Validate(); err != nil {
		return nil, &RequestError{Field: "Fanouts", Value: r.Fanouts, Why: err.Error(), Err: err}
	}
	var err error
	if q.plan, err = newPlan(r, s.Fingerprint, s.Nodes); err != nil {
		return nil, err
	}
	if q.tables, err = e.choose(r); err != nil {
		return nil, err
	}
	return q, e.checkRoom(q)
}

// checkRoom refuses batches that cannot fit whatever sampling finds: the seeds
// and their rows alone are too large.
func (e *Engine) checkRoom(q *query) error {
	seeds := int64(min(q.size, q.seeds))
	if certain := seeds * (seedBytes + nodeBytes + q.rowBytes()); certain > e.budget.Batches {
		return e.overBudget(fmt.Sprintf("a batch of %d seeds, at least %d bytes with their rows,", seeds, certain),
			func(b Budget) bool { return b.Batches >= certain })
	}
	return nil
}

const (
	seedBytes = 8 // in InputID
	nodeBytes = 8 // in NID
)

// rowBytes is what each node of a batch adds in features and attributes.
func (q *query) rowBytes() (n int64) {
	for _, t := range q.tables {
		if t != nil {
			n += t.RowBytes()
		}
	}
	return n
}

// gatherBytes is the most scratch that fetching rows for so many nodes takes.
func (q *query) gatherBytes(nodes int64) (n int64) {
	for _, t := range q.tables {
		if t != nil {
			n = max(n, t.ScratchBytes(nodes))
		}
	}
	return n
}

// estimate is the most that a batch of q can take, its lane's scratch included.
func (e *Engine) estimate(q *query) int64 {
	s := e.graph.Superblock
	seeds := min(q.size, q.seeds)
	b := q.spec.Bound(int(seeds), s.Nodes, s.Edges)
	nodes := min(b.Nodes, math.MaxInt32) // far beyond any budget
	most := float64(b.ResultBytes) + float64(b.ScratchBytes) + float64(q.gatherBytes(nodes)) +
		float64(seeds)*seedBytes + float64(nodes)*float64(q.rowBytes())
	return int64(min(most, math.MaxInt64/4))
}
