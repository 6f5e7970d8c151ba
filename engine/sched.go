package engine

import (
	"context"
	"slices"
	"sync"
)

// scheduler deals the jobs of the live streams out to the lanes and hands the
// results to each stream's consumer in order. A job makes one batch.
//
// Memory: flight counts the bytes of batches that are being made or wait for
// their consumer, spare those that consumers gave back. Together with the lanes'
// scratch they stay within share, one spare batch aside, with one exception: a
// consumer that waits and has nothing under way gets its next batch made even
// beyond the share, one such batch at a time in the whole engine. So a batch
// larger than the share runs alone, and consumers that are slow, or gone to
// sleep, cannot starve the others.
type scheduler struct {
	window int64 // how far a stream may run ahead of its consumer, in batches
	share  int64
	wake   func() // makes lanes in a read look at their context

	mu      sync.Mutex
	work    sync.Cond // idle lanes wait here; they have no read in flight
	live    []*stream
	turn    int // the stream in live that is asked first for the next job
	flight  int64
	free    []*Batch
	spare   int64
	scratch int64 // what lanes keep between jobs
	alone   bool  // a job beyond the share is running
	soloist *lane // the lane that runs such jobs: only its scratch is to grow so large
	solos   int64 // how many there have been
	largest int64 // bytes of the largest batch made
	closed  bool
}

// stream is one request's way through the scheduler. The lanes and its consumer
// share it under the scheduler's lock.
type stream struct {
	ctx    context.Context
	cancel context.CancelCauseFunc
	unhook func() bool
	make   func(ctx context.Context, l *lane, i int64, b *Batch) error

	end, next, taken int64 // jobs there are, handed out, delivered
	running          int
	hungry           bool // the consumer waits
	dropped          bool
	estimate         int64 // bytes of the next batch
	measured         bool  // estimate comes from batches made
	charged          int64 // this stream's part of flight
	done             map[int64]outcome
	ready            chan struct{} // a job has ended
}

type outcome struct {
	batch *Batch
	err   error
	bytes int64
}

type job struct {
	*stream
	i       int64
	batch   *Batch
	charge  int64
	outside bool // of the share
}

func newScheduler(window, share int64, wake func()) *scheduler {
	s := &scheduler{window: window, share: share, wake: wake}
	s.work.L = &s.mu
	return s
}

// open adds a stream of n jobs. estimate is the most that one of its batches
// may take, until the first has been measured.
func (s *scheduler) open(ctx context.Context, n, estimate int64, make func(context.Context, *lane, int64, *Batch) error) (*stream, error) {
	st := &stream{make: make, end: n, estimate: estimate, done: map[int64]outcome{}, ready: newSignal()}
	st.ctx, st.cancel = context.WithCancelCause(ctx)
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		st.cancel(ErrClosed)
		return nil, ErrClosed
	}
	st.unhook = context.AfterFunc(st.ctx, s.wake)
	s.live = append(s.live, st)
	s.work.Broadcast()
	return st, nil
}

func newSignal() chan struct{} { return make(chan struct{}, 1) }

// take is lane l's wait for its next job; false when the engine closes.
func (s *scheduler) take(l *lane) (job, bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for !s.closed {
		if j, ok := s.pick(l); ok {
			return j, true
		}
		s.work.Wait()
	}
	return job{}, false
}

// pick goes once round the live streams.
func (s *scheduler) pick(l *lane) (job, bool) {
	for k := range s.live {
		at := (s.turn + k) % len(s.live)
		st := s.live[at]
		if st.next >= st.end || st.next-st.taken >= s.window || st.ctx.Err() != nil {
			continue
		}
		if inside := s.fits(st); inside || s.mayExceed(st, l) {
			s.turn = at + 1
			return s.begin(st, l, !inside), true
		}
	}
	return job{}, false
}

// fits reports whether the next batch of st has room within the share. A stream
// with something under way already takes no more than its fair part of it.
func (s *scheduler) fits(st *stream) bool {
	if st.charged > 0 && st.charged+st.estimate > s.share/int64(len(s.live)) {
		return false
	}
	used := s.flight + s.scratch + st.estimate
	if used > s.share {
		return false
	}
	for used+s.spare > s.share && len(s.free) > 1 {
		s.popFree()
	}
	return true
}

func (s *scheduler) mayExceed(st *stream, l *lane) bool {
	return st.hungry && st.next == st.taken && !s.alone && (s.soloist == nil || s.soloist == l)
}

