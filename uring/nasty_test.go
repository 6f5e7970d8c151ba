//go:build linux

package uring

import (
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"
)

// nasty is a driver that does what the kernel is allowed to do and seldom does:
// it cuts reads short, is interrupted, has no memory, completes out of order and
// late, and wakes from its sleep for nothing.
type nasty struct {
	driver
	ops  []op
	rng  *rand.Rand
	held []completion
}

func openNasty(c Config, ops []op) (driver, error) {
	d, err := openThreads(c, ops)
	return &nasty{driver: d, ops: ops, rng: rand.New(rand.NewPCG(10, 11))}, err
}

func (n *nasty) flush(wait int) error {
	if n.rng.IntN(4) == 0 {
		wait = 0
	}
	return n.driver.flush(max(0, wait-len(n.held)))
}

func (n *nasty) next() (i, res int, ok bool) {
	for {
		i, res, ok := n.driver.next()
		if !ok {
			break
		}
		n.held = append(n.held, completion{i, n.spoil(&n.ops[i], res)})
	}
	if len(n.held) == 0 || n.rng.IntN(4) == 0 {
		return 0, 0, false
	}
	k := n.rng.IntN(len(n.held))
	c := n.held[k]
	n.held = append(n.held[:k], n.held[k+1:]...)
	return c.op, c.res, true
}

func (n *nasty) spoil(o *op, res int) int {
	switch n.rng.IntN(6) {
	case 0:
		return -int(unix.EINTR)
	case 1:
		return -int(unix.EAGAIN)
	case 2:
		// The kernel cuts direct reads at sectors.
		if align := o.read.File.Align(); res > align {
			return max(align, n.rng.IntN(res)&^(align-1))
		}
	}
	return res
}

// stubborn answers every attempt with one result.
type stubborn struct {
	driver
	answer func(o *op, res int) int
	ops    []op
}

func (s *stubborn) next() (i, res int, ok bool) {
	if i, res, ok = s.driver.next(); ok {
		res = s.answer(&s.ops[i], res)
	}
	return i, res, ok
}

func openStubborn(answer func(o *op, res int) int) func(Config, []op) (driver, error) {
	return func(c Config, ops []op) (driver, error) {
		d, err := openThreads(c, ops)
		return &stubborn{driver: d, ops: ops, answer: answer}, err
	}
}

// refusing is a filesystem that takes O_DIRECT at open and refuses it at the
// first read.
func refusing(o *op, res int) int {
	if o.direct {
		return -int(unix.EINVAL)
	}
	return res
}

func TestDirectRefusedAtFirstRead(t *testing.T) {
	data := content(64 * block)
	a := arena(t, 64)
	for _, mode := range []Mode{Direct, DirectOnly} {
		f := tempFile(t, t.TempDir(), data, mode)
		locked(t, func() {
			r, err := openWith(Config{Depth: 16}, openStubborn(refusing))
			require.NoError(t, err)
			defer func() { require.NoError(t, r.Close()) }()
			g := &Group{}
			for i := range 64 {
				g.Reads = append(g.Reads, Read{File: f, Off: int64(i) * block, Bufs: [][]byte{a[i*block : (i+1)*block]}})
			}
			warnings := captureLog(t)
			require.NoError(t, r.Queue(g))
			if mode == Direct {
				finish(t, r, data, 1)
				require.False(t, f.Direct())
				require.Equal(t, 1, f.Align())
				require.Equal(t, 1, warnings(f.Path()))
				flags, err := unix.FcntlInt(uintptr(f.fd), unix.F_GETFL, 0)
				require.NoError(t, err)
				require.Zero(t, flags&unix.O_DIRECT)
				return
			}
			_, err = r.Wait()
			require.NoError(t, err)
			for i := range g.Reads {
				require.ErrorIs(t, g.Reads[i].Err, unix.EINVAL)
			}
			require.True(t, f.Direct())
			require.Zero(t, warnings(f.Path()))
		})
	}
}

// A read that never makes progress ends with the error that it always gets.
func TestNoProgress(t *testing.T) {
	f := tempFile(t, t.TempDir(), content(block), Direct)
	a := arena(t, 1)
	for _, errno := range []unix.Errno{unix.EINTR, unix.EAGAIN, unix.EIO} {
		locked(t, func() {
			r, err := openWith(Config{}, openStubborn(func(*op, int) int { return -int(errno) }))
			require.NoError(t, err)
			defer func() { require.NoError(t, r.Close()) }()
			require.NoError(t, r.Queue(&Group{Reads: []Read{{File: f, Bufs: [][]byte{a}}}}))
			g, err := r.Wait()
			require.NoError(t, err)
			require.ErrorIs(t, g.Reads[0].Err, errno)
			require.Zero(t, g.Reads[0].N)
		})
	}
}

// broken is a driver that the kernel deserts.
type broken struct{ driver }

func (broken) flush(int) error { return unix.EBADF }

func TestBrokenRing(t *testing.T) {
	f := tempFile(t, t.TempDir(), content(block), Direct)
	a := arena(t, 1)
	locked(t, func() {
		r, err := openWith(Config{}, func(c Config, ops []op) (driver, error) {
			d, err := openThreads(c, ops)
			return broken{d}, err
		})
		require.NoError(t, err)
		_ = r.Queue(&Group{Reads: []Read{{File: f, Bufs: [][]byte{a}}}})
		for range 2 {
			_, err = r.Wait()
			require.ErrorIs(t, err, unix.EBADF)
			_, err = r.Poll()
			require.ErrorIs(t, err, unix.EBADF)
			require.ErrorIs(t, r.Queue(&Group{}), unix.EBADF)
		}
		require.ErrorIs(t, r.Close(), unix.EBADF)
		require.NoError(t, r.Close())
	})
}
