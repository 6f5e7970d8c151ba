package blockcache

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"path/filepath"
	"sync/atomic"
	"syscall"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/aether-ooc/aether-ooc/internal/base"
	"github.com/aether-ooc/aether-ooc/internal/faultio"
	"github.com/aether-ooc/aether-ooc/uring"
)

// TestSameBytes: whatever the policy, the quotas, the merging and the ring,
// every block is shown once per visit with its bytes, and the counters add up.
func TestSameBytes(t *testing.T) {
	for _, kind := range append([]string{"fake", "shuffled"}, uring.Backends()...) {
		for _, policy := range Policies() {
			for _, c := range []Config{
				{Slots: 1},
				{Slots: 3, Lanes: 3},
				{Slots: 10, Lanes: 4, Depth: 2, Group: 1, Merge: 1},
				{Slots: 64, Lanes: 3, Merge: 4},
				{Slots: 300, Lanes: 2, Depth: 16, Group: 4, Blocks: 300},
				{Slots: 300, Lanes: 2, Depth: 16, Group: 4, Merge: 1},
				{Slots: 1000, Lanes: 5, Merge: 8},
			} {
				c.Policy = policy
				t.Run(fmt.Sprintf("%s/%s/%d-%d-%d", kind, policy, c.Slots, c.Lanes, c.Merge), func(t *testing.T) {
					sameBytes(t, kind, c)
				})
			}
		}
	}
}

func sameBytes(t *testing.T, kind string, c Config) {
	r := newRig(t, c, 201*base.BlockSize-77, 40*base.BlockSize, 1)
	var asked [3]atomic.Int64
	r.lanes(kind, &plan{}, func(i int, l *Lane) {
		dice := rand.New(rand.NewPCG(7, uint64(i)))
		for range 25 {
			f := dice.IntN(3)
			list := some(dice, r.blocks(f), 1+dice.IntN(6))
			asked[f].Add(int64(len(list)))
			assert.NoError(t, r.visit(l, f, list))
		}
	})
	s := r.cache.Stats()
	for f := range asked {
		n := s.Files[f]
		require.Equal(t, asked[f].Load(), n.Asked(), "file %d: %+v", f, n)
		require.LessOrEqual(t, n.Reads, n.Misses)
		require.LessOrEqual(t, n.Evictions, n.Misses)
	}
	if c.Merge == 1 {
		require.Equal(t, s.Misses, s.Reads)
		require.Zero(t, s.BytesSunk)
	}
}

// TestReadOnce: with room for everything, a block is read once, however many
// lanes ask for it at once.
func TestReadOnce(t *testing.T) {
	for _, policy := range Policies() {
		t.Run(policy, func(t *testing.T) {
			const blocks = 500
			r := newRig(t, Config{Slots: 2000, Lanes: 8, Policy: policy, Merge: 1}, blocks*base.BlockSize)
			p := &plan{}
			r.lanes("fake", p, func(_ int, l *Lane) {
				for range 5 {
					assert.NoError(t, r.visit(l, 0, all(blocks)))
				}
			})
			s := r.cache.Stats()
			require.EqualValues(t, blocks, p.reads.Load())
			require.Equal(t, Counters{
				Hits: s.Hits, Waits: s.Waits, Misses: blocks, Reads: blocks,
				BytesRead: blocks * base.BlockSize, Rejected: s.Rejected, ReadCost: blocks, ReadSizes: [SizeBuckets]int64{blocks},
			}, s.Counters)
			require.EqualValues(t, 8*5*blocks, s.Asked())
		})
	}
}

// TestGroups: a cold visit keeps a full depth of reads in flight, in full
// groups.
func TestGroups(t *testing.T) {
	r := newRig(t, Config{Slots: 4096, Depth: 128, Group: 32, Merge: 1}, 1000*base.BlockSize)
	ring := newFakeRing(&plan{}, 1)
	l := r.cache.NewLane(ring)
	require.NoError(t, r.visit(l, 0, all(1000)))
	require.Equal(t, 128, ring.peak)
	require.EqualValues(t, 1000, l.Stats().Reads)
}

