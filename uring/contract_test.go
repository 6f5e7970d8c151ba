//go:build linux

package uring

import (
	"bytes"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"
	"unsafe"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"
	"golang.org/x/sys/unix"

	"github.com/aether-ooc/aether-ooc/internal/invariants"
)

func TestMain(m *testing.M) {
	if code, ok := runChild(); ok {
		os.Exit(code)
	}
	goleak.VerifyTestMain(m)
}

// variant is a way to open a ring, which has to keep the contract.
type variant struct {
	name string
	open func(Config) (Ring, error)
}

// variants are all backends as Open gives them, what io_uring is on older
// kernels and where features are refused, and drivers that misbehave within
// what the kernel allows. A new backend is here by being in the table of Open.
func variants() []variant {
	var vs []variant
	for _, name := range append(Backends(), "auto") {
		vs = append(vs, variant{name, func(c Config) (Ring, error) { c.Backend = name; return Open(c) }})
	}
	for name, g := range map[string]grants{
		"uring/coop":       {flags: setupFlags[1:], files: true, buffers: true},
		"uring/coop-multi": {flags: setupFlags[2:], files: true, buffers: true},
		"uring/plain":      {flags: setupFlags[3:]},
		"uring/no-files":   {flags: setupFlags, buffers: true},
		"uring/no-buffers": {flags: setupFlags, files: true},
	} {
		vs = append(vs, variant{name, func(c Config) (Ring, error) {
			g.queue = newQueues
			return openWith(c, func(c Config, ops []op) (driver, error) { return openRingsWith(c, ops, g) })
		}})
	}
	return append(vs, variant{"nasty", func(c Config) (Ring, error) {
		return openWith(c, openNasty)
	}})
}

func openWith(c Config, open func(Config, []op) (driver, error)) (Ring, error) {
	c, err := c.complete()
	if err != nil {
		return nil, err
	}
	return newRing(c, min(c.Depth, maxThreads), open)
}

// forEach runs a test on every variant, on a thread of its own.
func forEach(t *testing.T, c Config, test func(t *testing.T, r Ring)) {
	for _, v := range variants() {
		t.Run(v.name, func(t *testing.T) {
			locked(t, func() {
				r, err := v.open(c)
				require.NoError(t, err)
				defer func() { require.NoError(t, r.Close()) }()
				test(t, r)
			})
		})
	}
}

// locked runs f as a ring's owner has to, and checks that it leaves no
// descriptor behind.
func locked(t *testing.T, f func()) {
	t.Helper()
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	before := descriptors(t)
	f()
	require.ElementsMatch(t, before, descriptors(t))
}

func descriptors(t *testing.T) []string {
	t.Helper()
	entries, err := os.ReadDir("/proc/self/fd")
	require.NoError(t, err)
	var open []string
	for _, e := range entries {
		if target, err := os.Readlink("/proc/self/fd/" + e.Name()); err == nil {
			open = append(open, e.Name()+" "+target)
		}
	}
	return open
}

const block = 4096

// content is what test files hold: every 8 bytes are a number of their own.
func content(n int) []byte {
	b := make([]byte, (n+7)/8*8)
	for i := 0; i < len(b); i += 8 {
		*(*uint64)(unsafe.Pointer(&b[i])) = uint64(i)*0x9e3779b97f4a7c15 + 1
	}
	return b[:n]
}

// tempFile writes content into a file and opens it.
func tempFile(t *testing.T, dir string, data []byte, m Mode) *File {
	t.Helper()
	path := filepath.Join(dir, "data")
	require.NoError(t, os.WriteFile(path, data, 0o600))
	f, err := OpenFile(path, m)
	require.NoError(t, err)
	t.Cleanup(func() { _ = f.Close() })
	return f
}

// arena is memory as the cache has it.
func arena(t *testing.T, blocks int) []byte {
	t.Helper()
	a, err := unix.Mmap(-1, 0, blocks*block, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_ANON|unix.MAP_PRIVATE)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, unix.Munmap(a)) })
	return a
}

// expect says whether a read that is done did what the contract says.
func expect(t *testing.T, data []byte, r *Read) {
	t.Helper()
	require.NoError(t, r.Err)
	want := data[min(int(r.Off), len(data)):min(int(r.Off)+r.want(), len(data))]
	require.Equal(t, len(want), r.N)
	for _, b := range r.Bufs {
		n := min(len(b), len(want))
		require.True(t, bytes.Equal(want[:n], b[:n]), "wrong bytes at offset %d", r.Off)
		want = want[n:]
	}
}

