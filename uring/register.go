//go:build linux

package uring

import (
	"math"
	"unsafe"

	"golang.org/x/sys/unix"
)

// fileSlots is how many files a ring registers; further ones are read by
// descriptor, which costs a little more.
const fileSlots = 64

// fileTable is the ring's table of registered files: the kernel then need not
// look up and hold the file for each read. It starts sparse and is filled as
// files are first seen. A registered file stays open, for the kernel, until its
// slot is taken over or the ring is closed.
type fileTable struct {
	ring  int
	files []*File // by slot
	slots map[*File]int
	last  *File // the most recent answer, as most reads are of one file
	at    int

	fd     int32 // what update points at; here, as a stack may move
	update filesUpdate
}

func registerFileTable(ring int) (*fileTable, error) {
	none := make([]int32, fileSlots)
	for i := range none {
		none[i] = -1
	}
	if errno := register(ring, registerFiles, unsafe.Pointer(&none[0]), len(none)); errno != 0 {
		return nil, errno
	}
	return &fileTable{ring: ring, slots: map[*File]int{}}, nil
}

// slot gives the file's slot, finding it one if need be and possible.
func (t *fileTable) slot(f *File) (int, bool) {
	if t == nil {
		return 0, false
	}
	if f == t.last {
		return t.at, true
	}
	at, ok := t.slots[f]
	if !ok {
		if at, ok = t.place(f); !ok {
			return 0, false
		}
	}
	t.last, t.at = f, at
	return at, true
}

func (t *fileTable) place(f *File) (int, bool) {
	at, ok := t.vacant()
	if !ok {
		return 0, false
	}
	t.fd = int32(f.fd)
	t.update = filesUpdate{offset: uint32(at), fds: address(&t.fd)}
	if errno := register(t.ring, registerFilesUpdate, unsafe.Pointer(&t.update), 1); errno != 0 {
		return 0, false
	}
	if at == len(t.files) {
		t.files = append(t.files, nil)
	}
	delete(t.slots, t.files[at])
	t.files[at], t.slots[f] = f, at
	return at, true
}

// vacant finds a slot that was never used, or whose file has been closed.
func (t *fileTable) vacant() (int, bool) {
	if len(t.files) < fileSlots {
		return len(t.files), true
	}
	for at, f := range t.files {
		if f.refs.Load() == 0 {
			return at, true
		}
	}
	return 0, false
}

// bufferTable is the arena, registered in chunks of at most 1 GiB, which is the
// kernel's limit for one buffer.
type bufferTable struct {
	start uintptr
	size  uintptr
}

const chunkSize = 1 << 30

func registerArena(ring int, arena []byte) (*bufferTable, error) {
	var chunks []unix.Iovec
	for rest := arena; len(rest) > 0; {
		n := min(len(rest), chunkSize)
		v := unix.Iovec{Base: &rest[0]}
		v.SetLen(n)
		chunks, rest = append(chunks, v), rest[n:]
	}
	if len(chunks) > math.MaxUint16 {
		return nil, unix.E2BIG
	}
	if errno := register(ring, registerBuffers, unsafe.Pointer(&chunks[0]), len(chunks)); errno != 0 {
		return nil, errno
	}
	return &bufferTable{start: uintptr(unsafe.Pointer(&arena[0])), size: uintptr(len(arena))}, nil
}

// index gives the chunk that b lies in; one that lies across two is in none.
func (t *bufferTable) index(b []byte) (uint16, bool) {
	if t == nil {
		return 0, false
	}
	first := uintptr(unsafe.Pointer(&b[0])) - t.start // wraps round, and so is too large, before the arena
	last := first + uintptr(len(b)) - 1
	if first >= t.size || last >= t.size || first/chunkSize != last/chunkSize {
		return 0, false
	}
	return uint16(first / chunkSize), true
}