// TestMerge: a read goes on over what lies between two missing blocks as long as
// that costs less than another read, and as it may grow.
func TestMerge(t *testing.T) {
	steep := ReadCost{{4096, 1}, {8192, 2.5}}
	flat := ReadCost{{4096, 100}, {1 << 20, 101}}
	there := func(n int) (h [SizeBuckets]int64) { h[n] = 1; return h }
	for _, c := range []struct {
		name   string
		config Config
		cached []base.BlockNo
		list   []base.BlockNo
		sizes  [SizeBuckets]int64
		sunk   int64
		cost   float64
	}{
		{"off", Config{Merge: 1}, nil, []base.BlockNo{0, 1, 2, 3}, [SizeBuckets]int64{4}, 0, 4},
		{"pairs", Config{Merge: 2}, nil, []base.BlockNo{0, 1, 2, 3, 4}, [SizeBuckets]int64{1, 2}, 0, 3.2},
		{"gaps", Config{}, nil, []base.BlockNo{0, 1, 2, 3, 5, 6, 9}, there(4), 3, 3.225},
		{"far", Config{}, nil, []base.BlockNo{0, 5, 10, 15}, [SizeBuckets]int64{4}, 0, 4},
		{"cached between", Config{}, []base.BlockNo{1, 3}, []base.BlockNo{0, 1, 2, 3, 4}, there(3), 2, 1.975},
		{"steep", Config{Cost: steep}, nil, []base.BlockNo{0, 1, 2, 4}, [SizeBuckets]int64{4}, 0, 4},
		{"flat", Config{Cost: flat}, nil, []base.BlockNo{0, 19}, there(5), 18, 1 + 19*4096.0/(1<<20-4096)/100},
		{"flat, bounded", Config{Cost: flat, Merge: 16}, nil, []base.BlockNo{0, 19}, [SizeBuckets]int64{2}, 0, 2},
	} {
		t.Run(c.name, func(t *testing.T) {
			c.config.Slots = 1024
			r := newRig(t, c.config, 20*base.BlockSize)
			r.lane(&plan{}, func(l *Lane) {
				require.NoError(t, r.visit(l, 0, c.cached))
				before := l.Stats()
				require.NoError(t, r.visit(l, 0, c.list))
				s := l.Stats()
				for i := range s.ReadSizes {
					s.ReadSizes[i] -= before.ReadSizes[i]
				}
				require.Equal(t, c.sizes, s.ReadSizes)
				require.Equal(t, c.sunk*base.BlockSize, s.BytesSunk-before.BytesSunk)
				require.InDelta(t, c.cost, s.ReadCost-before.ReadCost, 1e-9)
				require.EqualValues(t, len(c.list), s.Hits+s.Misses-before.Misses)
			})
		})
	}
}

// TestFailEachRead fails, and shortens, the first read, the second, … until a
// run needs fewer reads than that. Each time the visit that needed the block says so,
// and the next one succeeds.
func TestFailEachRead(t *testing.T) {
	for _, c := range []struct {
		name  string
		merge int
		plan  func(k int64) *plan
		want  error
	}{
		{"fails", 1, func(k int64) *plan { return &plan{failAt: k} }, syscall.EIO},
		{"fails merged", 4, func(k int64) *plan { return &plan{failAt: k} }, syscall.EIO},
		{"short", 1, func(k int64) *plan { return &plan{short: k} }, io.ErrUnexpectedEOF},
		{"short merged", 4, func(k int64) *plan { return &plan{short: k} }, io.ErrUnexpectedEOF},
	} {
		t.Run(c.name, func(t *testing.T) {
			for k := int64(1); ; k++ {
				p := c.plan(k)
				r := newRig(t, Config{Slots: 16, Lanes: 2, Merge: c.merge}, 24*base.BlockSize)
				var failures atomic.Int64
				r.lanes("fake", p, func(_ int, l *Lane) {
					if err := r.visit(l, 0, all(24)); err != nil {
						assert.ErrorIs(t, err, c.want)
						assert.ErrorContains(t, err, r.files[0].Path())
						failures.Add(1)
						assert.NoError(t, r.visit(l, 0, all(24)))
					}
				})
				if p.reads.Load() < k {
					require.Zero(t, failures.Load())
					require.Greater(t, k, int64(6))
					return
				}
				require.Positive(t, failures.Load(), "read %d failed unheard", k)
			}
		})
	}
}