// finish waits for groups and checks each of their reads.
func finish(t *testing.T, r Ring, data []byte, groups int) {
	t.Helper()
	for range groups {
		g, err := r.Wait()
		require.NoError(t, err)
		require.NotNil(t, g)
		for i := range g.Reads {
			expect(t, data, &g.Reads[i])
		}
	}
	require.Zero(t, r.InFlight())
}

// places is where files of the tests lie: a filesystem with O_DIRECT, its page
// cache, and one that is memory.
func places(t *testing.T) map[string]*File {
	t.Helper()
	data := content(1<<20 + 1234)
	shm, err := os.MkdirTemp("/dev/shm", "uring")
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, os.RemoveAll(shm)) })
	return map[string]*File{
		"direct":   tempFile(t, t.TempDir(), data, Direct),
		"buffered": tempFile(t, t.TempDir(), data, Buffered),
		"tmpfs":    tempFile(t, shm, data, Direct),
	}
}

func TestRandomReads(t *testing.T) {
	data := content(1<<20 + 1234)
	a := arena(t, 3000)
	for place, f := range places(t) {
		t.Run(place, func(t *testing.T) {
			forEach(t, Config{Depth: 64, Arena: a[:2000*block]}, func(t *testing.T, r Ring) {
				rng := rand.New(rand.NewPCG(1, 2))
				bufs := pieces(a, rng)
				groups := 0
				for bufs.left() > 40 {
					g := &Group{}
					for range rng.IntN(20) {
						blocks := 1 + rng.IntN(8)
						off := rng.Int64N(int64(len(data))/block+3) * block
						g.Reads = append(g.Reads, Read{File: f, Off: off, Bufs: bufs.some(blocks)})
					}
					require.NoError(t, r.Queue(g))
					groups++
				}
				finish(t, r, data, groups)
				s := r.Stats()
				require.Zero(t, s.Errors)
				require.EqualValues(t, groups, s.Groups)
			})
		})
	}
}

// pool gives out blocks of an arena in random order.
type pool struct {
	arena []byte
	order []int
	rng   *rand.Rand
}

func pieces(a []byte, rng *rand.Rand) *pool {
	return &pool{a, rng.Perm(len(a) / block), rng}
}

func (p *pool) left() int { return len(p.order) }

// some gives n blocks (as many as there are) as several pieces.
func (p *pool) some(n int) [][]byte {
	var bufs [][]byte
	for _, at := range p.order[:min(n, len(p.order))] {
		bufs = append(bufs, p.arena[at*block:(at+1)*block])
	}
	p.order = p.order[len(bufs):]
	return bufs
}

// A read of more pieces than a system call takes.
func TestManyPieces(t *testing.T) {
	data := content(2500 * block)
	f := tempFile(t, t.TempDir(), data, Direct)
	a := arena(t, 2600)
	forEach(t, Config{Depth: 4}, func(t *testing.T, r Ring) {
		p := pieces(a, rand.New(rand.NewPCG(3, 4)))
		require.NoError(t, r.Queue(&Group{Reads: []Read{{File: f, Bufs: p.some(2500)}}}))
		finish(t, r, data, 1)
	})
}

func TestEndOfFile(t *testing.T) {
	a := arena(t, 8)
	for _, size := range []int{0, 1, 511, 512, 4095, 4096, 4097, 8192, 10000} {
		data := content(size)
		f := tempFile(t, t.TempDir(), data, Direct)
		forEach(t, Config{Depth: 2}, func(t *testing.T, r Ring) {
			g := &Group{}
			for off := int64(0); off < 4*block; off += block {
				g.Reads = append(g.Reads, Read{File: f, Off: off, Bufs: [][]byte{a[:block], a[block : 3*block]}})
				require.NoError(t, r.Queue(g))
				finish(t, r, data, 1)
				g.Reads = g.Reads[:0]
			}
		})
	}
}

