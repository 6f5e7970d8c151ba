package blockcache

import (
	"errors"
	"math/rand/v2"
	"runtime"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"

	"github.com/aether-ooc/aether-ooc/internal/faultio"
	"github.com/aether-ooc/aether-ooc/uring"
)

// plan says what becomes of reads, for all rings of a test together.
type plan struct {
	reads  atomic.Int64
	failAt int64                  // the read with this number fails; 0: none
	short  int64                  // the read with this number brings half
	every  int64                  // each read whose number is a multiple fails
	breaks int64                  // a ring breaks as a whole at the read with this number
	refuse bool                   // a ring takes no group
	hook   func(read *uring.Read) // called before a read is done
}

var errBroken = errors.New("the ring fell apart")

func (p *plan) carryOut(r *uring.Read) {
	if p.hook != nil {
		p.hook(r)
	}
	n := p.reads.Add(1)
	r.N, r.Err = 0, nil
	if n == p.failAt || p.every > 0 && n%p.every == 0 {
		r.Err = &uring.OpError{Path: r.File.Path(), Off: r.Off, Len: len(r.Bufs), Err: syscall.EIO}
		return
	}
	off := r.Off
	for _, b := range r.Bufs {
		got, _ := r.File.ReadAt(b, off)
		r.N += got
		off += int64(got)
	}
	if n == p.short {
		r.N /= 2
	}
}

// fakeRing is a Ring whose groups finish in random order, one at a time, each
// when its owner waits or polls and the dice say so.
type fakeRing struct {
	plan  *plan
	dice  *rand.Rand
	queue []*uring.Group

	mu    sync.Mutex
	woken bool
	bell  *sync.Cond
	depth int
	peak  int
}

func newFakeRing(p *plan, seed uint64) *fakeRing {
	r := &fakeRing{plan: p, dice: rand.New(rand.NewPCG(seed, 1))}
	r.bell = sync.NewCond(&r.mu)
	return r
}

func (r *fakeRing) Queue(g *uring.Group) error {
	if r.plan != nil && r.plan.refuse {
		return errBroken
	}
	r.queue = append(r.queue, g)
	r.depth += len(g.Reads)
	r.peak = max(r.peak, r.depth)
	return nil
}

func (r *fakeRing) Wait() (*uring.Group, error) {
	for range r.dice.IntN(3) {
		runtime.Gosched()
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	for len(r.queue) == 0 && !r.woken {
		r.bell.Wait()
	}
	if r.woken && (len(r.queue) == 0 || r.dice.IntN(2) == 0) {
		r.woken = false
		return nil, nil
	}
	return r.finishOne()
}

func (r *fakeRing) Poll() (*uring.Group, error) {
	if len(r.queue) == 0 || r.dice.IntN(3) > 0 {
		return nil, nil
	}
	return r.finishOne()
}

func (r *fakeRing) finishOne() (*uring.Group, error) {
	i := r.dice.IntN(len(r.queue))
	g := r.queue[i]
	r.queue = append(r.queue[:i], r.queue[i+1:]...)
	for j := range g.Reads {
		r.plan.carryOut(&g.Reads[j])
		if r.plan.breaks > 0 && r.plan.reads.Load() >= r.plan.breaks {
			return nil, errBroken
		}
	}
	r.depth -= len(g.Reads)
	return g, nil
}

func (r *fakeRing) Wake() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.woken = true
	r.bell.Broadcast()
}

func (r *fakeRing) InFlight() int      { return r.depth }
func (r *fakeRing) Stats() uring.Stats { return uring.Stats{} }
func (r *fakeRing) Close() error       { return nil }

// openRing opens a ring of the named kind for the calling goroutine: "fake",
// "shuffled" (real, with groups finishing out of order), "stormy" (and with one
// read in eleven failing), or a backend.
func openRing(t testing.TB, kind string, p *plan, seed uint64, arena []byte) uring.Ring {
	switch kind {
	case "fake":
		return newFakeRing(p, seed)
	case "shuffled":
		return faultio.Wrap(openRing(t, "auto", p, seed, arena), faultio.Shuffle(seed, 3))
	case "stormy":
		return faultio.Wrap(openRing(t, "shuffled", p, seed, arena), faultio.NewPlan(func(k int64) (f faultio.Fault) {
			if k%11 == 10 {
				f.Err = syscall.EIO
			}
			return f
		}))
	}
	r, err := uring.Open(uring.Config{Backend: kind, Depth: 64, Arena: arena})
	if errors.Is(err, uring.ErrUnsupported) {
		t.Skipf("%s: %v", kind, err)
	}
	if err != nil {
		t.Fatal(err)
	}
	return r
}
