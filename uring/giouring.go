//go:build linux && giouring

package uring

import (
	"github.com/pawelgaczynski/giouring"
	"golang.org/x/sys/unix"
)

// The backend "giouring" leaves the queues to that library. Its last version
// takes syscall.munmap by linkname, which Go's linker refuses since 1.23 without
// -ldflags=-checklinkname=0; so it is only there in builds with its tag.
func init() { backends["giouring"] = backend{maxDepth, openGiouring} }

func openGiouring(c Config, ops []op) (driver, error) {
	return openRingsWith(c, ops, grants{queue: newGiouring, flags: setupFlags, files: true, buffers: true})
}

// giourings is an io_uring instance of giouring.
type giourings struct {
	*giouring.Ring
	flags uint32 // of the set-up
	calls int64
}

func newGiouring(entries int, flags []uint32) (queue, error) {
	errno := unix.EINVAL
	for _, f := range flags {
		g := &giourings{Ring: giouring.NewRing(), flags: f}
		if errno = asErrno(g.QueueInit(uint32(entries), f)); errno == 0 {
			return g, nil
		}
		if errno != unix.EINVAL {
			break
		}
	}
	return nil, refused("io_uring_setup", errno)
}

// asErrno undoes what giouring makes of the kernel's answers.
func asErrno(err error) unix.Errno {
	errno, ok := err.(unix.Errno)
	if err != nil && !ok {
		return unix.EIO
	}
	return errno
}

func (g *giourings) put(s sqe) {
	*g.GetSQE() = giouring.SubmissionQueueEntry{
		OpCode: s.opcode, Flags: s.flags, Fd: s.fd, Off: s.off, Addr: s.addr, Len: s.len, UserData: s.userData, BufIG: s.bufIndex,
	}
}

// get looks before it peeks: a peek into an empty queue may call the kernel.
func (g *giourings) get() (c cqe, ok bool) {
	if g.CQReady() == 0 {
		return cqe{}, false
	}
	e, err := g.PeekCQE()
	if err != nil {
		return cqe{}, false
	}
	c = cqe{e.UserData, e.Res, e.Flags}
	g.CQESeen(e)
	return c, true
}

func (g *giourings) enter(wait uint32) unix.Errno {
	for {
		unsent, ready := g.SQReady(), g.CQReady()
		_, err := g.SubmitAndWait(wait)
		if unsent > 0 || wait > 0 || g.CQReady() > ready { // or else it saw no reason to call
			g.calls++
		}
		if errno := asErrno(err); errno != 0 || g.SQReady() == 0 {
			return errno
		}
	}
}

func (g *giourings) setup() (fd int, flags uint32) { return g.RingFd(), g.flags }

func (g *giourings) syscalls() int64 { return g.calls }

func (g *giourings) close() error {
	g.QueueExit()
	return nil
}