// A file that has lost its end since it was opened.
func TestTruncated(t *testing.T) {
	a := arena(t, 4)
	for _, left := range []int64{0, 1, 512, 5000, 8192} {
		data := content(16384)
		f := tempFile(t, t.TempDir(), data, Direct)
		require.NoError(t, os.Truncate(f.Path(), left))
		forEach(t, Config{Depth: 2}, func(t *testing.T, r Ring) {
			require.NoError(t, r.Queue(&Group{Reads: []Read{{File: f, Bufs: [][]byte{a[:3*block], a[3*block:]}}}}))
			finish(t, r, data[:left], 1)
		})
	}
}

func TestErrors(t *testing.T) {
	f := tempFile(t, t.TempDir(), content(4*block), Direct)
	closed := tempFile(t, t.TempDir(), content(block), Direct)
	require.NoError(t, closed.Close())
	a := arena(t, 4)
	whole := [][]byte{a[:block]}
	cases := []struct {
		read Read
		want error
	}{
		{Read{File: f, Off: -block, Bufs: whole}, unix.EINVAL},
		{Read{File: f, Off: 1<<63 - block, Bufs: whole}, unix.EINVAL},
		{Read{File: f, Off: 1, Bufs: whole}, unix.EINVAL},
		{Read{File: f, Bufs: [][]byte{a[1 : block+1]}}, unix.EINVAL},
		{Read{File: f, Bufs: [][]byte{a[:100]}}, unix.EINVAL},
		{Read{File: f, Bufs: [][]byte{a[:block], a[block : block+100]}}, unix.EINVAL},
		{Read{File: closed, Bufs: whole}, os.ErrClosed},
		{Read{File: f, Bufs: whole}, nil},
		{Read{File: f}, nil},
		{Read{File: f, Bufs: [][]byte{nil, a[:block], {}}}, nil},
	}
	forEach(t, Config{Depth: 3}, func(t *testing.T, r Ring) {
		g := &Group{Tag: "cases"}
		for _, c := range cases {
			g.Reads = append(g.Reads, c.read)
		}
		require.NoError(t, r.Queue(g))
		got, err := r.Wait()
		require.NoError(t, err)
		require.Same(t, g, got)
		for i, c := range cases {
			read := got.Reads[i]
			if c.want == nil {
				require.NoError(t, read.Err)
				require.Equal(t, read.want(), read.N)
				continue
			}
			var op *OpError
			require.ErrorAs(t, read.Err, &op)
			require.ErrorIs(t, read.Err, c.want)
			require.Equal(t, c.read.File.Path(), op.Path)
			require.Equal(t, c.read.Off, op.Off)
		}
		require.EqualValues(t, 7, r.Stats().Errors)
	})
}

func TestEmptyGroups(t *testing.T) {
	forEach(t, Config{}, func(t *testing.T, r Ring) {
		for range 3 {
			require.NoError(t, r.Queue(&Group{}))
		}
		finish(t, r, nil, 3)
		g, err := r.Poll()
		require.NoError(t, err)
		require.Nil(t, g)
	})
}

// 10,000 reads, all queued at once, far beyond the depth; and what the ring says
// of itself afterwards.
func TestManyReads(t *testing.T) {
	data := content(1 << 20)
	f := tempFile(t, t.TempDir(), data, Direct)
	a := arena(t, 10_000)
	for _, per := range []int{1, 10_000} {
		t.Run(fmt.Sprint(per), func(t *testing.T) {
			forEach(t, Config{Depth: 256, Arena: a}, func(t *testing.T, r Ring) {
				rng := rand.New(rand.NewPCG(5, 6))
				for i := 0; i < 10_000; i += per {
					g := &Group{Reads: make([]Read, per)}
					for j := range g.Reads {
						at := (i + j) * block
						g.Reads[j] = Read{File: f, Off: rng.Int64N(256) * block, Bufs: [][]byte{a[at : at+block]}}
					}
					require.NoError(t, r.Queue(g))
				}
				require.Equal(t, 10_000, r.InFlight())
				finish(t, r, data, 10_000/per)
				s := r.Stats()
				require.EqualValues(t, 10_000, s.Reads)
				require.EqualValues(t, 10_000*block, s.Bytes)
				require.GreaterOrEqual(t, s.Attempts, s.Reads)
				require.LessOrEqual(t, s.MeanDepth(), float64(s.Depth))
				require.Greater(t, s.MeanDepth(), float64(s.Depth)/2)
				if s.Backend == "uring" {
					require.GreaterOrEqual(t, s.ReadsPerSyscall(), 8.0)
				}
			})
		})
	}
}

