package engine

import (
	"context"
	"slices"
	"sync"
)

// scheduler deals the jobs of the live streams out to the lanes and hands the
// results to each stream's consumer in order. A job makes one batch; a lane takes
// a group of consecutive jobs of one stream at a time.
//
// Groups: a group has no more jobs than its stream's consumer has had batches, so
// that who wants one has it at once; than a busy lane's part of what is left, so
// that the last ones are spread over them; than its stream's part of the most that
// is allowed, so that nobody waits long for a turn; and than have room in the
// share when the busy lanes make such groups and a batch more waits for each.
// Busy shall be all lanes where most blocks are cached, so that computing is what
// takes time; else one at least, since its batches together read less than those
// of two. A lane waits until the whole group has room rather than make a part of
// it.
//
// Memory: flight counts the bytes of batches that are being made or wait for
// their consumer, spare those that consumers gave back. Together with the lanes'
// scratch they stay within share, one spare batch aside, with one exception: a
// consumer that waits and has nothing under way gets its next batch made even
// beyond the share, one such batch at a time in the whole engine. So a batch
// larger than the share runs alone, and consumers that are slow, or gone to
// sleep, cannot starve the others.
type scheduler struct {
	lanes int64
	busy  int64 // lanes that shall find room for groups
	most  int64 // jobs in a group
	share int64
	wake  func() // makes lanes in a read look at their context

	mu      sync.Mutex
	jobs    sync.Cond // idle lanes wait here; they have no read in flight
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
	work   work

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

// work says how a stream's jobs are done: begin, if there is one, is told the
// group, then make ends one job after the other.
type work struct {
	begin func(ctx context.Context, l *lane, jobs []job)
	make  func(ctx context.Context, l *lane, j job) error
}

type outcome struct {
	batch *Batch
	err   error
	bytes int64
}

type job struct {
	*stream
	i       int64
	k       int // its place in its group
	batch   *Batch
	charge  int64
	outside bool // of the share
}

func newScheduler(lanes, most, share int64, wake func()) *scheduler {
	s := &scheduler{lanes: lanes, busy: lanes, most: most, share: share, wake: wake}
	s.jobs.L = &s.mu
	return s
}

// open adds a stream of n jobs. estimate is the most that one of its batches
// may take, until the first has been measured.
func (s *scheduler) open(ctx context.Context, n, estimate int64, w work) (*stream, error) {
	st := &stream{work: w, end: n, estimate: estimate, done: map[int64]outcome{}, ready: newSignal()}
	st.ctx, st.cancel = context.WithCancelCause(ctx)
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		st.cancel(ErrClosed)
		return nil, ErrClosed
	}
	st.unhook = context.AfterFunc(st.ctx, s.wake)
	s.live = append(s.live, st)
	s.jobs.Broadcast()
	return st, nil
}

func newSignal() chan struct{} { return make(chan struct{}, 1) }

// take is lane l's wait for its next jobs, which it puts in place of those in
// jobs; none when the engine closes.
func (s *scheduler) take(l *lane, jobs []job) []job {
	s.mu.Lock()
	defer s.mu.Unlock()
	for jobs = jobs[:0]; len(jobs) == 0 && !s.closed; {
		if jobs = s.pick(l, jobs); len(jobs) == 0 {
			s.jobs.Wait()
		}
	}
	return jobs
}

// pick goes once round the live streams.
func (s *scheduler) pick(l *lane, jobs []job) []job {
	for k := range s.live {
		at := (s.turn + k) % len(s.live)
		st := s.live[at]
		n := s.group(st)
		if st.next >= st.end || st.next-st.taken+n > s.ahead(n) || st.ctx.Err() != nil {
			continue
		}
		if s.fits(st, n) {
			s.turn = at + 1
			return s.begin(st, n, jobs)
		}
		if s.mayExceed(st, l) {
			s.turn = at + 1
			s.alone, s.soloist = true, l
			s.solos++
			jobs = s.begin(st, 1, jobs)
			jobs[0].outside = true
			return jobs
		}
	}
	return jobs
}

// ahead is how far a stream that is made in groups of n may run ahead of its
// consumer: one for each lane, one that waits, and a batch.
func (s *scheduler) ahead(n int64) int64 { return (s.lanes+1)*n + 1 }

// group is how many jobs of st a lane shall take.
func (s *scheduler) group(st *stream) int64 {
	live := int64(len(s.live))
	n := min(upward(s.most, live), upward(st.end-st.next, s.busy), st.taken)
	for n > 1 && live*s.busy*((n+1)*st.estimate+s.growth(st, n))+s.scratch > s.share {
		n--
	}
	return max(1, n)
}

// oneByOne ends the making of groups: there are no blocks to share any more.
func (s *scheduler) oneByOne() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.most = 1
}

func upward(a, b int64) int64 { return (a + b - 1) / b }

// behind is about the scratch behind one of a group's batches.
func (st *stream) behind() int64 { return st.estimate / 3 }

// growth is what making n batches at once adds to a lane's scratch.
func (s *scheduler) growth(st *stream, n int64) int64 {
	return max(0, (n-1)*st.behind()-s.scratch/s.lanes)
}

// fits reports whether the next n batches of st have room within the share. A
// stream with something under way already takes no more than its fair part of it.
func (s *scheduler) fits(st *stream, n int64) bool {
	need := n*st.estimate + s.growth(st, n)
	if st.charged > 0 && st.charged+need > s.share/int64(len(s.live)) {
		return false
	}
	used := s.flight + s.scratch + need
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

// begin hands out the next n jobs of st.
func (s *scheduler) begin(st *stream, n int64, jobs []job) []job {
	each := st.estimate + s.growth(st, n)/n
	for k := range int(n) {
		jobs = append(jobs, job{stream: st, i: st.next, k: k, batch: s.popFree(), charge: each})
		st.next++
		st.running++
		s.charge(st, each)
	}
	return jobs
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
	s.jobs.Broadcast()
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
	s.jobs.Broadcast()
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
	s.jobs.Broadcast()
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
	if room && !s.closed && int64(len(s.free)) < s.ahead(s.most) {
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
	s.jobs.Broadcast()
}

func (s *scheduler) extremes() (solos, largest int64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.solos, s.largest
}
