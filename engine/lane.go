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
	jobs    []job
	draws   []sampler.Draw // of the jobs
	seeds   []base.NodeID  // of the draws
	gathers int64          // scratch of the last batch's rows

	mu   sync.Mutex
	made Work
	hops []HopIO
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

// countHops notes what the sampler's hops have asked for until now.
func (l *lane) countHops() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.hops = l.hops[:0]
	for _, h := range l.sampler.Hops() {
		l.hops = append(l.hops, HopIO(h))
	}
}

// addHops adds them to those of other lanes.
func (l *lane) addHops(all []HopIO) []HopIO {
	l.mu.Lock()
	defer l.mu.Unlock()
	for i, h := range l.hops {
		if i == len(all) {
			all = append(all, HopIO{})
		}
		all[i].Blocks += h.Blocks
		all[i].Reads += h.Reads
		all[i].ReadBytes += h.ReadBytes
	}
	return all
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
	held := int64(0)
	for l.jobs = e.sched.take(l, nil); len(l.jobs) > 0; l.jobs = e.sched.take(l, l.jobs) {
		st := l.jobs[0].stream
		e.settle(l)
		if st.work.begin != nil {
			st.work.begin(st.ctx, l, l.jobs)
		}
		for _, j := range l.jobs {
			err := st.work.make(st.ctx, l, j)
			grown := l.scratch() - held
			held += grown
			e.sched.put(j, grown, err)
		}
		clear(l.jobs)
	}
	if err := l.ring.Close(); err != nil {
		e.options.Log.Warn("engine: closing a ring", "error", err)
	}
}
