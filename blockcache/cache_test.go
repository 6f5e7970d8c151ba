package blockcache

import (
	"context"
	"errors"
	"math"
	"math/rand/v2"
	"runtime"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/aether-ooc/aether-ooc/internal/base"
	"github.com/aether-ooc/aether-ooc/internal/invariants"
	"github.com/aether-ooc/aether-ooc/uring"
)

func TestConfigRefused(t *testing.T) {
	for _, c := range []struct {
		config Config
		budget bool
		says   string
	}{
		{Config{}, true, "0 slots of 4096 bytes for 1 lanes"},
		{Config{Slots: 3, Lanes: 4}, true, "raise the memory budget or take fewer lanes"},
		{Config{Slots: -1}, true, "-1 slots"},
		{Config{Slots: 8, Lanes: -1}, false, "lanes -1"},
		{Config{Slots: 8, Depth: -1}, false, "depth -1"},
		{Config{Slots: 8, Merge: -2}, false, "merge limit -2"},
		{Config{Slots: 8, Policy: "lru"}, false, `no policy is called "lru"; take one of [clock lfu ristretto]`},
		{Config{Slots: 1 << 32}, false, "can be numbered"},
	} {
		_, err := New(c.config)
		require.ErrorContains(t, err, c.says)
		require.Equal(t, c.budget, errors.Is(err, ErrOverBudget), "%v", err)
		require.Zero(t, Footprint(c.config))
	}
}

// TestConfigBeyondUse: depths and merge limits beyond the slots mean as many as
// there are slots.
func TestConfigBeyondUse(t *testing.T) {
	want := Footprint(Config{Slots: 64, Lanes: 2, Depth: 32, Merge: 32})
	for _, n := range []int{33, 1 << 20, math.MaxInt/2 + 1, math.MaxInt} {
		require.Equal(t, want, Footprint(Config{Slots: 64, Lanes: 2, Depth: n, Merge: n}), n)
		c, err := New(Config{Slots: 64, Depth: n, Merge: n})
		require.NoError(t, err)
		require.NoError(t, c.Close())
	}
}

// TestFit: the slots that fit are the most that fit.
func TestFit(t *testing.T) {
	for _, c := range []Config{{}, {Lanes: 4}, {Policy: PolicyClock}, {Lanes: 2, Merge: 16}} {
		for _, budget := range []int64{6 << 20, 8 << 20, 100 << 20, 2 << 30, 1 << 40} {
			got, err := Fit(budget, c)
			require.NoError(t, err)
			require.LessOrEqual(t, Footprint(got), budget)
			got.Slots++
			require.Greater(t, Footprint(got), budget)
			require.Greater(t, float64(got.Slots)*base.BlockSize, 0.9*float64(budget-6<<20), "the rest is tables")
		}
		_, err := Fit(10_000, c)
		require.ErrorIs(t, err, ErrOverBudget)
		require.ErrorContains(t, err, "needs at least")
	}
	_, err := Fit(1<<30, Config{Policy: "lru"})
	require.ErrorContains(t, err, "lru")
}

// TestOffHeap: what a cache holds on the Go heap does not grow with its slots,
// the policy's own heap aside, and both stay below Footprint.
func TestOffHeap(t *testing.T) {
	if raceEnabled {
		t.Skip("under the race detector the arena lies on the heap")
	}
	const blocks = 3000
	held := func(c Config) int64 {
		before := heapInUse()
		r := newRig(t, c, blocks*base.BlockSize)
		r.bytes[0] = nil
		l := r.cache.NewLane(newFakeRing(&plan{}, 0))
		require.NoError(t, l.Visit(context.Background(), 0, all(blocks), func(int, []byte) error { return nil }))
		after := heapInUse()
		runtime.KeepAlive(l)
		return after - before
	}
	small := held(Config{Slots: 4096, Policy: PolicyClock})
	large := held(Config{Slots: 1 << 20, Policy: PolicyClock})
	require.InDelta(t, small, large, 64<<10)

	c := Config{Slots: 1 << 16}
	require.Less(t, held(c), Footprint(c)-Mapped(c))
}

// TestNoAllocation: with clock, neither a hit nor a miss allocates.
func TestNoAllocation(t *testing.T) {
	if invariants.Enabled || raceEnabled {
		t.Skip("assertions allocate")
	}
	r := newRig(t, Config{Slots: 64, Policy: PolicyClock}, 256*base.BlockSize)
	l := r.cache.NewLane(newFakeRing(&plan{}, 0))
	list := all(256)
	visit := func() {
		if l.Visit(context.Background(), 0, list, func(int, []byte) error { return nil }) != nil {
			t.Fatal("a visit failed")
		}
	}
	visit()
	require.Less(t, testing.AllocsPerRun(50, visit), 2.0, "per visit of 256 blocks")
	s := l.Stats()
	require.Greater(t, s.Misses, s.Hits)
}

// TestLimbo: a block that the policy gives up while fn looks at it stays until
// fn is done, then its slot is free.
func TestLimbo(t *testing.T) {
	r := newRig(t, Config{Slots: 2, Policy: PolicyClock}, 4*base.BlockSize)
	l := r.cache.NewLane(newFakeRing(&plan{}, 0))
	c := r.cache
	state := func() state { return c.slots[1].load().state() }
	require.NoError(t, l.Visit(context.Background(), 0, all(1), func(int, []byte) error {
		k := keyOf(0, 0)
		require.Equal(t, slotNo(1), c.find(k))
		require.False(t, c.evict(1, false), "pinned")
		require.Equal(t, resident, state())
		require.False(t, c.evict(1, true), "pinned")
		require.Equal(t, limbo, state())
		require.True(t, c.slots[1].pin(k))
		s, o := c.join(k, noEntry)
		require.Equal(t, slotNo(1), s)
		require.Equal(t, hit, o)
		c.unpin(s)
		c.unpin(s)
		require.Equal(t, limbo, state())
		return nil
	}))
	require.Equal(t, none, c.find(keyOf(0, 0)))
	require.EqualValues(t, 1, c.Stats().Evictions)
}