// TestFaultio is the same over a real ring, whose failed reads leave garbage.
func TestFaultio(t *testing.T) {
	for _, merge := range []int{1, 3} {
		for k := int64(0); ; k++ {
			fired := int64(0)
			for _, p := range []*faultio.Plan{faultio.FailAt(k, syscall.EIO), faultio.ShortenAt(k, 100), faultio.DelayAt(k, 2)} {
				r := newRig(t, Config{Slots: 12, Depth: 4, Group: 2, Merge: merge}, 20*base.BlockSize)
				r.lanes("auto", nil, func(_ int, l *Lane) {
					l.ring = faultio.Wrap(l.ring, p)
					for range 2 {
						if r.visit(l, 0, all(20)) == nil {
							return
						}
					}
					t.Errorf("read %d: the second visit failed too", k)
				})
				fired += p.Fired()
			}
			if fired == 0 {
				require.Greater(t, k, int64(6))
				break
			}
		}
	}
}

// TestFailForAll: every lane that waits for a block hears why its read failed.
func TestFailForAll(t *testing.T) {
	const lanes = 5
	r := newRig(t, Config{Slots: 64, Lanes: lanes}, base.BlockSize)
	asleep := make(chan struct{})
	p := &plan{failAt: 1}
	p.hook = func(*uring.Read) { <-asleep } // until all others have asked
	var failures, asked atomic.Int64
	r.lanes("fake", p, func(_ int, l *Lane) {
		if asked.Add(1) == lanes {
			go func() {
				for waitersOf(r.cache, keyOf(0, 0)) < lanes-1 {
				}
				close(asleep)
			}()
		}
		if err := r.visit(l, 0, all(1)); assert.ErrorIs(t, err, syscall.EIO) {
			failures.Add(1)
		}
	})
	require.EqualValues(t, lanes, failures.Load())
	require.EqualValues(t, 1, p.reads.Load())
}

func waitersOf(c *Cache, k key) (n int) {
	mu := c.lock(k)
	defer mu.Unlock()
	if s := c.find(k); s != none {
		for e := c.slots[s].waiters; e != noEntry; e = c.entry(e).next {
			n++
		}
	}
	return n
}

// TestStorm: many lanes, tiny windows, one read in eleven fails, visits are
// cut short by errors and by their contexts; nothing hangs and nothing is left.
func TestStorm(t *testing.T) {
	for _, kind := range []string{"fake", "stormy"} {
		for i, c := range []Config{
			{Slots: 8, Lanes: 8},
			{Slots: 24, Lanes: 8, Depth: 2, Group: 1},
			{Slots: 64, Lanes: 8, Merge: 3},
			{Slots: 500, Lanes: 8, Merge: 3},
			{Slots: 16, Lanes: 8},
			{Slots: 40, Lanes: 2, Merge: 3},
			{Slots: 100, Lanes: 3},
		} {
			c.Policy = Policies()[i%3]
			t.Run(fmt.Sprintf("%s/%s/%d", kind, c.Policy, c.Slots), func(t *testing.T) {
				r := newRig(t, c, 64*base.BlockSize-9, 30*base.BlockSize)
				r.lanes(kind, &plan{every: 11}, func(i int, l *Lane) {
					dice := rand.New(rand.NewPCG(3, uint64(i)))
					for range 60 {
						r.stormyVisit(l, dice)
					}
				})
			})
		}
	}
}

var errEnough = errors.New("enough")

func (r *rig) stormyVisit(l *Lane, dice *rand.Rand) {
	f := dice.IntN(2)
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	left, quit := dice.IntN(80), dice.IntN(3)
	err := l.Visit(ctx, FileID(f), some(dice, r.blocks(f), 1+dice.IntN(3)), func(int, []byte) error {
		if left--; left > 0 || quit == 0 {
			return nil
		}
		if quit == 1 {
			cancel()
			return nil
		}
		return errEnough
	})
	if err != nil && !errors.Is(err, syscall.EIO) && !errors.Is(err, errEnough) && !errors.Is(err, context.Canceled) {
		r.t.Error(err)
	}
}

