package engine

import (
	"context"
	"errors"
	"runtime"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/aether-ooc/aether-ooc/internal/base"
)

// crew runs lanes without files: what a job does is the test's.
type crew struct {
	*scheduler
	wg sync.WaitGroup
}

func newCrew(t *testing.T, lanes int, most, share int64) *crew {
	c := &crew{scheduler: newScheduler(int64(lanes), most, share, func() {})}
	for range lanes {
		c.wg.Go(func() {
			l := &lane{}
			for jobs := c.take(l, nil); len(jobs) > 0; jobs = c.take(l, jobs) {
				for _, j := range jobs {
					c.put(j, 0, j.work.make(j.ctx, l, j))
				}
			}
		})
	}
	t.Cleanup(c.stop)
	return c
}

// stop ends the crew and checks that nothing is left charged or kept.
func (c *crew) stop() {
	c.close()
	c.wg.Wait()
}

// numbered makes batches that carry their number and take size bytes.
func numbered(size int64) work {
	return work{make: func(ctx context.Context, l *lane, j job) error {
		j.batch.Index = base.BatchIdx(j.i)
		j.batch.store.ids = slices.Grow(j.batch.store.ids[:0], int(size/8))
		runtime.Gosched()
		return nil
	}}
}

func pulled(t *testing.T, c *crew, st *stream, n int64) {
	t.Helper()
	for i := range n {
		b, err := c.pull(st)
		require.NoError(t, err)
		require.Equal(t, base.BatchIdx(i), b.Index)
		if i%3 != 0 {
			b.home = c.scheduler
			b.Release()
		}
	}
}

func TestSchedulerKeepsOrder(t *testing.T) {
	for _, lanes := range []int{1, 2, 5} {
		for _, share := range []int64{0, 100, 1000, 5000, 1 << 20} {
			c := newCrew(t, lanes, 1+share%7, share)
			var wg sync.WaitGroup
			for range 4 {
				wg.Go(func() {
					st, err := c.open(t.Context(), 50, 1<<40, numbered(96))
					require.NoError(t, err)
					pulled(t, c, st, 50)
					c.drop(st)
				})
			}
			wg.Wait()
			require.Zero(t, c.flight)
			require.Empty(t, c.live)
			require.False(t, c.alone)
			c.stop()
		}
	}
}

// A stream runs ahead of its consumer by the window, no more, and a sleeping
// consumer stops nobody else.
func TestSlowConsumerStopsOnlyItself(t *testing.T) {
	for _, share := range []int64{0, 500, 1 << 20} {
		c := newCrew(t, 2, 8, share)
		asleep, err := c.open(t.Context(), 1000, 0, numbered(96))
		require.NoError(t, err)
		awake, err := c.open(t.Context(), 300, 96, numbered(96))
		require.NoError(t, err)
		pulled(t, c, awake, 300)
		c.mu.Lock()
		require.LessOrEqual(t, asleep.next, c.ahead(1))
		c.mu.Unlock()
		pulled(t, c, asleep, 20)
		c.drop(asleep)
		c.drop(awake)
		require.Zero(t, c.flight)
		c.stop()
	}
}

// Batches in flight stay within the share, or one is alone.
func TestSchedulerBoundsBytes(t *testing.T) {
	const size, share = 896, 3000 // a size that the allocator does not round up
	c := newCrew(t, 4, 3, share)
	var mu sync.Mutex
	running, most := 0, 0
	count := func(d int) {
		mu.Lock()
		defer mu.Unlock()
		running += d
		most = max(most, running)
	}
	job := func(ctx context.Context, l *lane, j job) error {
		count(1)
		defer count(-1)
		c.mu.Lock()
		ok := c.flight+c.spare <= share+size || c.alone
		c.mu.Unlock()
		if !ok {
			return errors.New("too much in flight")
		}
		return numbered(size).make(ctx, l, j)
	}
	var wg sync.WaitGroup
	for range 3 {
		wg.Go(func() {
			st, err := c.open(t.Context(), 200, 1<<30, work{make: job})
			require.NoError(t, err)
			defer c.drop(st)
			pulled(t, c, st, 200)
		})
	}
	wg.Wait()
	require.LessOrEqual(t, most, 4)
	require.Zero(t, c.flight)
	require.LessOrEqual(t, c.spare, int64(share))
	require.Equal(t, int64(size), c.largest)
	require.NotZero(t, c.solos, "the first batches were not measured yet")
}

