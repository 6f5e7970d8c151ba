//go:build linux

package uring

import (
	"errors"
	"os"
	"runtime"
	"sync"
	"sync/atomic"
	"time"

	"golang.org/x/sys/unix"

	"github.com/aether-ooc/aether-ooc/internal/invariants"
)

// driver is what a backend has to do: attempts, nothing of groups, short reads
// or retries. All calls but wake come from the ring's owner.
type driver interface {
	// push takes op number i. At most as many are out as there are ops.
	push(i int)
	// flush sends what was pushed. If wait > 0 it also sleeps until that many
	// have completed and not been fetched; it may wake early for any reason, and
	// must after wake. An error means that no call can succeed any more.
	flush(wait int) error
	// next fetches a completion: an op and its result, bytes or a negative errno.
	next() (i, res int, ok bool)
	// wake ends a sleep in flush, from any thread. A wake when flush does not
	// sleep may end the next sleep, or be forgotten.
	wake()
	// describe fills in what only the driver knows.
	describe(s *Stats)
	// close gives back everything. No op is out.
	close() error
}

const (
	// leastBatch leaves a lone read to the Wait that follows: sending it and
	// sleeping is then one system call.
	leastBatch = 2
	// maxBatch bounds how many completions a sleep waits for, so that a Wake,
	// which cannot cut such a sleep short, is not late by more than some 100 µs.
	maxBatch = 32
)

// turn is how long an owner reads before it gives way to other goroutines, half
// of what Go's scheduler allows. One that takes longer, and is in a system call
// whenever the scheduler looks, would have its processor taken from it in each
// of them, by a thread that then looks every 20 µs: a quarter of the CPU time of
// reading at depth 1.
const turn = 5 * time.Millisecond

// ring is the part of a Ring that all backends share.
type ring struct {
	drv    driver
	ops    []op
	free   []int // ops not in use
	batch  int   // a good number of reads to send or to fetch at once
	onRead func(time.Duration)

	active   []*Group // with reads that are not done, in no order
	backlog  []*Group // with reads that have not been begun, oldest first
	ready    []*Group // done, oldest first
	inFlight int
	unsent   []int // ops pushed since the last flush
	broken   error // what every call answers from now on

	waiting atomic.Bool // the owner sleeps, or is about to
	woken   atomic.Bool // a Wake that no Wait has answered

	yielded time.Time // when the owner last gave way to other goroutines
	thread  int       // the owner's, for invariants

	stats     Stats
	publishMu sync.Mutex
	published Stats
}

func newRing(c Config, depth int, open func(Config, []op) (driver, error)) (Ring, error) {
	r := &ring{
		ops:     make([]op, depth),
		free:    make([]int, depth),
		unsent:  make([]int, 0, depth),
		batch:   max(leastBatch, min(depth/8, maxBatch)),
		onRead:  c.OnRead,
		yielded: time.Now(),
		thread:  unix.Gettid(),
	}
	for i := range r.free {
		r.free[i] = depth - 1 - i
	}
	var err error
	if r.drv, err = open(c, r.ops); err != nil {
		return nil, err
	}
	r.stats.Backend, r.stats.Depth = c.Backend, depth
	r.publish()
	return r, nil
}

// out is how many ops are in use.
func (r *ring) out() int { return len(r.ops) - len(r.free) }

func (r *ring) InFlight() int { return r.inFlight }

// usable says whether an owner's call may go on, and in an invariants build that
// it is the owner's.
func (r *ring) usable() error {
	if invariants.Enabled {
		invariants.Check(r.thread == unix.Gettid(), "a ring of thread %d is used by thread %d", r.thread, unix.Gettid())
	}
	return r.broken
}

