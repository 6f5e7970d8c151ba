package bench

import (
	"context"
	"errors"
	"slices"
	"sync"

	"github.com/aether-ooc/aether-ooc/blockcache"
	"github.com/aether-ooc/aether-ooc/engine"
	"github.com/aether-ooc/aether-ooc/internal/base"
)

// Trace is what a run asked of the cache, visit by visit. Blocks of all files
// are numbered together, file after file.
type Trace struct {
	Blocks []base.BlockNo
	Ends   []int // of each visit, in Blocks
	Ramp   int   // blocks of the ramp, whose hits do not count
	Span   int   // all blocks are below it

	Slots int // blocks that the cache of the run could hold
}

// recorder takes down visits as they come, of any lane.
type recorder struct {
	mu     sync.Mutex
	visits []recordedVisit
	mark   int // visits of the ramp
}

type recordedVisit struct {
	file   blockcache.FileID
	blocks []base.BlockNo
}

func (r *recorder) visit(f blockcache.FileID, blocks []base.BlockNo) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.visits = append(r.visits, recordedVisit{f, slices.Clone(blocks)})
}

// trace numbers the blocks of all files together.
func (r *recorder) trace(slots int) *Trace {
	var length []int // of each file, as far as it was asked for
	for _, v := range r.visits {
		for int(v.file) >= len(length) {
			length = append(length, 0)
		}
		for _, b := range v.blocks {
			length[v.file] = max(length[v.file], int(b)+1)
		}
	}
	t := &Trace{Slots: slots}
	first := make([]base.BlockNo, len(length))
	for f, n := range length {
		first[f] = base.BlockNo(t.Span)
		t.Span += n
	}
	for i, v := range r.visits {
		for _, b := range v.blocks {
			t.Blocks = append(t.Blocks, first[v.file]+b)
		}
		t.Ends = append(t.Ends, len(t.Blocks))
		if i+1 == r.mark {
			t.Ramp = len(t.Blocks)
		}
	}
	return t
}

// Record makes batches and takes down what they ask of the cache.
func Record(ctx context.Context, c SampleConfig, h Hooks) (t *Trace, info engine.Info, err error) {
	rec := &recorder{}
	c.Options.OnVisit = rec.visit
	e, err := engine.Open(c.Graph, c.Options)
	if err != nil {
		return nil, info, err
	}
	defer func() { err = errors.Join(err, e.Close()) }()
	info = e.Info()
	h.opened(info)
	if c.Accept != nil {
		if err := c.Accept(info); err != nil {
			return nil, info, err
		}
	}
	run := &sampleRun{config: c, engine: e, env: env{Hooks: h}, request: c.Request}
	if err := run.part(ctx, c.Ramp); err != nil {
		return nil, info, err
	}
	rec.mark = len(rec.visits) // the lanes rest
	if err := run.part(ctx, c.Ramp+c.Batches); err != nil {
		return nil, info, err
	}
	return rec.trace(info.Budget.Slots), info, nil
}