func TestBatchesBeyondTheShareRunAlone(t *testing.T) {
	c := newCrew(t, 4, 8, 100)
	var running sync.Mutex
	var soloist *lane
	job := func(ctx context.Context, l *lane, j job) error {
		if !running.TryLock() {
			return errors.New("not alone")
		}
		defer running.Unlock()
		if soloist != nil && soloist != l {
			return errors.New("not always the same lane")
		}
		soloist = l
		return numbered(4096).make(ctx, l, j)
	}
	var wg sync.WaitGroup
	for range 3 {
		wg.Go(func() {
			st, err := c.open(t.Context(), 40, 4096, work{make: job})
			require.NoError(t, err)
			defer c.drop(st)
			pulled(t, c, st, 40)
		})
	}
	wg.Wait()
	require.Equal(t, int64(3*40), c.solos)
}

// Jobs of concurrent streams are dealt round robin.
func TestSchedulerIsFair(t *testing.T) {
	s := newScheduler(100, 1, 1<<20, func() {})
	var streams []*stream
	for range 3 {
		st, err := s.open(t.Context(), 10, 8, numbered(8))
		require.NoError(t, err)
		streams = append(streams, st)
	}
	for i := range 30 {
		jobs := s.take(nil, nil)
		require.Len(t, jobs, 1)
		require.Same(t, streams[i%3], jobs[0].stream)
		s.put(jobs[0], 0, nil)
	}
	for _, st := range streams {
		s.drop(st)
	}
}

// groups opens a stream of n jobs of 8 bytes, takes groups for the lanes in turn,
// each of which is done, and whose batches the consumer has had, before the next
// one is taken, and gives their sizes.
func groups(t *testing.T, s *scheduler, n int64) (sizes []int) {
	t.Helper()
	st, err := s.open(t.Context(), n, 8, numbered(8))
	require.NoError(t, err)
	defer s.drop(st)
	for st.taken < n {
		jobs := s.take(nil, nil)
		for k, j := range jobs {
			require.Equal(t, k, j.k)
			s.put(j, 0, j.work.make(j.ctx, nil, j))
		}
		for range jobs {
			_, err := s.pull(st)
			require.NoError(t, err)
		}
		sizes = append(sizes, len(jobs))
	}
	require.Zero(t, s.flight)
	return sizes
}

// Groups grow with what the consumer has had, and shrink with what is left for the
// lanes, with other streams about, and with the room that there is.
func TestGroupSizes(t *testing.T) {
	for _, c := range []struct {
		name           string
		lanes, most    int64
		share, scratch int64
		jobs           int64
		others         int
		want           []int
	}{
		{"one by one", 2, 1, 1 << 20, 0, 4, 0, []int{1, 1, 1, 1}},
		{"slow start", 1, 8, 1 << 20, 0, 32, 0, []int{1, 1, 2, 4, 8, 8, 8}},
		{"no more than are wanted", 1, 8, 1 << 20, 0, 6, 0, []int{1, 1, 2, 2}},
		{"spread over the lanes", 2, 8, 1 << 20, 0, 10, 0, []int{1, 1, 2, 3, 2, 1}},
		{"two wanted, two lanes", 2, 8, 1 << 20, 0, 2, 0, []int{1, 1}},
		{"turns", 1, 8, 1 << 20, 0, 16, 3, []int{1, 1, 2, 2, 2, 2, 2, 2, 2}},
		{"room", 1, 8, 50, 0, 16, 0, []int{1, 1, 2, 3, 3, 3, 3}},
		{"room beside scratch", 1, 8, 90, 60, 12, 0, []int{1, 1, 2, 2, 2, 2, 2}},
		{"no room", 2, 8, 30, 0, 4, 0, []int{1, 1, 1, 1}},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := newScheduler(c.lanes, c.most, c.share, func() {})
			s.scratch = c.scratch
			for range c.others {
				st, err := s.open(t.Context(), 0, 0, numbered(0))
				require.NoError(t, err)
				defer s.drop(st)
			}
			require.Equal(t, c.want, groups(t, s, c.jobs))
		})
	}
}

