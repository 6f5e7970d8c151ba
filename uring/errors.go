//go:build linux

package uring

import (
	"errors"
	"fmt"

	"golang.org/x/sys/unix"
)

// ErrUnsupported marks what this machine does not allow: io_uring, or O_DIRECT
// where nothing else will do. The error that wraps it names the reason and what
// can be done.
var ErrUnsupported = errors.New("not supported here")

// ErrClosed is returned by the calls of a closed ring, and is the reason that a
// read was given up by Close.
var ErrClosed = errors.New("uring: the ring is closed")

// OpError is a read that failed. It unwraps to the cause, a syscall.Errno or
// os.ErrClosed.
type OpError struct {
	Path string
	Off  int64 // of the whole read, also when only its end failed
	Len  int
	Err  error
}

// Error names the file and the bytes.
func (e *OpError) Error() string {
	return fmt.Sprintf("read %s: %d bytes at offset %d: %v", e.Path, e.Len, e.Off, e.Err)
}

// Unwrap gives the cause.
func (e *OpError) Unwrap() error { return e.Err }

// opError says that reading n bytes of f at off failed.
func opError(f *File, off int64, n int, err error) error {
	return &OpError{Path: f.path, Off: off, Len: n, Err: err}
}

// refused explains why a system call of io_uring failed, if that means that this
// machine or process may not use it; other errors (no descriptors left) stay
// what they are.
func refused(call string, errno unix.Errno) error {
	remedy, ok := remedies[errno]
	if !ok {
		return fmt.Errorf("uring: %s: %w", call, errno)
	}
	return fmt.Errorf("uring: io_uring is %w: %s: %w; %s, or read with threads (the pread backend)", ErrUnsupported, call, errno, remedy)
}

const (
	allow   = "allow io_uring_setup, io_uring_enter and io_uring_register in the container's seccomp profile and set kernel.io_uring_disabled to 0"
	newer   = "use Linux 5.10 or later, outside of a sandbox such as gVisor"
	memlock = "raise the limit on locked memory (ulimit -l) or ask for a smaller depth"
)

var remedies = map[unix.Errno]string{
	unix.EPERM:  allow,
	unix.EACCES: allow,
	unix.ENOSYS: newer + ", and " + allow,
	unix.EINVAL: newer,
	unix.ENOMEM: memlock,
}