func TestPoll(t *testing.T) {
	data := content(64 * block)
	f := tempFile(t, t.TempDir(), data, Direct)
	a := arena(t, 64)
	forEach(t, Config{Depth: 8}, func(t *testing.T, r Ring) {
		g := &Group{}
		for i := range 64 {
			g.Reads = append(g.Reads, Read{File: f, Off: int64(i) * block, Bufs: [][]byte{a[i*block : (i+1)*block]}})
		}
		require.NoError(t, r.Queue(g))
		for {
			got, err := r.Poll()
			require.NoError(t, err)
			if got != nil {
				require.Same(t, g, got)
				break
			}
			runtime.Gosched()
		}
		for i := range g.Reads {
			expect(t, data, &g.Reads[i])
		}
	})
}

// A Wake before a Wait ends that Wait, and only that; Poll leaves it alone.
func TestWakeBeforeWait(t *testing.T) {
	data := content(block)
	f := tempFile(t, t.TempDir(), data, Direct)
	a := arena(t, 1)
	forEach(t, Config{}, func(t *testing.T, r Ring) {
		for range 3 {
			r.Wake()
			r.Wake()
			g, err := r.Poll()
			require.NoError(t, err)
			require.Nil(t, g)
			g, err = r.Wait()
			require.NoError(t, err)
			require.Nil(t, g)
			require.NoError(t, r.Queue(&Group{Reads: []Read{{File: f, Bufs: [][]byte{a}}}}))
			finish(t, r, data, 1)
		}
		require.EqualValues(t, 3, r.Stats().Wakes)
	})
}

// With nothing to read, a Wait sleeps until a Wake from another thread.
func TestWakeEndsSleep(t *testing.T) {
	forEach(t, Config{}, func(t *testing.T, r Ring) {
		turns := make(chan int)
		var others sync.WaitGroup
		others.Go(func() {
			for range turns {
				r.Wake()
			}
		})
		for i := range 100 {
			turns <- i // unbuffered: the Wake may come before, at the start of, or in the Wait
			if i%10 == 0 {
				time.Sleep(time.Millisecond) // almost always before
			}
			g, err := r.Wait()
			require.NoError(t, err)
			require.Nil(t, g)
		}
		close(turns)
		others.Wait()
	})
}

// What was done before a Wake is seen after it, however Wakes, Waits and reads
// interleave.
func TestNoWakeIsLost(t *testing.T) {
	data := content(256 * block)
	f := tempFile(t, t.TempDir(), data, Direct)
	a := arena(t, 8)
	const wakers, messages = 4, 500
	forEach(t, Config{Depth: 8}, func(t *testing.T, r Ring) {
		var mu sync.Mutex
		mail := 0
		var others sync.WaitGroup
		for range wakers {
			others.Go(func() {
				for range messages {
					mu.Lock()
					mail++
					mu.Unlock()
					r.Wake()
				}
			})
		}
		rng := rand.New(rand.NewPCG(7, 8))
		free := []int{0, 1, 2, 3, 4, 5, 6, 7}
		for read := 0; read < wakers*messages; {
			if len(free) > 4 && rng.IntN(2) == 0 {
				b := free[len(free)-1]
				free = free[:len(free)-1]
				require.NoError(t, r.Queue(&Group{Tag: b, Reads: []Read{{File: f, Off: rng.Int64N(256) * block, Bufs: [][]byte{a[b*block : (b+1)*block]}}}}))
			}
			g, err := r.Wait()
			require.NoError(t, err)
			if g != nil {
				expect(t, data, &g.Reads[0])
				free = append(free, g.Tag.(int))
				continue
			}
			mu.Lock()
			read += mail
			mail = 0
			mu.Unlock()
		}
		others.Wait()
	})
}

