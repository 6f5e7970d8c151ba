package bench

import (
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/aether-ooc/aether-ooc/blockcache"
	"github.com/aether-ooc/aether-ooc/internal/base"
)

// randomTrace asks for some blocks often and for most now and then.
func randomTrace(dice *rand.Rand, asks, span, slots int) *Trace {
	t := &Trace{Span: span, Slots: slots}
	z := rand.NewZipf(dice, 1.2, 1, uint64(span-1))
	for range asks {
		t.Blocks = append(t.Blocks, base.BlockNo(z.Uint64()))
		t.Ends = append(t.Ends, len(t.Blocks))
	}
	return t
}

// naiveSieve is SIEVE as its paper tells it, in a slice, young end first.
func naiveSieve(t *Trace) (hits int) {
	type object struct {
		b       base.BlockNo
		visited bool
	}
	var queue []*object
	var hand *object
	at := func(o *object) int { return slices.Index(queue, o) }
	for _, b := range t.Blocks {
		if i := slices.IndexFunc(queue, func(o *object) bool { return o.b == b }); i >= 0 {
			queue[i].visited = true
			hits++
			continue
		}
		if len(queue) == t.Slots {
			if hand == nil {
				hand = queue[len(queue)-1]
			}
			for hand.visited {
				hand.visited = false
				hand = queue[(at(hand)-1+len(queue))%len(queue)]
			}
			i := at(hand)
			if hand = nil; i > 0 {
				hand = queue[i-1]
			}
			queue = slices.Delete(queue, i, i+1)
		}
		queue = slices.Insert(queue, 0, &object{b: b})
	}
	return hits
}

// naiveS3FIFO is algorithm 1 of S3-FIFO's paper, in slices, old end first.
func naiveS3FIFO(t *Trace) (hits int) {
	var small, main, ghost []base.BlockNo
	freq := map[base.BlockNo]int{}
	evict := func() {
		if len(small) >= max(1, t.Slots/10) || len(main) == 0 {
			b := small[0]
			if small = small[1:]; freq[b] > 1 {
				main, freq[b] = append(main, b), 0
				return
			}
			ghost = append(ghost, b)
			return
		}
		b := main[0]
		if main = main[1:]; freq[b] > 0 {
			main, freq[b] = append(main, b), freq[b]-1
		}
	}
	for _, b := range t.Blocks {
		if slices.Contains(small, b) || slices.Contains(main, b) {
			freq[b] = min(freq[b]+1, 3)
			hits++
			continue
		}
		for len(small)+len(main) >= t.Slots {
			evict()
		}
		freq[b] = 0
		if slices.Contains(ghost[max(0, len(ghost)-t.Slots):], b) {
			main = append(main, b)
		} else {
			small = append(small, b)
		}
	}
	return hits
}

// naiveBelady looks ahead at every miss.
func naiveBelady(t *Trace) (hits int) {
	there := map[base.BlockNo]bool{}
	next := func(i int, b base.BlockNo) int {
		if k := slices.Index(t.Blocks[i+1:], b); k >= 0 {
			return k
		}
		return len(t.Blocks)
	}
	for i, b := range t.Blocks {
		if there[b] {
			hits++
			continue
		}
		there[b] = true
		if len(there) <= t.Slots {
			continue
		}
		worst := b
		for c := range there {
			if next(i, c) > next(i, worst) {
				worst = c
			}
		}
		delete(there, worst)
	}
	return hits
}

func TestModels(t *testing.T) {
	dice := rand.New(rand.NewPCG(1, 2))
	for range 60 {
		trace := randomTrace(dice, 400, 2+dice.IntN(60), 1+dice.IntN(20))
		ratios := map[string]float64{}
		for _, k := range models {
			p := replayModel(k, trace)
			ratios[p.Name] = p.HitRatio
			require.True(t, p.Model)
		}
		n := float64(len(trace.Blocks))
		require.InDelta(t, float64(naiveSieve(trace))/n, ratios["sieve"], 1e-9)
		require.InDelta(t, float64(naiveBelady(trace))/n, ratios["belady"], 1e-9)
		require.InDelta(t, float64(naiveS3FIFO(trace))/n, ratios["s3-fifo"], 1e-9)
		require.GreaterOrEqual(t, ratios["belady"], ratios["sieve"])
		require.GreaterOrEqual(t, ratios["belady"], ratios["s3-fifo"])
	}
}

// TestReplay: the real cache is asked for every block of the trace, and with room
// for all of them only the first of each misses.
func TestReplay(t *testing.T) {
	trace := randomTrace(rand.New(rand.NewPCG(3, 4)), 3000, 40, 200)
	distinct := map[base.BlockNo]bool{}
	for _, b := range trace.Blocks {
		distinct[b] = true
	}
	for _, name := range blockcache.Policies() {
		p, err := replayPolicy(t.Context(), name, trace)
		require.NoError(t, err)
		require.InDelta(t, 1-float64(len(distinct))/3000, p.HitRatio, 1e-9, name)
		require.Positive(t, p.Bytes)
	}
	small := *trace
	small.Slots, small.Ramp = 8, 1000
	p, err := replayPolicy(t.Context(), blockcache.PolicyClock, &small)
	require.NoError(t, err)
	require.Less(t, p.HitRatio, replayModel(models[len(models)-1], &small).HitRatio)
}

// TestRecorder numbers the blocks of two files one after the other.
func TestRecorder(t *testing.T) {
	r := &recorder{}
	r.visit(0, []base.BlockNo{1, 4})
	r.visit(2, []base.BlockNo{0, 3})
	r.mark = len(r.visits)
	r.visit(0, []base.BlockNo{2})
	got := r.trace(7)
	require.Equal(t, &Trace{Blocks: []base.BlockNo{1, 4, 5, 8, 2}, Ends: []int{2, 4, 5}, Ramp: 4, Span: 9, Slots: 7}, got)
}
