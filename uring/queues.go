//go:build linux

package uring

import (
	"errors"
	"fmt"
	"sync/atomic"
	"unsafe"

	"golang.org/x/sys/unix"
)

// queues is an io_uring instance, spoken to directly: its descriptor, and the two
// queues that it shares with the kernel.
//
//	      tail: ours        head: the kernel's
//	sqes  ────────────────►─────────────────── consumed within enter
//	      head: ours        tail: the kernel's
//	cqes  ◄───────────────────────────────────
type queues struct {
	fd    int
	flags uint32 // of the set-up
	mem   [][]byte

	sqHead, sqTail, sqFlags *uint32
	sqes                    []sqe
	cqHead, cqTail          *uint32
	cqes                    []cqe

	calls int64
}

// setupFlags are the ways to set up a ring, best first. With DEFER_TASKRUN the
// kernel does the work of completing a read within our enter, instead of
// interrupting whatever the thread does; that needs SINGLE_ISSUER (one thread
// submits), and Linux 6.1. COOP_TASKRUN is the next best, from 5.19 on. With
// TASKRUN_FLAG either shows when there is something to enter for.
var setupFlags = []uint32{
	setupSingleIssuer | setupDeferTaskrun | setupTaskrunFlag,
	setupSingleIssuer | setupCoopTaskrun | setupTaskrunFlag,
	setupCoopTaskrun | setupTaskrunFlag,
	0,
}

// newQueues makes the queues with the first flags that the kernel knows.
func newQueues(entries int, flags []uint32) (queue, error) {
	errno := unix.EINVAL
	for _, f := range flags {
		p := params{flags: f}
		var fd int
		if fd, errno = setup(uint32(entries), &p); errno == 0 {
			return mapQueues(fd, &p)
		}
		if errno != unix.EINVAL {
			break
		}
	}
	return nil, refused("io_uring_setup", errno)
}

func mapQueues(fd int, p *params) (queue, error) {
	unix.CloseOnExec(fd)
	q := &queues{fd: fd, flags: p.flags}
	if p.features&featSingleMmap == 0 {
		return nil, errors.Join(refused("io_uring_setup", unix.ENOSYS), q.close())
	}
	size := max(p.sqOff.array+p.sqEntries*4, p.cqOff.cqes+p.cqEntries*uint32(unsafe.Sizeof(cqe{})))
	rings, err := q.mmap(offSQRing, int(size))
	if err != nil {
		return nil, errors.Join(err, q.close())
	}
	sqes, err := q.mmap(offSQEs, int(p.sqEntries)*int(unsafe.Sizeof(sqe{})))
	if err != nil {
		return nil, errors.Join(err, q.close())
	}
	q.sqHead, q.sqTail, q.sqFlags = word(rings, p.sqOff.head), word(rings, p.sqOff.tail), word(rings, p.sqOff.flags)
	q.cqHead, q.cqTail = word(rings, p.cqOff.head), word(rings, p.cqOff.tail)
	q.sqes = unsafe.Slice((*sqe)(unsafe.Pointer(&sqes[0])), p.sqEntries)
	q.cqes = unsafe.Slice((*cqe)(unsafe.Pointer(&rings[p.cqOff.cqes])), p.cqEntries)
	// The kernel reads sqes by way of an array of indexes: entry i is sqe i, for good.
	for i := range p.sqEntries {
		*word(rings, p.sqOff.array+4*i) = i
	}
	return q, nil
}

func word(mem []byte, off uint32) *uint32 { return (*uint32)(unsafe.Pointer(&mem[off])) }

func (q *queues) mmap(off int64, size int) ([]byte, error) {
	m, err := unix.Mmap(q.fd, off, size, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_SHARED|unix.MAP_POPULATE)
	if errno, ok := err.(unix.Errno); ok {
		return nil, refused("mmap of the queues", errno)
	}
	if err == nil {
		q.mem = append(q.mem, m)
	}
	return m, err
}

// put adds a submission. There is room: see invariant 2 of the package.
func (q *queues) put(s sqe) {
	tail := *q.sqTail // only we write it
	q.sqes[tail&uint32(len(q.sqes)-1)] = s
	atomic.StoreUint32(q.sqTail, tail+1)
}

// unsent is how many submissions the kernel has not consumed.
func (q *queues) unsent() uint32 { return *q.sqTail - atomic.LoadUint32(q.sqHead) }

// get removes a completion.
func (q *queues) get() (c cqe, ok bool) {
	head := *q.cqHead // only we write it
	if head == atomic.LoadUint32(q.cqTail) {
		return cqe{}, false
	}
	c = q.cqes[head&uint32(len(q.cqes)-1)]
	atomic.StoreUint32(q.cqHead, head+1)
	return c, true
}

// due reports whether the kernel has completions that it will hand over only in
// an enter that asks for them.
func (q *queues) due() bool { return atomic.LoadUint32(q.sqFlags)&sqTaskrun != 0 }

// enter sends all submissions, and then sleeps until wait completions are there,
// or a signal.
func (q *queues) enter(wait uint32) unix.Errno {
	for {
		send, flags := q.unsent(), uint32(0)
		if wait > 0 || q.due() {
			flags = enterGetEvents
		}
		if send == 0 && flags == 0 {
			return 0
		}
		q.calls++
		n, errno := enter(q.fd, send, wait, flags)
		if errno != 0 {
			return errno
		}
		if uint32(n) == send {
			return 0
		}
	}
}

func (q *queues) setup() (fd int, flags uint32) { return q.fd, q.flags }

func (q *queues) syscalls() int64 { return q.calls }

func (q *queues) close() error {
	var errs []error
	for _, m := range q.mem {
		errs = append(errs, unix.Munmap(m))
	}
	errs = append(errs, unix.Close(q.fd))
	if err := errors.Join(errs...); err != nil {
		return fmt.Errorf("uring: closing: %w", err)
	}
	return nil
}