// A lane waits for room for its group, in the share and ahead of the consumer,
// rather than make a part of it.
func TestGroupsStayWhole(t *testing.T) {
	s := newScheduler(2, 4, 1<<20, func() {})
	st, err := s.open(t.Context(), 1000, 8, numbered(8))
	require.NoError(t, err)
	defer s.drop(st)
	st.taken, st.next = 4, 4
	var jobs []job
	for range 3 {
		taken := s.pick(nil, nil)
		require.Len(t, taken, 4)
		jobs = append(jobs, taken...)
	}
	require.Empty(t, s.pick(nil, nil), "12 batches ahead")
	for _, j := range jobs {
		s.put(j, 0, j.work.make(j.ctx, nil, j))
	}
	require.Empty(t, s.pick(nil, nil))
	for range 3 {
		_, err := s.pull(st)
		require.NoError(t, err)
	}
	require.Len(t, s.pick(nil, nil), 4, "one may lie in wait")
	st.running = 0 // nobody makes them
}

// What a group will take, scratch that is to grow with it included, is charged
// when it begins and corrected as its jobs end.
func TestGroupsAreCharged(t *testing.T) {
	s := newScheduler(1, 4, 1<<20, func() {})
	st, err := s.open(t.Context(), 100, 80, numbered(80))
	require.NoError(t, err)
	st.taken, st.next, st.measured = 4, 4, true
	jobs := s.take(nil, nil)
	require.Len(t, jobs, 4)
	require.Equal(t, int64(4*(80+3*26/4)), s.flight)
	for k, j := range jobs {
		grown := int64(0)
		if k == 0 {
			grown = 4 * 70 // the scratch grows with the first job that ends
		}
		s.put(j, grown, j.work.make(j.ctx, nil, j))
	}
	require.Equal(t, int64(4*80), s.flight)
	require.Equal(t, int64(4*70), s.scratch)
	s.drop(st)
	require.Zero(t, s.flight)
}

func TestErrorComesInItsTurn(t *testing.T) {
	c := newCrew(t, 3, 8, 1<<20)
	boom := errors.New("boom")
	started := int64(0)
	var mu sync.Mutex
	st, err := c.open(t.Context(), 1000, 8, work{make: func(ctx context.Context, l *lane, j job) error {
		mu.Lock()
		started = max(started, j.i)
		mu.Unlock()
		if j.i >= 7 {
			return boom
		}
		return numbered(8).make(ctx, l, j)
	}})
	require.NoError(t, err)
	pulled(t, c, st, 7)
	_, err = c.pull(st)
	require.ErrorIs(t, err, boom)
	c.drop(st)
	require.LessOrEqual(t, started, 7+c.ahead(7))
}

func TestCancelWakesEverybody(t *testing.T) {
	c := newCrew(t, 2, 8, 1<<20)
	ctx, cancel := context.WithCancelCause(t.Context())
	why := errors.New("enough")
	st, err := c.open(ctx, 10, 8, work{make: func(ctx context.Context, l *lane, j job) error {
		<-ctx.Done()
		return ctx.Err()
	}})
	require.NoError(t, err)
	time.AfterFunc(time.Millisecond, func() { cancel(why) })
	_, err = c.pull(st)
	require.ErrorIs(t, err, why)
	c.drop(st)
	require.Zero(t, st.running)
	require.Zero(t, c.flight)

	again, err := c.open(t.Context(), 3, 8, numbered(8))
	require.NoError(t, err)
	pulled(t, c, again, 3)
	c.drop(again)
}

func TestCloseWakesEverybody(t *testing.T) {
	c := newCrew(t, 2, 8, 1<<20)
	begun := make(chan struct{}, 10)
	st, err := c.open(t.Context(), 10, 8, work{make: func(ctx context.Context, l *lane, j job) error {
		begun <- struct{}{}
		<-ctx.Done()
		return ctx.Err()
	}})
	require.NoError(t, err)
	<-begun
	c.stop()
	_, err = c.pull(st)
	require.ErrorIs(t, err, ErrClosed)
	c.drop(st)
	_, err = c.open(t.Context(), 1, 8, numbered(8))
	require.ErrorIs(t, err, ErrClosed)
}

func TestReleaseTwiceAndAfterClose(t *testing.T) {
	c := newCrew(t, 1, 8, 1<<20)
	st, err := c.open(t.Context(), 2, 8, numbered(8))
	require.NoError(t, err)
	a, err := c.pull(st)
	require.NoError(t, err)
	b, err := c.pull(st)
	require.NoError(t, err)
	c.drop(st)
	a.home, b.home = c.scheduler, c.scheduler
	a.Release()
	a.Release()
	require.Len(t, c.free, 1)
	c.stop()
	b.Release()
	require.Empty(t, c.free)
	require.Empty(t, b.InputID)
}