// TestSweep: without advice a slot is found all the same.
func TestSweep(t *testing.T) {
	r := newRig(t, Config{Slots: 16}, 200*base.BlockSize)
	r.cache.policy.close()
	r.cache.policy, r.cache.toucher = mute{}, nil
	r.lane(&plan{}, func(l *Lane) {
		for range 3 {
			require.NoError(t, r.visit(l, 0, all(200)))
		}
	})
}

// mute is a policy without advice.
type mute struct{}

func (mute) asked(FileID, []base.BlockNo) {}
func (mute) insert(key, slotNo)           {}
func (mute) victim(key) (slotNo, outcome) { return none, missing }
func (mute) forget(slotNo)                {}
func (mute) close()                       {}

// TestAudit shows that each rule of audit can fail.
func TestAudit(t *testing.T) {
	spoil := map[string]func(c *Cache){
		"pin":         func(c *Cache) { c.slots[1].word.Add(1) },
		"state":       func(c *Cache) { c.slots[1].to(limbo) },
		"key":         func(c *Cache) { c.slots[1].key.Store(uint64(keyOf(0, 1))) },
		"leak":        func(c *Cache) { c.free.fresh++ },
		"free pinned": func(c *Cache) { c.slots[5].word.Add(1) },
		"free keyed":  func(c *Cache) { c.slots[5].key.Store(9) },
		"given twice": func(c *Cache) { c.give(c.free.pop(c.slots, 0)); c.free.fresh-- },
		"error kept":  func(c *Cache) { c.failures.remember(3, errEnough) },
	}
	for name, wrong := range spoil {
		t.Run(name, func(t *testing.T) {
			c, err := New(Config{Slots: 8, Policy: PolicyClock})
			require.NoError(t, err)
			defer c.memory.free()
			c.AddFile(makeFile(t, 0, bytesOf(0, 2*base.BlockSize)), nil)
			l := c.NewLane(newFakeRing(&plan{}, 0))
			require.NoError(t, l.Visit(context.Background(), 0, all(2), func(int, []byte) error { return nil }))
			require.NoError(t, c.audit())
			wrong(c)
			require.Error(t, c.audit())
		})
	}
}

func benchRig(b *testing.B, c Config, blocks base.BlockNo) (*rig, *Lane) {
	r := newRig(b, c, int64(blocks)*base.BlockSize)
	return r, r.cache.NewLane(zeroRing{newFakeRing(nil, 0)})
}

// zeroRing is a ring whose reads are done at once, and free of charge.
type zeroRing struct{ *fakeRing }

func (r zeroRing) Wait() (*uring.Group, error) { return r.Poll() }

func (r zeroRing) Poll() (*uring.Group, error) {
	if len(r.queue) == 0 {
		return nil, nil
	}
	g := r.queue[0]
	r.queue = r.queue[1:]
	for i := range g.Reads {
		g.Reads[i].N = len(g.Reads[i].Bufs) * base.BlockSize
	}
	return g, nil
}

// BenchmarkHit is one block of a visit whose blocks are all there.
func BenchmarkHit(b *testing.B) {
	for _, policy := range Policies() {
		b.Run(policy, func(b *testing.B) {
			r, l := benchRig(b, Config{Slots: 1 << 14, Policy: policy}, 1<<13)
			list := all(r.blocks(0))
			visit := func() { _ = l.Visit(context.Background(), 0, list, func(int, []byte) error { return nil }) }
			visit()
			b.ReportAllocs()
			b.ResetTimer()
			for range (b.N + len(list) - 1) / len(list) {
				visit()
			}
		})
	}
}

// BenchmarkHitLookup is pin and unpin of a block that is there, at random.
func BenchmarkHitLookup(b *testing.B) {
	r, l := benchRig(b, Config{Slots: 1 << 14, Policy: PolicyLFU}, 1<<13)
	_ = l.Visit(context.Background(), 0, all(1<<13), func(int, []byte) error { return nil })
	dice := rand.New(rand.NewPCG(1, 1))
	var order [1 << 12]key
	for i := range order {
		order[i] = keyOf(0, base.BlockNo(dice.IntN(1<<13)))
	}
	c := r.cache
	b.ResetTimer()
	for i := range b.N {
		k := order[i%len(order)]
		s := c.find(k)
		c.slots[s].pin(k)
		c.unpin(s)
	}
}

// BenchmarkMiss is one block of a visit none of whose blocks is there, but for
// the read itself.
func BenchmarkMiss(b *testing.B) {
	for _, policy := range Policies() {
		b.Run(policy, func(b *testing.B) {
			r, l := benchRig(b, Config{Slots: 1 << 10, Policy: policy}, 1<<13)
			list := all(r.blocks(0))
			b.ReportAllocs()
			b.ResetTimer()
			for range (b.N + len(list) - 1) / len(list) {
				_ = l.Visit(context.Background(), 0, list, func(int, []byte) error { return nil })
			}
		})
	}
}
