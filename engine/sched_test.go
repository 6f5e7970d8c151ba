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

func newCrew(t *testing.T, lanes int, window, share int64) *crew {
	c := &crew{scheduler: newScheduler(window, share, func() {})}
	for range lanes {
		c.wg.Go(func() {
			l := &lane{}
			for j, ok := c.take(l); ok; j, ok = c.take(l) {
				c.put(j, 0, j.make(j.ctx, l, j.i, j.batch))
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
func numbered(size int64) func(context.Context, *lane, int64, *Batch) error {
	return func(ctx context.Context, l *lane, i int64, b *Batch) error {
		b.Index = base.BatchIdx(i)
		b.store.ids = slices.Grow(b.store.ids[:0], int(size/8))
		runtime.Gosched()
		return nil
	}
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
		for _, share := range []int64{0, 100, 1000, 1 << 20} {
			c := newCrew(t, lanes, int64(lanes)+2, share)
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
		c := newCrew(t, 2, 4, share)
		asleep, err := c.open(t.Context(), 1000, 0, numbered(96))
		require.NoError(t, err)
		awake, err := c.open(t.Context(), 300, 96, numbered(96))
		require.NoError(t, err)
		pulled(t, c, awake, 300)
		c.mu.Lock()
		require.LessOrEqual(t, asleep.next, int64(4))
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
	c := newCrew(t, 4, 10, share)
	var mu sync.Mutex
	running, most := 0, 0
	count := func(d int) {
		mu.Lock()
		defer mu.Unlock()
		running += d
		most = max(most, running)
	}
	work := func(ctx context.Context, l *lane, i int64, b *Batch) error {
		count(1)
		defer count(-1)
		c.mu.Lock()
		ok := c.flight+c.spare <= share+size || c.alone
		c.mu.Unlock()
		if !ok {
			return errors.New("too much in flight")
		}
		return numbered(size)(ctx, l, i, b)
	}
	var wg sync.WaitGroup
	for range 3 {
		wg.Go(func() {
			st, err := c.open(t.Context(), 200, 1<<30, work)
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
	c := newCrew(t, 4, 10, 100)
	var running sync.Mutex
	var soloist *lane
	work := func(ctx context.Context, l *lane, i int64, b *Batch) error {
		if !running.TryLock() {
			return errors.New("not alone")
		}
		defer running.Unlock()
		if soloist != nil && soloist != l {
			return errors.New("not always the same lane")
		}
		soloist = l
		return numbered(4096)(ctx, l, i, b)
	}
	var wg sync.WaitGroup
	for range 3 {
		wg.Go(func() {
			st, err := c.open(t.Context(), 40, 4096, work)
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
	s := newScheduler(100, 1<<20, func() {})
	var streams []*stream
	for range 3 {
		st, err := s.open(t.Context(), 10, 8, numbered(8))
		require.NoError(t, err)
		streams = append(streams, st)
	}
	for i := range 30 {
		j, ok := s.take(nil)
		require.True(t, ok)
		require.Same(t, streams[i%3], j.stream)
		s.put(j, 0, nil)
	}
	for _, st := range streams {
		s.drop(st)
	}
}

func TestErrorComesInItsTurn(t *testing.T) {
	c := newCrew(t, 3, 5, 1<<20)
	boom := errors.New("boom")
	started := int64(0)
	var mu sync.Mutex
	st, err := c.open(t.Context(), 1000, 8, func(ctx context.Context, l *lane, i int64, b *Batch) error {
		mu.Lock()
		started = max(started, i)
		mu.Unlock()
		if i >= 7 {
			return boom
		}
		return numbered(8)(ctx, l, i, b)
	})
	require.NoError(t, err)
	pulled(t, c, st, 7)
	_, err = c.pull(st)
	require.ErrorIs(t, err, boom)
	c.drop(st)
	require.Less(t, started, int64(7+5))
}

func TestCancelWakesEverybody(t *testing.T) {
	c := newCrew(t, 2, 4, 1<<20)
	ctx, cancel := context.WithCancelCause(t.Context())
	why := errors.New("enough")
	st, err := c.open(ctx, 10, 8, func(ctx context.Context, l *lane, i int64, b *Batch) error {
		<-ctx.Done()
		return ctx.Err()
	})
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
	c := newCrew(t, 2, 4, 1<<20)
	begun := make(chan struct{}, 10)
	st, err := c.open(t.Context(), 10, 8, func(ctx context.Context, l *lane, i int64, b *Batch) error {
		begun <- struct{}{}
		<-ctx.Done()
		return ctx.Err()
	})
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
	c := newCrew(t, 1, 4, 1<<20)
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
