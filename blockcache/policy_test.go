package blockcache

import (
	"fmt"
	"math/rand/v2"
	"runtime"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/aether-ooc/aether-ooc/internal/base"
)

// openPolicy makes a policy over two files of so many blocks that are not there.
func openPolicy(t *testing.T, name string, slots, blocks int) (policy, *Cache) {
	c, err := New(Config{Slots: slots, Policy: name})
	require.NoError(t, err)
	var files []*file
	for range 2 {
		files = append(files, &file{where: make([]atomic.Uint32, blocks), heat: make([]counters4, (blocks+3)/4)})
	}
	c.files.Store(&files)
	t.Cleanup(func() {
		c.policy.close()
		require.NoError(t, c.memory.free())
	})
	return c.policy, c
}

func rejections(c *Cache) int64 { return c.file(0).rejected.Load() + c.file(1).rejected.Load() }

// settlePolicy waits until ristretto has looked at every Set.
func settlePolicy(p policy) {
	if r, ok := p.(*ristrettoPolicy); ok {
		r.cache.Wait()
	}
}

// policyModel is a cache without bytes: it uses a policy by the contract, and
// falls back on any slot when there is no advice.
type policyModel struct {
	t     *testing.T
	p     policy
	cache *Cache
	next  slotNo
	hits  int
	asks  int
	swept int
}

func newPolicyModel(t *testing.T, name string, slots, blocks int) *policyModel {
	m := &policyModel{t: t, next: 1}
	m.p, m.cache = openPolicy(t, name, slots, blocks)
	return m
}

func (m *policyModel) ask(no base.BlockNo) {
	m.asks++
	m.p.asked(0, []base.BlockNo{no})
	k := keyOf(0, no)
	if s := m.cache.find(k); s != none {
		m.hits++
		if t, ok := m.p.(toucher); ok {
			t.touch(k, s)
		}
		return
	}
	s, o := m.room(k)
	if o == guest {
		return
	}
	m.cache.where(k).Store(uint32(s))
	m.cache.slots[s].key.Store(uint64(k))
	m.cache.slots[s].to(reading)
	m.cache.slots[s].to(resident)
	m.p.insert(k, s)
}

func (m *policyModel) room(k key) (slotNo, outcome) {
	if n := slotNo(len(m.cache.slots)); m.next < n {
		m.next++
		return m.next - 1, missing
	}
	settlePolicy(m.p)
	s, o := m.p.victim(k)
	if s == none {
		m.swept++
		s = slotNo(1 + m.asks%(len(m.cache.slots)-1))
	}
	require.True(m.t, s > 0 && int(s) < len(m.cache.slots), "slot %d is advised", s)
	if o == missing {
		require.True(m.t, m.cache.evict(s, false))
	}
	return s, o
}

// TestPolicyContract: a policy advises slots that exist, has advice for nearly
// every insertion once the cache is full, and keeps what is asked for often
// through a sweep of what is asked for once.
func TestPolicyContract(t *testing.T) {
	for _, name := range Policies() {
		t.Run(name, func(t *testing.T) {
			const slots, hot = 400, 100
			m := newPolicyModel(t, name, slots, 10_000)
			dice := rand.New(rand.NewPCG(1, 2))
			cold := base.BlockNo(hot)
			for round := range 200 {
				for range 64 {
					m.ask(base.BlockNo(dice.IntN(hot)))
				}
				for range 32 {
					m.ask(cold)
					cold++
				}
				if round == 20 { // warm
					m.hits, m.asks, m.swept = 0, 0, 0
				}
			}
			ratio := float64(m.hits) / float64(m.asks)
			t.Logf("%s: hit ratio %.3f of 0.667 possible, %d of %d without advice", name, ratio, m.swept, m.asks-m.hits)
			require.Greater(t, ratio, 0.55)
			require.Less(t, m.swept, m.asks/20)
		})
	}
}

// TestPolicyForgets: a slot that was emptied without the policy's advice is
// not held against its next block.
func TestPolicyForgets(t *testing.T) {
	advised, c := openPolicy(t, PolicyRistretto, 8, 20)
	p := advised.(*ristrettoPolicy)
	victim := func() slotNo { s, _ := p.victim(noKey); return s }
	old, young := keyOf(1, 10), keyOf(1, 11)
	p.insert(old, 3)
	p.forget(3)
	p.insert(young, 3)
	settlePolicy(p)
	p.doom(3, old) // late news
	require.Equal(t, none, victim())
	p.doom(3, young)
	p.doom(3, young)
	require.Equal(t, slotNo(3), victim())
	require.Equal(t, none, victim(), "a slot is advised once")

	p.doom(3, young)
	p.touch(young, 3) // wanted after all
	settlePolicy(p)
	require.Equal(t, none, victim())
	require.Zero(t, rejections(c))
}

// TestPendingBound: when ristretto does not keep up, blocks are declined, and no
// lane waits.
func TestPendingBound(t *testing.T) {
	advised, c := openPolicy(t, PolicyRistretto, 3*maxPending, maxPending)
	p := advised.(*ristrettoPolicy)
	victim := func() slotNo { s, _ := p.victim(noKey); return s }
	p.pending.Add(maxPending) // as if it slept
	for s := range slotNo(maxPending) {
		p.insert(keyOf(0, base.BlockNo(s)), s+1)
	}
	require.EqualValues(t, maxPending, rejections(c))
	for s := range slotNo(maxPending) {
		require.Equal(t, s+1, victim())
	}
	p.pending.Add(-maxPending)
}

func TestHash(t *testing.T) {
	seen := map[uint64]bool{}
	for _, f := range []FileID{0, 1, 2, 77, 1 << 20} {
		for _, no := range []base.BlockNo{0, 1, 2, 4095, 1 << 31, 1<<32 - 1} {
			k := keyOf(f, no)
			require.Equal(t, k, unhash(hash(k)))
			require.Equal(t, f, k.file())
			require.Equal(t, no, k.block())
			require.NotEqual(t, noKey, k)
			seen[hash(k)] = true
		}
	}
	require.Len(t, seen, 30)
}

// TestRistrettoHeap holds ristrettoHeap to what ristretto really holds after
// some generations of blocks.
func TestRistrettoHeap(t *testing.T) {
	for _, slots := range []int{1, 100, 1000, 15_000, 60_000} {
		m := newPolicyModel(t, PolicyClock, slots, 4*slots)
		memory, err := reserve(ristrettoTables(int64(slots)) + align)
		require.NoError(t, err)
		before := heapInUse()
		m.p, err = openRistretto(m.cache, memory)
		require.NoError(t, err)
		dice := rand.New(rand.NewPCG(1, uint64(slots)))
		for range max(6*slots, 3000) {
			m.ask(base.BlockNo(dice.IntN(4 * slots)))
		}
		settlePolicy(m.p)
		held := heapInUse() - before
		bound := ristrettoHeap(int64(slots))
		t.Logf("%d slots: %d bytes held, %d promised, %.0f a slot", slots, held, bound, float64(held)/float64(slots))
		require.LessOrEqual(t, held, bound)
		runtime.KeepAlive(m)
		m.p.close()
		require.NoError(t, memory.free())
	}
}

func heapInUse() int64 {
	var s runtime.MemStats
	runtime.GC()
	runtime.GC()
	runtime.ReadMemStats(&s)
	return int64(s.HeapAlloc)
}

func ExamplePolicies() {
	fmt.Println(Policies())
	// Output: [clock lfu ristretto]
}
