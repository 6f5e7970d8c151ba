//go:build linux

package uring

import (
	"encoding/binary"
	"errors"
	"fmt"
	"sync"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"

	"github.com/aether-ooc/aether-ooc/internal/host"
)

// queue is an io_uring instance. What carries it out is a backend's own: for
// "uring" queues.
type queue interface {
	// put adds a submission, for which there is room.
	put(s sqe)
	// get removes a completion.
	get() (c cqe, ok bool)
	// enter sends all submissions, then sleeps until wait completions are there,
	// or a signal.
	enter(wait uint32) unix.Errno
	// setup gives the instance's descriptor and the flags that it was made with.
	setup() (fd int, flags uint32)
	// syscalls is how often enter called the kernel.
	syscalls() int64
	close() error
}

// rings is the driver of the io_uring backends.
type rings struct {
	queue
	fd      int
	flags   uint32
	ops     []op
	files   *fileTable   // nil: the kernel refused registered files
	buffers *bufferTable // nil: no arena, or the kernel refused registered buffers
	waker   *waker
	starved int // attempts in a row that the kernel had no memory for
}

// grants is what to ask the kernel for, and how. Each may be refused; tests
// leave some out.
type grants struct {
	queue          func(entries int, flags []uint32) (queue, error)
	flags          []uint32
	files, buffers bool
}

func openRings(c Config, ops []op) (driver, error) {
	return openRingsWith(c, ops, grants{queue: newQueues, flags: setupFlags, files: true, buffers: true})
}

func openRingsWith(c Config, ops []op, g grants) (driver, error) {
	if v, err := host.Kernel(); err == nil && !v.AtLeast(5, 10) {
		return nil, refused("Linux "+v.String(), unix.ENOSYS)
	}
	// One more entry than there are ops: the waker's read.
	q, err := g.queue(len(ops)+1, g.flags)
	if err != nil {
		return nil, err
	}
	d := &rings{queue: q, ops: ops}
	d.fd, d.flags = q.setup()
	if d.waker, err = newWaker(); err != nil {
		return nil, errors.Join(err, q.close())
	}
	d.arm()
	if g.files {
		if d.files, err = registerFileTable(d.fd); err != nil {
			c.Log.Debug("io_uring without registered files", "reason", err)
		}
	}
	if g.buffers && len(c.Arena) > 0 {
		if d.buffers, err = registerArena(d.fd, c.Arena); err != nil {
			c.Log.Debug("io_uring without registered buffers", "reason", err)
		}
	}
	return d, nil
}

// push writes the submission for an attempt: READ_FIXED within the arena, READ
// for one piece elsewhere, READV for several.
func (d *rings) push(i int) {
	o := &d.ops[i]
	s := sqe{fd: int32(o.read.File.fd), off: uint64(o.off()), userData: uint64(i)}
	if slot, ok := d.files.slot(o.read.File); ok {
		s.fd, s.flags = int32(slot), sqeFixedFile
	}
	if o.single == nil {
		s.opcode, s.addr, s.len = opReadv, address(&o.iov[0]), uint32(len(o.iov))
		d.put(s)
		return
	}
	b := o.single[:min(len(o.single), maxPiece)]
	s.opcode, s.addr, s.len = opRead, address(&b[0]), uint32(len(b))
	if index, ok := d.buffers.index(b); ok {
		s.opcode, s.bufIndex = opReadFixed, index
	}
	d.put(s)
}

// maxPiece is the most that the kernel reads into one piece, a multiple of any
// alignment.
const maxPiece = 1 << 30

// address is for what is on the heap or outside of it: a stack may move.
func address[T any](p *T) uint64 { return uint64(uintptr(unsafe.Pointer(p))) }

func (d *rings) flush(wait int) error {
	errno := d.enter(uint32(wait))
	switch errno {
	case 0:
		d.starved = 0
		return nil
	case unix.EINTR:
		return nil
	case unix.EAGAIN, unix.EBUSY:
		return d.starve(errno)
	case unix.EEXIST:
		return fmt.Errorf("uring: a ring may be used only on the thread that opened it (call runtime.LockOSThread before Open): %w", errno)
	}
	return refused("io_uring_enter", errno)
}

// maxStarved is how many milliseconds a ring waits for the kernel to find memory.
const maxStarved = 10_000

// starve waits a little for memory: completions may free it, and are handed over
// first.
func (d *rings) starve(errno unix.Errno) error {
	if d.starved++; d.starved > maxStarved {
		return fmt.Errorf("uring: the kernel has had no memory for reads for %d s: %w", maxStarved/1000, errno)
	}
	time.Sleep(time.Millisecond)
	_, errno = enter(d.fd, 0, 0, enterGetEvents)
	if errno != 0 && errno != unix.EINTR && errno != unix.EAGAIN && errno != unix.EBUSY {
		return refused("io_uring_enter", errno)
	}
	return nil
}

func (d *rings) next() (i, res int, ok bool) {
	for {
		c, ok := d.get()
		if !ok {
			return 0, 0, false
		}
		if c.userData < uint64(len(d.ops)) {
			return int(c.userData), int(c.res), true
		}
		d.arm()
	}
}

// arm has the ring read the waker's eventfd: the completion ends a sleep.
func (d *rings) arm() {
	d.put(sqe{
		opcode: opRead, fd: int32(d.waker.fd), userData: uint64(len(d.ops)),
		addr: address(&d.waker.count[0]), len: uint32(len(d.waker.count)),
	})
}

func (d *rings) wake() { d.waker.wake() }

func (d *rings) describe(s *Stats) {
	s.Syscalls = d.syscalls()
	s.SingleIssuer = d.flags&setupSingleIssuer != 0
	s.DeferTaskrun = d.flags&setupDeferTaskrun != 0
	s.FixedFiles = d.files != nil
	s.FixedBuffers = d.buffers != nil
}

// close unregisters the buffers first: closing alone would give their locked
// memory back some time later, and the next ring might be refused its own.
func (d *rings) close() error {
	if d.buffers != nil {
		register(d.fd, unregisterBuffers, nil, 0)
	}
	return errors.Join(d.queue.close(), d.waker.close())
}

// waker is the eventfd that Wake writes to. The kernel reads into count while
// the ring is open, so it lies outside the Go heap.
type waker struct {
	fd    int
	count []byte

	mu     sync.Mutex // keeps close from pulling fd away under a wake
	closed bool
}

func newWaker() (*waker, error) {
	// Without O_NONBLOCK: the armed read has to wait, not to fail.
	fd, err := unix.Eventfd(0, unix.EFD_CLOEXEC)
	if err != nil {
		return nil, fmt.Errorf("uring: eventfd: %w", err)
	}
	page, err := unix.Mmap(-1, 0, 8, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_ANON|unix.MAP_PRIVATE)
	if err != nil {
		return nil, errors.Join(fmt.Errorf("uring: mmap: %w", err), unix.Close(fd))
	}
	return &waker{fd: fd, count: page}, nil
}

func (w *waker) wake() {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.closed {
		return
	}
	one := binary.NativeEndian.AppendUint64(nil, 1)
	for {
		if _, err := unix.Write(w.fd, one); err != unix.EINTR {
			return
		}
	}
}

func (w *waker) close() error {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.closed = true
	return errors.Join(unix.Close(w.fd), unix.Munmap(w.count))
}