func (s *scheduler) begin(st *stream, l *lane, outside bool) job {
	j := job{stream: st, i: st.next, batch: s.popFree(), charge: st.estimate, outside: outside}
	st.next++
	st.running++
	s.charge(st, j.charge)
	if outside {
		s.alone, s.soloist = true, l
		s.solos++
	}
	return j
}

func (s *scheduler) charge(st *stream, bytes int64) {
	st.charged += bytes
	s.flight += bytes
}

// put is a lane's return of a job that has ended, during which the lane's scratch
// has grown by so many bytes.
func (s *scheduler) put(j job, grown int64, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.scratch += grown
	st, size := j.stream, j.batch.bytes()
	st.running--
	if j.outside {
		s.alone = false
	}
	s.charge(st, size-j.charge)
	s.largest = max(s.largest, size)
	o := outcome{batch: j.batch, err: err, bytes: size}
	if err != nil {
		st.end = min(st.end, j.i+1) // the batches before it are still delivered
	} else {
		st.learn(size)
	}
	if st.dropped {
		s.discard(st, o)
	} else {
		st.done[j.i] = o
	}
	st.signal()
	s.work.Broadcast()
}

// learn takes the size of a batch as the measure of those to come.
func (st *stream) learn(size int64) {
	size += size / 8
	if !st.measured || size > st.estimate {
		st.estimate, st.measured = size, true
	}
}

func (st *stream) signal() {
	select {
	case st.ready <- struct{}{}:
	default:
	}
}

// pull is a consumer's wait for its stream's next batch.
func (s *scheduler) pull(st *stream) (*Batch, error) {
	for {
		if o, ok := s.poll(st); ok {
			return o.batch, o.err
		}
		select {
		case <-st.ready:
		case <-st.ctx.Done():
		}
	}
}

func (s *scheduler) poll(st *stream) (outcome, bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if st.ctx.Err() != nil {
		return outcome{err: context.Cause(st.ctx)}, true
	}
	o, ok := st.done[st.taken]
	st.hungry = !ok
	if ok {
		delete(st.done, st.taken)
		st.taken++
		s.charge(st, -o.bytes)
	}
	s.work.Broadcast()
	return o, ok
}

// drop ends a stream: it cancels what is under way, waits for it, and gives
// back what nobody will fetch.
func (s *scheduler) drop(st *stream) {
	st.unhook()
	st.cancel(context.Canceled)
	s.mu.Lock()
	defer s.mu.Unlock()
	if st.running > 0 {
		s.wake()
	}
	st.dropped = true
	s.remove(st)
	for _, o := range st.done {
		s.discard(st, o)
	}
	clear(st.done)
	s.work.Broadcast()
	for st.running > 0 {
		s.mu.Unlock()
		<-st.ready
		s.mu.Lock()
	}
}

func (s *scheduler) remove(st *stream) {
	at := slices.Index(s.live, st)
	s.live = slices.Delete(s.live, at, at+1)
	if at < s.turn {
		s.turn--
	}
}

func (s *scheduler) discard(st *stream, o outcome) {
	s.charge(st, -o.bytes)
	s.keep(o.batch)
}

// recycle takes back the buffers of a batch that a consumer has done with.
func (s *scheduler) recycle(b *Batch) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.keep(b)
}

// keep holds on to a batch's buffers where there is room for them. One batch is
// kept in any case: dropped, it would take the same memory until the garbage
// collector comes, and the next batch its own besides.
func (s *scheduler) keep(b *Batch) {
	size := b.bytes()
	room := s.flight+s.scratch+s.spare+size <= s.share || len(s.free) == 0
	if room && !s.closed && int64(len(s.free)) < s.window {
		s.free = append(s.free, b)
		s.spare += size
	}
}

func (s *scheduler) popFree() *Batch {
	n := len(s.free)
	if n == 0 {
		return &Batch{}
	}
	b := s.free[n-1]
	s.free[n-1] = nil
	s.free = s.free[:n-1]
	s.spare -= b.bytes()
	return b
}

// close refuses new streams, cancels the live ones and sends the lanes home.
func (s *scheduler) close() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.closed = true
	for _, st := range s.live {
		st.cancel(ErrClosed)
	}
	s.free, s.spare = nil, 0
	s.work.Broadcast()
}

func (s *scheduler) extremes() (solos, largest int64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.solos, s.largest
}
