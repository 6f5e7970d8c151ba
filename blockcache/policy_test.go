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

// openPolicy makes a policy of its own memory.
func openPolicy(t *testing.T, name string, slots int, rejected func(key)) policy {
	m, err := reserve(policies[name].tables(int64(slots)) + align)
	require.NoError(t, err)
	p, err := policies[name].open(policyEnv{slots: slots, slack: slots / 8, memory: m, rejected: rejected})
	require.NoError(t, err)
	t.Cleanup(func() {
		p.close()
		require.NoError(t, m.free())
	})
	return p
}

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
	where map[key]slotNo
	what  []key // by slot number
	next  slotNo
	hits  int
	asks  int
	swept int
}

func (m *policyModel) ask(k key) {
	m.asks++
	if s := m.where[k]; s != none {
		m.hits++
		m.p.touch(k, s)
		return
	}
	m.p.touch(k, none)
	s := m.room()
	m.where[k], m.what[s] = s, k
	m.p.insert(k, s)
}

func (m *policyModel) room() slotNo {
	if int(m.next) < len(m.what) {
		m.next++
		return m.next - 1
	}
	settlePolicy(m.p)
	s := m.p.victim()
	if s == none {
		m.swept++
		s = slotNo(1 + m.asks%(len(m.what)-1))
	}
	require.True(m.t, s > 0 && int(s) < len(m.what), "slot %d is advised", s)
	if m.what[s] != noKey {
		m.where[m.what[s]] = none
		m.p.forget(s)
	}
	return s
}

// TestPolicyContract: a policy advises slots that exist, has advice for nearly
// every insertion once the cache is full, and keeps what is asked for often
// through a sweep of what is asked for once.
func TestPolicyContract(t *testing.T) {
	for _, name := range Policies() {
		t.Run(name, func(t *testing.T) {
			const slots, hot = 400, 100
			m := &policyModel{t: t, where: map[key]slotNo{}, what: make([]key, slots+1), next: 1}
			m.p = openPolicy(t, name, slots, func(key) {})
			dice := rand.New(rand.NewPCG(1, 2))
			cold := base.BlockNo(hot)
			for round := range 200 {
				for range 64 {
					m.ask(keyOf(0, base.BlockNo(dice.IntN(hot))))
				}
				for range 32 {
					m.ask(keyOf(0, cold))
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
	var rejected atomic.Int64
	p := openPolicy(t, PolicyRistretto, 8, func(key) { rejected.Add(1) }).(*ristrettoPolicy)
	old, young := keyOf(1, 10), keyOf(1, 11)
	p.insert(old, 3)
	p.forget(3)
	p.insert(young, 3)
	settlePolicy(p)
	p.doom(3, old) // late news
	require.Equal(t, none, p.victim())
	p.doom(3, young)
	p.doom(3, young)
	require.Equal(t, slotNo(3), p.victim())
	require.Equal(t, none, p.victim(), "a slot is advised once")

	p.doom(3, young)
	p.touch(young, 3) // wanted after all
	settlePolicy(p)
	require.Equal(t, none, p.victim())
	require.Zero(t, rejected.Load())
}

// TestPendingBound: when ristretto does not keep up, blocks are declined, and no
// lane waits.
func TestPendingBound(t *testing.T) {
	var rejected atomic.Int64
	p := openPolicy(t, PolicyRistretto, 3*maxPending, func(key) { rejected.Add(1) }).(*ristrettoPolicy)
	p.pending.Add(maxPending) // as if it slept
	for s := range slotNo(maxPending) {
		p.insert(keyOf(0, base.BlockNo(s)), s+1)
	}
	require.EqualValues(t, maxPending, rejected.Load())
	for s := range slotNo(maxPending) {
		require.Equal(t, s+1, p.victim())
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
		m := &policyModel{t: t, where: map[key]slotNo{}, what: make([]key, slots+1), next: 1}
		for no := range 4 * slots { // so that the model does not grow
			m.where[keyOf(0, base.BlockNo(no))] = none
		}
		before := heapInUse()
		m.p = openPolicy(t, PolicyRistretto, slots, func(key) {})
		dice := rand.New(rand.NewPCG(1, uint64(slots)))
		for range max(6*slots, 3000) {
			m.ask(keyOf(0, base.BlockNo(dice.IntN(4*slots))))
		}
		settlePolicy(m.p)
		held := heapInUse() - before
		bound := ristrettoHeap(int64(slots))
		t.Logf("%d slots: %d bytes held, %d promised, %.0f a slot", slots, held, bound, float64(held)/float64(slots))
		require.LessOrEqual(t, held, bound)
		runtime.KeepAlive(m)
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
	// Output: [clock ristretto]
}
