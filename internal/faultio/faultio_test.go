//go:build linux

package faultio

import (
	"bytes"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"sync"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/aether-ooc/aether-ooc/uring"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

const block = 4096

// withRing runs a test on a wrapped ring over each backend.
func withRing(t *testing.T, plan func() *Plan, test func(t *testing.T, r uring.Ring, f *uring.File, p *Plan)) {
	path := filepath.Join(t.TempDir(), "data")
	require.NoError(t, os.WriteFile(path, bytes.Repeat([]byte("x"), 64*block), 0o600))
	f, err := uring.OpenFile(path, uring.Buffered)
	require.NoError(t, err)
	defer func() { require.NoError(t, f.Close()) }()
	for _, backend := range uring.Backends() {
		t.Run(backend, func(t *testing.T) {
			runtime.LockOSThread()
			defer runtime.UnlockOSThread()
			inner, err := uring.Open(uring.Config{Backend: backend, Depth: 8})
			require.NoError(t, err)
			p := plan()
			r := Wrap(inner, p)
			defer func() { require.NoError(t, r.Close()) }()
			test(t, r, f, p)
		})
	}
}

func group(f *uring.File, tag, reads int) *uring.Group {
	g := &uring.Group{Tag: tag}
	for i := range reads {
		g.Reads = append(g.Reads, uring.Read{File: f, Off: int64(i) * block, Bufs: [][]byte{make([]byte, 1000), make([]byte, block-1000)}})
	}
	return g
}

// run queues groups one after the other and gives the first error.
func run(t *testing.T, r uring.Ring, f *uring.File, groups, reads int) error {
	for tag := range groups {
		require.NoError(t, r.Queue(group(f, tag, reads)))
		g, err := r.Wait()
		require.NoError(t, err)
		require.Equal(t, tag, g.Tag)
		for i := range g.Reads {
			if err := g.Reads[i].Err; err != nil {
				return err
			}
		}
	}
	return nil
}

// The loop that the package is for.
func TestFailEach(t *testing.T) {
	withRing(t, func() *Plan { return nil }, func(t *testing.T, r uring.Ring, f *uring.File, _ *Plan) {
		inner := r.(*ring).Ring
		for k := int64(0); ; k++ {
			p := FailAt(k, syscall.EIO)
			err := run(t, Wrap(inner, p), f, 3, 4)
			if p.Fired() == 0 {
				require.NoError(t, err)
				require.EqualValues(t, 12, k)
				require.EqualValues(t, 12, p.Seen())
				break
			}
			require.ErrorIs(t, err, syscall.EIO)
			var op *uring.OpError
			require.ErrorAs(t, err, &op)
			require.Equal(t, k%4*block, op.Off)
			require.Equal(t, block, op.Len)
		}
	})
}

func TestSpoiledBytes(t *testing.T) {
	for _, c := range []struct {
		fault Fault
		good  int
	}{
		{Fault{}, block},
		{Fault{Err: syscall.EIO}, 0},
		{Fault{Shorten: true}, 0},
		{Fault{Shorten: true, Keep: 999}, 999},
		{Fault{Shorten: true, Keep: 1001}, 1001},
		{Fault{Shorten: true, Keep: 2 * block}, block},
	} {
		withRing(t, func() *Plan { return NewPlan(func(int64) Fault { return c.fault }) }, func(t *testing.T, r uring.Ring, f *uring.File, p *Plan) {
			require.NoError(t, r.Queue(group(f, 0, 1)))
			g, err := r.Wait()
			require.NoError(t, err)
			read := g.Reads[0]
			require.Equal(t, c.good, read.N)
			require.Equal(t, c.fault.Err != nil, read.Err != nil)
			want := append(bytes.Repeat([]byte("x"), c.good), bytes.Repeat([]byte{Garbage}, block-c.good)...)
			require.Equal(t, want, slices.Concat(read.Bufs...))
		})
	}
}

// A read's own error is not covered up.
func TestOwnError(t *testing.T) {
	withRing(t, func() *Plan { return FailAt(0, syscall.EIO) }, func(t *testing.T, r uring.Ring, f *uring.File, p *Plan) {
		g := group(f, 0, 1)
		g.Reads[0].Off = -1
		require.NoError(t, r.Queue(g))
		_, err := r.Wait()
		require.NoError(t, err)
		require.ErrorIs(t, g.Reads[0].Err, syscall.EINVAL)
	})
}

// fifo is a ring whose groups finish in the order in which they were queued.
type fifo struct {
	uring.Ring
	groups []*uring.Group
}

func (q *fifo) Queue(g *uring.Group) error {
	q.groups = append(q.groups, g)
	return nil
}

func (q *fifo) Wait() (*uring.Group, error) {
	g := q.groups[0]
	q.groups = q.groups[1:]
	return g, nil
}

func (q *fifo) InFlight() int { return len(q.groups) }

func TestDelay(t *testing.T) {
	for _, c := range []struct {
		groups int
		want   []int
	}{
		{0, []int{0, 1, 2}},
		{1, []int{1, 0, 2}},
		{2, []int{1, 2, 0}},
		{9, []int{1, 2, 0}}, // nothing else can come
	} {
		r := Wrap(&fifo{}, DelayAt(0, c.groups))
		for tag := range 3 {
			require.NoError(t, r.Queue(&uring.Group{Tag: tag, Reads: make([]uring.Read, 1)}))
		}
		var got []int
		for left := 3; left > 0; left-- {
			require.Equal(t, left, r.InFlight())
			g, err := r.Wait()
			require.NoError(t, err)
			got = append(got, g.Tag.(int))
		}
		require.Equal(t, c.want, got)
		require.Zero(t, r.InFlight())
	}
}

func TestShuffle(t *testing.T) {
	withRing(t, func() *Plan { return Shuffle(1, 5) }, func(t *testing.T, r uring.Ring, f *uring.File, p *Plan) {
		seen := map[int]bool{}
		for tag := range 200 {
			require.NoError(t, r.Queue(group(f, tag, 1)))
		}
		inOrder := true
		for i := range 200 {
			g, err := r.Wait()
			require.NoError(t, err)
			inOrder = inOrder && g.Tag == i
			seen[g.Tag.(int)] = true
		}
		require.Len(t, seen, 200)
		require.False(t, inOrder)
	})
}

// Wakes go through, also while groups are held back, and a Poll finds held ones.
func TestWake(t *testing.T) {
	withRing(t, func() *Plan { return NewPlan(func(int64) Fault { return Fault{Delay: 100} }) }, func(t *testing.T, r uring.Ring, f *uring.File, p *Plan) {
		var others sync.WaitGroup
		for range 20 {
			others.Go(r.Wake)
			g, err := r.Wait()
			require.NoError(t, err)
			require.Nil(t, g)
			others.Wait()
		}
		require.NoError(t, r.Queue(group(f, 7, 1)))
		for {
			g, err := r.Poll()
			require.NoError(t, err)
			if g != nil {
				require.Equal(t, 7, g.Tag)
				break
			}
			runtime.Gosched()
		}
		r.Wake()
		g, err := r.Wait()
		require.NoError(t, err)
		require.Nil(t, g)
	})
}
