//go:build linux

package faultio

import (
	"math/rand/v2"
	"sync"

	"github.com/aether-ooc/aether-ooc/uring"
)

// Garbage is the byte that a spoiled read leaves in its buffers.
const Garbage = 0xdb

// Fault is what befalls one read. The zero value leaves it alone. A read that
// has failed by itself keeps its error.
type Fault struct {
	// Err fails the read; it arrives wrapped in a *uring.OpError.
	Err error
	// Shorten cuts the read off after Keep bytes, as if the file ended there.
	Shorten bool
	Keep    int
	// Delay holds the read's group back until so many others have been handed
	// out after it, which reorders them.
	Delay int
}

// Plan says what befalls which read.
type Plan struct {
	script func(k int64) Fault

	mu    sync.Mutex
	seen  int64
	fired int64
}

// NewPlan asks script for the fault of the k-th read, k = 0, 1, 2, …, each once.
func NewPlan(script func(k int64) Fault) *Plan { return &Plan{script: script} }

// FailAt fails the k-th read.
func FailAt(k int64, err error) *Plan { return at(k, Fault{Err: err}) }

// ShortenAt cuts the k-th read off after keep bytes.
func ShortenAt(k int64, keep int) *Plan { return at(k, Fault{Shorten: true, Keep: keep}) }

// DelayAt holds the k-th read's group back until so many others have come.
func DelayAt(k int64, groups int) *Plan { return at(k, Fault{Delay: groups}) }

func at(k int64, f Fault) *Plan {
	return NewPlan(func(i int64) Fault {
		if i == k {
			return f
		}
		return Fault{}
	})
}

// Shuffle holds groups back by up to most others, at random but the same for
// the same seed.
func Shuffle(seed uint64, most int) *Plan {
	rng := rand.New(rand.NewPCG(seed, 0))
	return NewPlan(func(int64) Fault { return Fault{Delay: rng.IntN(most + 1)} })
}

// Seen is how many reads have been numbered.
func (p *Plan) Seen() int64 {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.seen
}

// Fired is how many reads a fault has befallen.
func (p *Plan) Fired() int64 {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.fired
}

// next numbers a read and looks up its fault.
func (p *Plan) next() Fault {
	p.mu.Lock()
	defer p.mu.Unlock()
	f := p.script(p.seen)
	p.seen++
	if f != (Fault{}) {
		p.fired++
	}
	return f
}

// Wrap gives a ring to which the plan happens. It takes over r: close the
// wrapper, not r.
func Wrap(r uring.Ring, p *Plan) uring.Ring { return &ring{Ring: r, plan: p} }

type ring struct {
	uring.Ring
	plan *Plan
	held []held // oldest first
}

// held is a group that is held back until delay others have been handed out.
type held struct {
	group *uring.Group
	delay int
}

func (r *ring) InFlight() int {
	n := r.Ring.InFlight()
	for _, h := range r.held {
		n += len(h.group.Reads)
	}
	return n
}

func (r *ring) Wait() (*uring.Group, error) { return r.get(r.Ring.Wait) }

func (r *ring) Poll() (*uring.Group, error) { return r.get(r.Ring.Poll) }

// get hands out the first held group that is due, or else what inner gives.
func (r *ring) get(inner func() (*uring.Group, error)) (*uring.Group, error) {
	for {
		if g := r.due(); g != nil {
			return g, nil
		}
		g, err := inner()
		if g == nil || err != nil {
			return nil, err
		}
		delay := r.apply(g)
		if delay == 0 {
			return r.handOut(g), nil
		}
		r.held = append(r.held, held{g, delay})
	}
}

// due takes out a held group whose time has come: enough others have been
// handed out, or no other can come.
func (r *ring) due() *uring.Group {
	last := r.Ring.InFlight() == 0
	for i, h := range r.held {
		if h.delay <= 0 || last {
			r.held = append(r.held[:i], r.held[i+1:]...)
			return r.handOut(h.group)
		}
	}
	return nil
}

// handOut counts g for those that are held.
func (r *ring) handOut(g *uring.Group) *uring.Group {
	for i := range r.held {
		r.held[i].delay--
	}
	return g
}

// apply lets the plan happen to each read, and gives the longest delay.
func (r *ring) apply(g *uring.Group) int {
	delay := 0
	for i := range g.Reads {
		f := r.plan.next()
		delay = max(delay, f.Delay)
		spoil(&g.Reads[i], f)
	}
	return delay
}

func spoil(read *uring.Read, f Fault) {
	switch {
	case read.Err != nil:
	case f.Err != nil:
		read.Err = &uring.OpError{Path: read.File.Path(), Off: read.Off, Len: length(read), Err: f.Err}
		read.N = 0
		scribble(read)
	case f.Shorten && f.Keep < read.N:
		read.N = f.Keep
		scribble(read)
	}
}

func length(read *uring.Read) int {
	n := 0
	for _, b := range read.Bufs {
		n += len(b)
	}
	return n
}

// scribble overwrites what lies past the first N bytes.
func scribble(read *uring.Read) {
	keep := read.N
	for _, b := range read.Bufs {
		n := min(keep, len(b))
		keep -= n
		for i := range b[n:] {
			b[n+i] = Garbage
		}
	}
}
