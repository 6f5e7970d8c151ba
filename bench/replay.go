package bench

import (
	"context"
	"errors"
	"fmt"
	"os"
	"time"

	"github.com/aether-ooc/aether-ooc/blockcache"
	"github.com/aether-ooc/aether-ooc/internal/base"
	"github.com/aether-ooc/aether-ooc/uring"
)

// PolicyResult is how a policy did on a trace.
type PolicyResult struct {
	Name     string  `json:"name"`
	Model    bool    `json:"model"`     // for replay only: without a cache around it
	HitRatio float64 `json:"hit_ratio"` // after the ramp
	NsPerAsk float64 `json:"ns_per_block"`
	Bytes    int64   `json:"policy_bytes"` // beside the blocks: tables and heap; of a model what it would take at least
	Rejected int64   `json:"rejected"`     // blocks that it declined to keep
}

// replayModel asks a model for every block of a trace.
func replayModel(k modelKind, t *Trace) PolicyResult {
	m := k.open(t)
	hits := 0
	begun := time.Now()
	for i, b := range t.Blocks {
		if m.ask(i, b) && i >= t.Ramp {
			hits++
		}
	}
	return PolicyResult{
		Name: k.name, Model: true, HitRatio: ratio(float64(hits), float64(len(t.Blocks)-t.Ramp)),
		NsPerAsk: ratio(float64(time.Since(begun)), float64(len(t.Blocks))), Bytes: k.slotBytes * int64(t.Slots),
	}
}

// replayPolicy visits the blocks of a trace through a real cache whose reads take
// no time.
func replayPolicy(ctx context.Context, policy string, t *Trace) (p PolicyResult, err error) {
	config := blockcache.Config{Slots: t.Slots, Policy: policy, Blocks: int64(t.Span)}
	c, err := blockcache.New(config)
	if err != nil {
		return p, err
	}
	file, err := hollow(t.Span)
	if err != nil {
		return p, errors.Join(err, c.Close())
	}
	defer func() { err = errors.Join(err, c.Close(), file.Close()) }()
	id, lane := c.AddFile(file, nil), c.NewLane(&instantRing{})
	seen := func(int, []byte) error { return nil }
	var ramp blockcache.Stats
	begun, from := time.Now(), 0
	for _, end := range t.Ends {
		if err := lane.Visit(ctx, id, t.Blocks[from:end], seen); err != nil {
			return p, err
		}
		if from = end; end == t.Ramp {
			ramp = c.Stats()
		}
	}
	took, s := time.Since(begun), c.Stats()
	asked := s.Asked() - ramp.Asked()
	return PolicyResult{
		Name: policy, HitRatio: ratio(float64(asked-(s.Misses-ramp.Misses)), float64(asked)),
		NsPerAsk: ratio(float64(took), float64(len(t.Blocks))),
		Bytes:    blockcache.Footprint(config) - int64(t.Slots)*base.BlockSize, Rejected: s.Rejected - ramp.Rejected,
	}, nil
}

// hollow is a file of n blocks without a byte in them.
func hollow(n int) (*uring.File, error) {
	f, err := os.CreateTemp("", "aether-ooc-bench-*")
	if err != nil {
		return nil, fmt.Errorf("bench: %w", err)
	}
	defer os.Remove(f.Name())
	if err := errors.Join(f.Truncate(int64(n)*base.BlockSize), f.Close()); err != nil {
		return nil, err
	}
	return uring.OpenFile(f.Name(), uring.Buffered)
}

// instantRing is a uring.Ring whose reads are done as soon as they are queued,
// and bring nothing.
type instantRing struct {
	done     []*uring.Group
	inFlight int
	stats    uring.Stats
}

func (r *instantRing) Queue(g *uring.Group) error {
	for i := range g.Reads {
		read := &g.Reads[i]
		read.N, read.Err = 0, nil
		for _, b := range read.Bufs {
			read.N += len(b)
		}
		r.stats.Reads++
		r.stats.Bytes += int64(read.N)
	}
	r.inFlight += len(g.Reads)
	r.done = append(r.done, g)
	return nil
}

func (r *instantRing) Poll() (*uring.Group, error) {
	if len(r.done) == 0 {
		return nil, nil
	}
	g := r.done[0]
	r.done = r.done[1:]
	r.inFlight -= len(g.Reads)
	return g, nil
}

func (r *instantRing) Wait() (*uring.Group, error) { return r.Poll() }
func (r *instantRing) Wake()                       {}
func (r *instantRing) InFlight() int               { return r.inFlight }
func (r *instantRing) Stats() uring.Stats          { return r.stats }
func (r *instantRing) Close() error                { return nil }