func (r *ring) Queue(g *Group) error {
	if err := r.usable(); err != nil {
		return err
	}
	invariants.Check(!g.queued, "group %v is queued twice", g.Tag)
	g.next, g.left, g.queued = 0, len(g.Reads), true
	r.inFlight += len(g.Reads)
	if g.left == 0 {
		r.ready = append(r.ready, g)
		return nil
	}
	g.place = len(r.active)
	r.active = append(r.active, g)
	r.backlog = append(r.backlog, g)
	r.refill()
	if len(r.unsent) >= r.batch {
		_ = r.flush(0) // what breaks the ring, the next call says
	}
	return nil
}

// refill begins reads of the backlog while ops are free.
func (r *ring) refill() {
	for len(r.free) > 0 && len(r.backlog) > 0 {
		g := r.backlog[0]
		read := &g.Reads[g.next]
		g.next++
		if g.next == len(g.Reads) {
			r.backlog = popFront(r.backlog)
		}
		r.begin(g, read)
	}
}

// begin gives a read an op and its first attempt, unless it is over already.
func (r *ring) begin(g *Group, read *Read) {
	read.N, read.Err = 0, nil
	want := read.want()
	if read.Err = read.check(); read.Err != nil || want == 0 {
		r.finish(g, read)
		return
	}
	if !read.File.acquire() {
		read.Err = opError(read.File, read.Off, want, os.ErrClosed)
		r.finish(g, read)
		return
	}
	i := r.free[len(r.free)-1]
	r.free = r.free[:len(r.free)-1]
	r.ops[i].begin(g, read)
	r.attempt(i)
}

func (r *ring) attempt(i int) {
	r.ops[i].prepare()
	r.drv.push(i)
	r.unsent = append(r.unsent, i)
	r.stats.Attempts++
}

// reap takes in what has completed. It looks at the clock once for all, as
// flush does: for each read by itself, that would cost more than the histogram
// that its time goes to.
func (r *ring) reap() {
	i, res, ok := r.drv.next()
	if !ok {
		return
	}
	var now time.Time
	if r.onRead != nil {
		now = time.Now()
	}
	for ; ok; i, res, ok = r.drv.next() {
		r.completed(i, res, now)
	}
}

func (r *ring) completed(i, res int, now time.Time) {
	o := &r.ops[i]
	r.stats.atDepth(r.out())
	if o.settle(res) {
		r.attempt(i)
		return
	}
	g, read := o.group, o.read
	if r.onRead != nil {
		r.onRead(now.Sub(o.sent))
	}
	_ = read.File.release() // only the opener's Close can report this
	o.group, o.read, o.single = nil, nil, nil
	r.free = append(r.free, i)
	r.finish(g, read)
}

// finish counts a read that is done, and its group if it was the last one.
func (r *ring) finish(g *Group, read *Read) {
	r.stats.count(read)
	g.left--
	if g.left > 0 {
		return
	}
	last := len(r.active) - 1
	r.active[g.place] = r.active[last]
	r.active[g.place].place = g.place
	r.active[last] = nil
	r.active = r.active[:last]
	r.ready = append(r.ready, g)
}

// take returns the oldest group that is done.
func (r *ring) take() *Group {
	if len(r.ready) == 0 {
		return nil
	}
	g := r.ready[0]
	r.ready = popFront(r.ready)
	r.inFlight -= len(g.Reads)
	r.stats.Groups++
	g.queued = false
	return g
}

// sendBatch sends what was pushed if it is a good batch, or at least as much as
// the device has left to do, before the caller gets a group to work on.
func (r *ring) sendBatch() {
	if n := len(r.unsent); n > 0 && (n >= r.batch || 2*n >= r.out()) {
		_ = r.flush(0) // what breaks the ring, the next call says
	}
}

func (r *ring) flush(wait int) error {
	r.stamp()
	r.unsent = r.unsent[:0]
	if err := r.drv.flush(wait); err != nil {
		r.broken = err
	}
	return r.broken
}

// stamp notes when the reads that are about to be sent were sent first.
func (r *ring) stamp() {
	if r.onRead == nil || len(r.unsent) == 0 {
		return
	}
	now := time.Now()
	for _, i := range r.unsent {
		if o := &r.ops[i]; o.sent.IsZero() {
			o.sent = now
		}
	}
}

