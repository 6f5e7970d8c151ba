package engine

import (
	"fmt"
	"runtime"
	"sync"

	"github.com/aether-ooc/aether-ooc/blockcache"
	"github.com/aether-ooc/aether-ooc/internal/base"
	"github.com/aether-ooc/aether-ooc/sampler"
	"github.com/aether-ooc/aether-ooc/uring"
)

// lane is a thread that makes batches. Everything in it but the counters belongs
// to its goroutine.
type lane struct {
	ring    uring.Ring
	cache   *blockcache.Lane
	sampler *sampler.Sampler
	seeds   []base.NodeID // of the batch in work
	gathers int64         // scratch of the last batch's rows

	mu   sync.Mutex
	made Work
}

func (l *lane) count(w Work) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.made = l.made.add(w)
}

func (l *lane) done() Work {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.made
}

// openLane opens a lane on the calling goroutine's thread, which must be locked.
func (e *Engine) openLane() (*lane, error) {
	ring, err := uring.Open(uring.Config{Backend: e.options.Backend, Depth: e.options.Depth, Log: e.options.Log})
	if err != nil {
		return nil, fmt.Errorf("engine: opening a ring: %w", err)
	}
	l := &lane{ring: ring, cache: e.cache.NewLane(ring)}
	l.sampler = sampler.New(e.graph, e.files, l.cache)
	return l, nil
}

// startLanes starts the lanes' goroutines and waits until their rings are open.
func (e *Engine) startLanes() error {
	opened := make(chan error)
	e.lanes = make([]*lane, e.demand.lanes)
	for i := range e.lanes {
		e.running.Go(func() {
			runtime.LockOSThread()
			defer runtime.UnlockOSThread()
			l, err := e.openLane()
			e.lanes[i] = l
			opened <- err
			if err == nil {
				e.work(l)
			}
		})
	}
	var failed error
	for range e.lanes {
		if err := <-opened; err != nil {
			failed = err
		}
	}
	return failed
}

// wakeLanes makes lanes that wait for reads look at their contexts.
func (e *Engine) wakeLanes() {
	for _, l := range e.lanes {
		l.cache.Wake()
	}
}

// scratch is what the lane holds between jobs.
func (l *lane) scratch() int64 {
	return l.sampler.MemoryBytes() + l.gathers + 8*int64(cap(l.seeds))
}

// work is the life of a lane.
func (e *Engine) work(l *lane) {
	for j, ok := e.sched.take(l); ok; j, ok = e.sched.take(l) {
		before := l.scratch()
		err := j.make(j.ctx, l, j.i, j.batch)
		e.sched.put(j, l.scratch()-before, err)
	}
	if err := l.ring.Close(); err != nil {
		e.options.Log.Warn("engine: closing a ring", "error", err)
	}
}
