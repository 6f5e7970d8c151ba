package bench

import (
	"math/rand/v2"
	"sync/atomic"
	"time"

	"github.com/HdrHistogram/hdrhistogram-go"

	"github.com/aether-ooc/aether-ooc/uring"
)

// deviceLane is one thread that keeps its ring full.
type deviceLane struct {
	file   *uring.File
	places *places
	done   atomic.Int64

	lat, clat, slat *hdrhistogram.Histogram // from being queued, and from being sent, to being back; what is between the two
	kernel          times                   // of the reads that are back and not yet looked at

	from, to           uring.Stats
	fromUsage, toUsage usage
	measuring          bool
}

// times is a queue of as many durations as there are reads in flight.
type times struct {
	ring     []time.Duration
	in, from int
}

func (t *times) put(d time.Duration) {
	t.ring[t.in] = d
	if t.in++; t.in == len(t.ring) {
		t.in = 0
	}
}

func (t *times) take() time.Duration {
	d := t.ring[t.from]
	if t.from++; t.from == len(t.ring) {
		t.from = 0
	}
	return d
}

// places says where and how much a lane reads next.
type places struct {
	mix        []Portion
	weights    int64
	size       int64 // of the file
	sequential bool
	at         int64
	rand       *rand.Rand
}

// newPlaces gives each lane its own random numbers or, of a sequential run, its
// own part of the file to begin with.
func newPlaces(c DeviceConfig, size int64, lane int) *places {
	p := &places{mix: c.mix(), size: size, sequential: c.Sequential, rand: rand.New(rand.NewPCG(c.Seed, uint64(lane)))}
	for _, m := range p.mix {
		p.weights += m.Weight
	}
	p.at = pageUp(size / int64(c.Lanes) * int64(lane))
	return p
}

func (p *places) next() (off, size int64) {
	size = p.pick()
	if !p.sequential {
		return p.rand.Int64N(p.size/size) * size, size
	}
	if p.at+size > p.size {
		p.at = 0
	}
	off = p.at
	p.at += size
	return off, size
}

// pick draws a size of the mix.
func (p *places) pick() int64 {
	if len(p.mix) == 1 {
		return p.mix[0].Bytes
	}
	k := p.rand.Int64N(p.weights)
	for _, m := range p.mix {
		if k < m.Weight {
			return m.Bytes
		}
		k -= m.Weight
	}
	panic("bench: weights do not add up")
}
