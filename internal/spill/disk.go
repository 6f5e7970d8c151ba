//go:build linux

package spill

import (
	"errors"
	"fmt"
	"os"

	"golang.org/x/sys/unix"
)

// disk is a file of the operating system.
type disk struct{ *os.File }

// Temporary makes a file without a name in the folder dir.
func Temporary(dir string) (Disk, error) {
	f, err := nameless(dir)
	if err != nil {
		return nil, fmt.Errorf("no temporary file can be made in %s: %w; name another folder for temporary files", dir, err)
	}
	Direct(f)
	return disk{f}, nil
}

func nameless(dir string) (*os.File, error) {
	f, err := os.OpenFile(dir, os.O_RDWR|unix.O_TMPFILE, 0o600)
	if !errors.Is(err, unix.EOPNOTSUPP) && !errors.Is(err, unix.EISDIR) {
		return f, err
	}
	if f, err = os.CreateTemp(dir, ".aether-ooc-*"); err != nil {
		return nil, err
	}
	if err = os.Remove(f.Name()); err != nil {
		f.Close()
		return nil, err
	}
	return f, nil
}

// Direct has f transferred past the page cache, where its filesystem can.
func Direct(f *os.File) {
	if flags, err := unix.FcntlInt(f.Fd(), unix.F_GETFL, 0); err == nil {
		_, _ = unix.FcntlInt(f.Fd(), unix.F_SETFL, flags|unix.O_DIRECT)
	}
}

// Grow leaves it to the writes to find a full disk where room cannot be taken
// beforehand.
func (d disk) Grow(size int64) error {
	err := retry(func() error { return unix.Fallocate(int(d.Fd()), 0, 0, size) })
	if err == nil || errors.Is(err, unix.EOPNOTSUPP) || errors.Is(err, unix.ENOSYS) {
		return nil
	}
	return &os.PathError{Op: "fallocate", Path: d.Name(), Err: err}
}

// Punch leaves the bytes where they are on a filesystem without holes.
func (d disk) Punch(off, n int64) error {
	err := retry(func() error {
		return unix.Fallocate(int(d.Fd()), unix.FALLOC_FL_PUNCH_HOLE|unix.FALLOC_FL_KEEP_SIZE, off, n)
	})
	if err == nil || errors.Is(err, unix.EOPNOTSUPP) || errors.Is(err, unix.ENOSYS) {
		return nil
	}
	return &os.PathError{Op: "fallocate", Path: d.Name(), Err: err}
}

func retry(fn func() error) error {
	for {
		if err := fn(); !errors.Is(err, unix.EINTR) {
			return err
		}
	}
}