// TestFnError: the first error of fn ends the visit and is returned as it is;
// blocks whose reads were under way are kept.
func TestFnError(t *testing.T) {
	r := newRig(t, Config{Slots: 256}, 100*base.BlockSize)
	r.lane(&plan{}, func(l *Lane) {
		calls := 0
		err := l.Visit(context.Background(), 0, all(100), func(int, []byte) error { calls++; return errEnough })
		require.Equal(t, errEnough, err)
		require.Equal(t, 1, calls)
		read := l.Stats().Misses
		require.NoError(t, r.visit(l, 0, all(100)))
		require.EqualValues(t, 100, l.Stats().Misses, "the %d blocks of the first visit are read again", read)
	})
}

// TestCancelAsleep: a lane that waits for another's block, its own reads done,
// hears of the end of its context through Wake.
func TestCancelAsleep(t *testing.T) {
	r := newRig(t, Config{Slots: 8, Lanes: 2}, base.BlockSize)
	ctx, cancel := context.WithCancel(context.Background())
	cancelled := make(chan struct{})
	p := &plan{hook: func(*uring.Read) { <-cancelled }}
	var lanes [2]atomic.Pointer[Lane]
	var turn atomic.Int64
	r.lanes("fake", p, func(i int, l *Lane) {
		lanes[i].Store(l)
		if turn.Add(1) == 1 {
			assert.NoError(t, r.visit(l, 0, all(1)))
			return
		}
		for !isReading(r.cache, keyOf(0, 0)) {
		}
		go func() {
			for waitersOf(r.cache, keyOf(0, 0)) == 0 {
			}
			cancel()
			l.Wake()
		}()
		err := l.Visit(ctx, 0, all(1), func(int, []byte) error { t.Error("shown"); return nil })
		assert.ErrorIs(t, err, context.Canceled)
		close(cancelled)
	})
}

func isReading(c *Cache, k key) bool {
	mu := c.lock(k)
	defer mu.Unlock()
	s := c.find(k)
	return s != none && c.slots[s].load().state() == reading
}

func TestCancelledBefore(t *testing.T) {
	r := newRig(t, Config{Slots: 8}, base.BlockSize)
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	p := &plan{}
	r.lane(p, func(l *Lane) {
		err := l.Visit(ctx, 0, all(1), func(int, []byte) error { t.Error("shown"); return nil })
		require.ErrorIs(t, err, context.Canceled)
		require.NoError(t, l.Visit(ctx, 0, nil, nil), "nothing to do is done")
	})
	require.Zero(t, p.reads.Load())
}

// TestCheck: a block that does not pass its check is seen by nobody, and read
// again by the next visit.
func TestCheck(t *testing.T) {
	r := newRig(t, Config{Slots: 8, Lanes: 1}, base.BlockSize)
	bad := errors.New("bad seal")
	checks := 0
	f := r.cache.AddFile(r.files[0], func(no base.BlockNo, b []byte) error {
		checks++
		if assert.Equal(t, content(0, no), b); checks < 3 {
			return fmt.Errorf("block %d: %w", no, bad)
		}
		return nil
	})
	r.lane(&plan{}, func(l *Lane) {
		for range 2 {
			require.ErrorIs(t, l.Visit(context.Background(), f, all(1), func(int, []byte) error { t.Error("shown"); return nil }), bad)
		}
		for range 2 {
			require.NoError(t, l.Visit(context.Background(), f, all(1), func(int, []byte) error { return nil }))
		}
		require.Equal(t, 3, checks, "once per read")
	})
}

func TestPastEnd(t *testing.T) {
	r := newRig(t, Config{Slots: 8}, base.BlockSize+1, 0)
	r.lane(&plan{}, func(l *Lane) {
		require.NoError(t, r.visit(l, 0, []base.BlockNo{0, 1}))
		require.ErrorIs(t, r.visit(l, 0, []base.BlockNo{0, 2}), ErrPastEnd)
		require.ErrorIs(t, r.visit(l, 1, []base.BlockNo{0}), ErrPastEnd)
		require.NoError(t, r.visit(l, 1, nil))
	})
}

