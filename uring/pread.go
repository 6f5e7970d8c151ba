//go:build linux

package uring

import (
	"sync"
	"unsafe"

	"golang.org/x/sys/unix"
)

// maxThreads bounds the pool, and with it the depth, of the pread backend.
const maxThreads = 64

// threads is the driver of the pread backend: one thread for each op, each
// making one blocking preadv at a time.
type threads struct {
	ops     []op
	pushed  []int        // not sent yet; the owner's
	fetched []completion // not handed out yet; the owner's
	handed  int          // how many of fetched are handed out
	calls   int64
	workers sync.WaitGroup

	mu     sync.Mutex
	work   sync.Cond // jobs has grown, or closed
	done   sync.Cond // results has enough, or woken
	jobs   []int
	result []completion
	enough int // results that the owner sleeps for; 0 when it does not sleep
	woken  bool
	closed bool
}

type completion struct{ op, res int }

func openThreads(_ Config, ops []op) (driver, error) {
	t := &threads{ops: ops}
	t.work.L, t.done.L = &t.mu, &t.mu
	for range ops {
		t.workers.Go(t.run)
	}
	return t, nil
}

// run is the life of a thread.
func (t *threads) run() {
	t.mu.Lock()
	defer t.mu.Unlock()
	for {
		for len(t.jobs) == 0 {
			if t.closed {
				return
			}
			t.work.Wait()
		}
		i := t.jobs[len(t.jobs)-1]
		t.jobs = t.jobs[:len(t.jobs)-1]
		t.mu.Unlock()
		res := preadv(&t.ops[i])
		t.mu.Lock()
		t.result = append(t.result, completion{i, res})
		if len(t.result) == t.enough {
			t.done.Signal()
		}
	}
}

// preadv makes one attempt. Its result is as io_uring gives it: bytes or a
// negative errno.
func preadv(o *op) int {
	off := o.off()
	n, _, errno := unix.Syscall6(unix.SYS_PREADV, uintptr(o.read.File.fd),
		uintptr(unsafe.Pointer(&o.iov[0])), uintptr(len(o.iov)), uintptr(off), uintptr(off>>32), 0)
	if errno != 0 {
		return -int(errno)
	}
	return int(n)
}

func (t *threads) push(i int) { t.pushed = append(t.pushed, i) }

func (t *threads) flush(wait int) error {
	wait -= len(t.fetched) - t.handed
	t.mu.Lock()
	defer t.mu.Unlock()
	t.jobs = append(t.jobs, t.pushed...)
	for range t.pushed {
		t.work.Signal()
	}
	t.pushed = t.pushed[:0]
	for t.enough = wait; len(t.result) < wait && !t.woken; {
		t.done.Wait()
	}
	t.enough, t.woken = 0, false
	t.fetched = append(t.fetched, t.result...)
	t.result = t.result[:0]
	return nil
}

func (t *threads) next() (i, res int, ok bool) {
	if t.handed == len(t.fetched) {
		t.fetched, t.handed = t.fetched[:0], 0
		return 0, 0, false
	}
	c := t.fetched[t.handed]
	t.handed++
	t.calls++
	return c.op, c.res, true
}

func (t *threads) wake() {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.woken = true
	t.done.Signal()
}

func (t *threads) describe(s *Stats) { s.Syscalls = t.calls }

func (t *threads) close() error {
	t.mu.Lock()
	t.closed = true
	t.work.Broadcast()
	t.mu.Unlock()
	t.workers.Wait()
	return nil
}
