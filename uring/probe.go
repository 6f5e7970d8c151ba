//go:build linux

package uring

import (
	"bytes"
	"fmt"
	"os"
	"runtime"

	"golang.org/x/sys/unix"
)

// Probe finds out whether io_uring works here: it sets up a ring and reads with
// it a file that it makes, without a name, in dir (the program's own file where
// that cannot be). The error wraps ErrUnsupported, with reason and remedy, when
// io_uring is refused.
func Probe(dir string) error {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	f, err := probeFile(dir)
	if err != nil {
		return fmt.Errorf("uring: probing: %w", err)
	}
	defer func() { _ = f.Close() }()
	c, err := Config{Backend: "uring", Depth: 1}.complete()
	if err != nil {
		return err
	}
	r, err := openNamed(c)
	if err != nil {
		return err
	}
	defer func() { _ = r.Close() }()
	return probeRead(r, f)
}

// probeRead reads the start of f by the ring and by pread, and compares.
func probeRead(r Ring, f *File) error {
	got, want := make([]byte, 4096), make([]byte, 4096)
	n, _ := f.ReadAt(want, 0)
	g := &Group{Reads: []Read{{File: f, Bufs: [][]byte{got}}}}
	if err := r.Queue(g); err != nil {
		return err
	}
	if _, err := r.Wait(); err != nil {
		return err
	}
	read := &g.Reads[0]
	if read.Err != nil {
		return fmt.Errorf("uring: io_uring is %w: a read of %s fails where pread does not: %w; read with threads (the pread backend)", ErrUnsupported, f.path, read.Err)
	}
	if read.N != n || !bytes.Equal(got, want) {
		return fmt.Errorf("uring: io_uring is %w: it read other bytes of %s than pread; read with threads (the pread backend)", ErrUnsupported, f.path)
	}
	return nil
}

func probeFile(dir string) (*File, error) {
	if dir != "" {
		if fd, err := unix.Open(dir, unix.O_TMPFILE|unix.O_RDWR|unix.O_CLOEXEC, 0o600); err == nil {
			defer func() { _ = unix.Close(fd) }()
			if _, err := unix.Write(fd, bytes.Repeat([]byte("probe "), 1024)); err == nil {
				return OpenFile(fmt.Sprintf("/proc/self/fd/%d", fd), Buffered)
			}
		}
	}
	exe, err := os.Executable()
	if err != nil {
		return nil, err
	}
	return OpenFile(exe, Buffered)
}