// advance takes in completions, and begins further reads.
func (r *ring) advance() {
	r.reap()
	r.refill()
}

func (r *ring) Poll() (*Group, error) {
	if err := r.usable(); err != nil {
		return nil, err
	}
	defer r.publish()
	return r.poll()
}

func (r *ring) poll() (*Group, error) {
	if len(r.ready) == 0 {
		if err := r.flush(0); err != nil {
			return nil, err
		}
		r.advance()
	}
	r.sendBatch()
	return r.take(), nil
}

func (r *ring) Wait() (*Group, error) {
	if err := r.usable(); err != nil {
		return nil, err
	}
	defer r.publish()
	for {
		r.advance()
		if len(r.ready) > 0 {
			r.sendBatch()
			return r.take(), nil
		}
		if woken, err := r.sleep(); err != nil {
			return nil, err
		} else if woken {
			return r.answerWake()
		}
	}
}

// sleep sends everything and waits for a batch of completions, unless there was
// a Wake. Setting waiting before looking at woken, and Wake doing both the other
// way round, leaves no gap for a Wake to be lost in.
func (r *ring) sleep() (woken bool, err error) {
	r.waiting.Store(true)
	defer r.waiting.Store(false)
	if r.woken.Load() {
		return true, nil
	}
	if err := r.giveWay(); err != nil {
		return false, err
	}
	return false, r.flush(r.enough())
}

// giveWay lets other goroutines run when it is time, while the device has all
// reads to go on with.
func (r *ring) giveWay() error {
	if time.Since(r.yielded) < turn {
		return nil
	}
	err := r.flush(0)
	runtime.Gosched()
	r.yielded = time.Now()
	return err
}

// answerWake prefers a group that is done: the Wake then ends the next Wait.
func (r *ring) answerWake() (*Group, error) {
	g, err := r.poll()
	if g == nil && err == nil {
		r.woken.Store(false)
		r.stats.Wakes++
	}
	return g, err
}

// enough is how many completions to sleep for: as many as no group can be done
// before, and no more than a batch.
func (r *ring) enough() int {
	n := min(r.out(), r.batch)
	for _, g := range r.active {
		if n = min(n, g.left); n <= 1 {
			break
		}
	}
	return max(n, 1)
}

func (r *ring) Wake() {
	if !r.woken.Swap(true) && r.waiting.Load() {
		r.drv.wake()
	}
}

// Stats and publish meet in published, so that anyone may ask while the owner
// sleeps.
func (r *ring) Stats() Stats {
	r.publishMu.Lock()
	defer r.publishMu.Unlock()
	return r.published
}

func (r *ring) publish() {
	r.drv.describe(&r.stats)
	r.publishMu.Lock()
	defer r.publishMu.Unlock()
	r.published = r.stats
}

func (r *ring) Close() error {
	if errors.Is(r.broken, ErrClosed) {
		return nil
	}
	r.abandonBacklog()
	err := r.broken
	for err == nil && r.out() > 0 {
		err = r.flush(r.out())
		r.reap()
	}
	for r.take() != nil {
	}
	r.publish()
	r.broken = ErrClosed
	return errors.Join(err, r.drv.close())
}

// abandonBacklog ends the reads that have not been begun.
func (r *ring) abandonBacklog() {
	for _, g := range r.backlog {
		for g.next < len(g.Reads) {
			read := &g.Reads[g.next]
			g.next++
			read.N, read.Err = 0, opError(read.File, read.Off, read.want(), ErrClosed)
			r.finish(g, read)
		}
	}
	r.backlog = nil
}

// popFront drops the first of a queue.
func popFront(q []*Group) []*Group {
	q[0] = nil
	if len(q) == 1 {
		return q[:0] // from here on append has room again
	}
	return q[1:]
}