// Close waits for what is under way and gives up the rest.
func TestCloseWithReadsInFlight(t *testing.T) {
	data := content(1 << 20)
	f := tempFile(t, t.TempDir(), data, Direct)
	a := arena(t, 500)
	for _, v := range variants() {
		t.Run(v.name, func(t *testing.T) {
			locked(t, func() {
				r, err := v.open(Config{Depth: 16})
				require.NoError(t, err)
				var groups []*Group
				for i := range 500 {
					g := &Group{Reads: []Read{{File: f, Off: int64(i%256) * block, Bufs: [][]byte{a[i*block : (i+1)*block]}}}}
					require.NoError(t, r.Queue(g))
					groups = append(groups, g)
				}
				require.NoError(t, r.Close())
				require.NoError(t, r.Close())
				given := 0
				for _, g := range groups {
					if g.Reads[0].Err != nil {
						require.ErrorIs(t, g.Reads[0].Err, ErrClosed)
						given++
						continue
					}
					expect(t, data, &g.Reads[0])
				}
				require.Equal(t, 500-16, given)
				require.Zero(t, r.InFlight())
				r.Wake()
				require.ErrorIs(t, r.Queue(&Group{}), ErrClosed)
				_, err = r.Wait()
				require.ErrorIs(t, err, ErrClosed)
				_, err = r.Poll()
				require.ErrorIs(t, err, ErrClosed)
				require.EqualValues(t, 500, r.Stats().Reads)
			})
		})
	}
}

// A file that is closed while it is read stays open until the reads are done;
// those in the backlog fail.
func TestCloseFileWithReadsInFlight(t *testing.T) {
	data := content(1 << 20)
	a := arena(t, 100)
	path := filepath.Join(t.TempDir(), "data")
	require.NoError(t, os.WriteFile(path, data, 0o600))
	forEach(t, Config{Depth: 16}, func(t *testing.T, r Ring) {
		f, err := OpenFile(path, Direct)
		require.NoError(t, err)
		g := &Group{}
		for i := range 100 {
			g.Reads = append(g.Reads, Read{File: f, Off: int64(i) * block, Bufs: [][]byte{a[i*block : (i+1)*block]}})
		}
		require.NoError(t, r.Queue(g))
		require.NoError(t, f.Close())
		require.ErrorIs(t, f.Close(), os.ErrClosed)
		_, err = r.Wait()
		require.NoError(t, err)
		done := 0
		for i := range g.Reads {
			if g.Reads[i].Err != nil {
				require.ErrorIs(t, g.Reads[i].Err, os.ErrClosed)
				continue
			}
			expect(t, data, &g.Reads[i])
			done++
		}
		require.Equal(t, 16, done)
	})
}

// More files than a ring registers, opened and closed while it is open.
func TestManyFiles(t *testing.T) {
	data := content(block)
	a := arena(t, 1)
	forEach(t, Config{Depth: 4}, func(t *testing.T, r Ring) {
		dir := t.TempDir()
		var open []*File
		for i := range 3 * fileSlots {
			f := tempFile(t, dir, data, Direct)
			open = append(open, f)
			require.NoError(t, r.Queue(&Group{Reads: []Read{{File: f, Bufs: [][]byte{a}}}}))
			finish(t, r, data, 1)
			if i >= fileSlots/2 && i%2 == 0 {
				require.NoError(t, open[i-fileSlots/2].Close())
			}
		}
		for _, f := range open {
			_ = f.Close()
		}
	})
}

// Anyone may ask for Stats while the owner works; OnRead hears of every read.
func TestStatsAndOnRead(t *testing.T) {
	data := content(1 << 20)
	f := tempFile(t, t.TempDir(), data, Direct)
	a := arena(t, 256)
	var times []time.Duration
	forEach(t, Config{Depth: 32, OnRead: func(d time.Duration) { times = append(times, d) }}, func(t *testing.T, r Ring) {
		times = nil
		stop := make(chan struct{})
		var others sync.WaitGroup
		others.Go(func() {
			for {
				select {
				case <-stop:
					return
				default:
					_ = r.Stats()
				}
			}
		})
		for range 5 {
			g := &Group{}
			for i := range 256 {
				g.Reads = append(g.Reads, Read{File: f, Off: int64(i) * block, Bufs: [][]byte{a[i*block : (i+1)*block]}})
			}
			require.NoError(t, r.Queue(g))
			finish(t, r, data, 1)
		}
		close(stop)
		others.Wait()
		require.Len(t, times, 5*256)
		for _, d := range times {
			require.Positive(t, d)
		}
	})
}