// TestShrunk: a file that was cut since it was opened is an error, not zeros.
func TestShrunk(t *testing.T) {
	r := newRig(t, Config{Slots: 8}, 4*base.BlockSize)
	require.NoError(t, os.Truncate(r.files[0].Path(), 2*base.BlockSize))
	r.lane(&plan{}, func(l *Lane) {
		require.ErrorIs(t, r.visit(l, 0, all(4)), io.ErrUnexpectedEOF)
		require.NoError(t, r.visit(l, 0, all(2)))
	})
}

// TestBrokenRing: lanes whose ring breaks say so from then on; those that wait
// for their blocks hear it; the others go on.
func TestBrokenRing(t *testing.T) {
	for breaks := int64(1); breaks < 40; breaks++ {
		c, err := New(Config{Slots: 64, Lanes: 4})
		require.NoError(t, err)
		r := &rig{t: t, cache: c}
		r.addFile(50 * base.BlockSize)
		var broken atomic.Int64
		sick, well := &plan{breaks: breaks}, &plan{}
		r.lanes("fake", sick, func(i int, l *Lane) {
			if i == 0 {
				l.ring.(*fakeRing).plan = well
			}
			for range 3 {
				if err := r.visit(l, 0, all(50)); errors.Is(err, ErrRingBroken) {
					assert.ErrorIs(t, err, errBroken)
					broken.Add(1)
				} else {
					assert.NoError(t, err)
				}
			}
			if i == 0 {
				assert.NoError(t, r.visit(l, 0, all(50)))
			}
		})
		require.Zero(t, c.pinned())
		require.NoError(t, c.audit())
		require.NoError(t, c.Close())
		require.True(t, broken.Load() > 0 || sick.reads.Load() < breaks)
	}
}

// TestQueueRefused: a ring that takes no group is broken too.
func TestQueueRefused(t *testing.T) {
	r := newRig(t, Config{Slots: 64, Lanes: 2}, 50*base.BlockSize)
	r.lanes("fake", &plan{refuse: true}, func(_ int, l *Lane) {
		for range 2 {
			err := r.visit(l, 0, all(50))
			assert.ErrorIs(t, err, ErrRingBroken)
			assert.ErrorIs(t, err, errBroken)
		}
	})
}

// TestSparse: a file larger than memory, of which some blocks are wanted that
// share a lock.
func TestSparse(t *testing.T) {
	r := newRig(t, Config{Slots: 6, Lanes: 3})
	path := filepath.Join(t.TempDir(), "sparse")
	f, err := os.Create(path)
	require.NoError(t, err)
	var list []base.BlockNo
	for i := range 16 {
		no := base.BlockNo(i/2*lockCount*lockRun + i%2)
		list = append(list, no)
		_, err := f.WriteAt(content(0, no), int64(no.Off()))
		require.NoError(t, err)
	}
	require.NoError(t, f.Close())
	file, err := uring.OpenFile(path, uring.Buffered)
	require.NoError(t, err)
	defer file.Close()
	id := r.cache.AddFile(file, nil)
	r.lanes("fake", &plan{}, func(i int, l *Lane) {
		dice := rand.New(rand.NewPCG(11, uint64(i)))
		for range 200 {
			from := dice.IntN(len(list))
			part := list[from : from+dice.IntN(len(list)-from)]
			assert.NoError(t, l.Visit(context.Background(), id, part, func(i int, b []byte) error {
				if !bytes.Equal(b, content(0, part[i])) {
					return fmt.Errorf("block %d has other bytes", part[i])
				}
				return nil
			}))
		}
	})
}

// TestCloseInUse: a cache in use is not pulled from under its user.
func TestCloseInUse(t *testing.T) {
	r := newRig(t, Config{Slots: 8}, base.BlockSize)
	r.lane(&plan{}, func(l *Lane) {
		require.NoError(t, l.Visit(context.Background(), 0, all(1), func(int, []byte) error {
			require.ErrorIs(t, r.cache.Close(), ErrInUse)
			return nil
		}))
	})
}

func TestTooManyLanes(t *testing.T) {
	r := newRig(t, Config{Slots: 8})
	r.cache.NewLane(newFakeRing(nil, 0))
	require.Panics(t, func() { r.cache.NewLane(newFakeRing(nil, 0)) })
}
