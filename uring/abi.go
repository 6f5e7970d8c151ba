//go:build linux

package uring

import (
	"unsafe"

	"golang.org/x/sys/unix"
)

// What follows is <linux/io_uring.h>, as far as it is used here.

// sqe is a submission: struct io_uring_sqe.
type sqe struct {
	opcode      uint8
	flags       uint8
	ioprio      uint16
	fd          int32
	off         uint64
	addr        uint64
	len         uint32
	rwFlags     uint32
	userData    uint64
	bufIndex    uint16
	personality uint16
	fileIndex   uint32
	addr3       uint64
	_           uint64
}

// cqe is a completion: struct io_uring_cqe.
type cqe struct {
	userData uint64
	res      int32
	flags    uint32
}

// sqOffsets and cqOffsets say where in the mapping each field of the queues is.
type sqOffsets struct {
	head, tail, ringMask, ringEntries, flags, dropped, array, _ uint32
	_                                                           uint64
}

type cqOffsets struct {
	head, tail, ringMask, ringEntries, overflow, cqes, flags, _ uint32
	_                                                           uint64
}

// params is struct io_uring_params.
type params struct {
	sqEntries, cqEntries, flags, sqThreadCPU, sqThreadIdle, features, wqFd uint32
	_                                                                      [3]uint32
	sqOff                                                                  sqOffsets
	cqOff                                                                  cqOffsets
}

// filesUpdate is struct io_uring_files_update.
type filesUpdate struct {
	offset, _ uint32
	fds       uint64
}

// The kernel's sizes; a wrong one does not compile.
var (
	_ [64]byte  = [unsafe.Sizeof(sqe{})]byte{}
	_ [16]byte  = [unsafe.Sizeof(cqe{})]byte{}
	_ [40]byte  = [unsafe.Sizeof(sqOffsets{})]byte{}
	_ [40]byte  = [unsafe.Sizeof(cqOffsets{})]byte{}
	_ [120]byte = [unsafe.Sizeof(params{})]byte{}
	_ [16]byte  = [unsafe.Sizeof(filesUpdate{})]byte{}
)

const (
	opReadv     = 1
	opReadFixed = 4
	opRead      = 22

	sqeFixedFile = 1 << 0

	setupCoopTaskrun  = 1 << 8
	setupTaskrunFlag  = 1 << 9
	setupSingleIssuer = 1 << 12
	setupDeferTaskrun = 1 << 13

	sqTaskrun = 1 << 2 // in the submission queue's flags: completions wait for an enter

	enterGetEvents = 1 << 0

	featSingleMmap = 1 << 0

	registerBuffers     = 0
	unregisterBuffers   = 1
	registerFiles       = 2
	registerFilesUpdate = 6

	offSQRing = 0
	offSQEs   = 0x10000000
)

func setup(entries uint32, p *params) (int, unix.Errno) {
	fd, _, errno := unix.Syscall(unix.SYS_IO_URING_SETUP, uintptr(entries), uintptr(unsafe.Pointer(p)), 0)
	return int(fd), errno
}

// enter sends and, with wait > 0, sleeps. It goes through Syscall6, which lets
// the scheduler hand this thread's processor to other goroutines meanwhile.
func enter(fd int, send, wait, flags uint32) (int, unix.Errno) {
	n, _, errno := unix.Syscall6(unix.SYS_IO_URING_ENTER, uintptr(fd), uintptr(send), uintptr(wait), uintptr(flags), 0, 0)
	return int(n), errno
}

func register(fd int, opcode uint32, arg unsafe.Pointer, n int) unix.Errno {
	_, _, errno := unix.Syscall6(unix.SYS_IO_URING_REGISTER, uintptr(fd), uintptr(opcode), uintptr(arg), uintptr(n), 0, 0)
	return errno
}