// Random interleavings of every call, compared with the file's content.
func TestRandomInterleavings(t *testing.T) {
	const size = 1<<20 + 777
	data := content(size)
	f := tempFile(t, t.TempDir(), data, Direct)
	a := arena(t, 600)
	for seed := range uint64(5) {
		rng := rand.New(rand.NewPCG(seed, 9))
		depth := 1 + rng.IntN(64)
		t.Run(fmt.Sprintf("seed %d depth %d", seed, depth), func(t *testing.T) {
			forEach(t, Config{Depth: depth, Arena: a[:300*block]}, func(t *testing.T, r Ring) {
				interleave(t, r, f, data, pieces(a, rng))
			})
		})
	}
}

func interleave(t *testing.T, r Ring, f *File, data []byte, p *pool) {
	reads := 0
	collect := func(g *Group, err error) {
		require.NoError(t, err)
		if g == nil {
			return
		}
		reads -= len(g.Reads)
		for i := range g.Reads {
			expect(t, data, &g.Reads[i])
			for _, b := range g.Reads[i].Bufs {
				at := int(uintptr(unsafe.Pointer(&b[0]))-uintptr(unsafe.Pointer(&p.arena[0]))) / block
				p.order = append(p.order, at)
			}
		}
	}
	for range 600 {
		switch p.rng.IntN(5) {
		case 0, 1:
			g := &Group{}
			for n := p.rng.IntN(30); n > 0 && p.left() > 8; n-- {
				off := p.rng.Int64N(int64(len(data))/block+2) * block
				g.Reads = append(g.Reads, Read{File: f, Off: off, Bufs: p.some(1 + p.rng.IntN(4))})
			}
			reads += len(g.Reads)
			require.NoError(t, r.Queue(g))
		case 2:
			collect(r.Poll())
		case 3:
			r.Wake()
			collect(r.Wait())
		case 4:
			if reads > 0 {
				collect(r.Wait())
			}
		}
		require.Equal(t, reads, r.InFlight())
	}
	for reads > 0 {
		collect(r.Wait())
	}
}

func TestConfig(t *testing.T) {
	for _, c := range []struct {
		config Config
		want   string
	}{
		{Config{Backend: "magic"}, "auto, " + strings.Join(Backends(), ", ")},
		{Config{Depth: -1}, "depth -1"},
		{Config{Depth: maxDepth + 1}, "depth"},
	} {
		_, err := Open(c.config)
		require.ErrorContains(t, err, c.want)
	}
	locked(t, func() {
		for _, depth := range []int{1, maxDepth} {
			r, err := Open(Config{Backend: "uring", Depth: depth})
			require.NoError(t, err)
			require.Equal(t, depth, r.Stats().Depth)
			require.NoError(t, r.Close())
		}
	})
}

// The kernel ties a ring to a thread; on another one it must fail, not hang.
func TestWrongThread(t *testing.T) {
	locked(t, func() {
		r, err := Open(Config{Backend: "uring"})
		require.NoError(t, err)
		defer func() { _ = r.Close() }()
		r.Wake() // lets the Wait return in any case
		other := make(chan any, 1)
		go func() {
			runtime.LockOSThread()
			defer runtime.UnlockOSThread()
			defer func() {
				if p := recover(); p != nil {
					other <- p
				}
			}()
			_, err := r.Wait()
			other <- err
		}()
		complaint := fmt.Sprint(<-other)
		if invariants.Enabled {
			require.Contains(t, complaint, "is used by thread")
		} else {
			require.Contains(t, complaint, "LockOSThread")
		}
	})
}

func TestProbe(t *testing.T) {
	dir := t.TempDir()
	locked(t, func() {
		require.NoError(t, Probe(dir))
		require.NoError(t, Probe(""))
		require.NoError(t, Probe("/proc"))
	})
	entries, err := os.ReadDir(dir)
	require.NoError(t, err)
	require.Empty(t, entries)
}

func TestErrorText(t *testing.T) {
	err := error(&OpError{Path: "graph.bin", Off: 8192, Len: 4096, Err: syscall.EIO})
	require.EqualError(t, err, "read graph.bin: 4096 bytes at offset 8192: input/output error")
	require.ErrorIs(t, err, syscall.EIO)
	for errno := range remedies {
		err := refused("io_uring_setup", errno)
		require.ErrorIs(t, err, ErrUnsupported)
		require.ErrorIs(t, err, errno)
		require.ErrorContains(t, err, "pread")
	}
	require.NotErrorIs(t, refused("io_uring_setup", unix.EMFILE), ErrUnsupported)
	require.NotErrorIs(t, &OpError{Err: os.ErrClosed}, fs.ErrNotExist)
}
