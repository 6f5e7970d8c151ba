//go:build linux && !race

package blockcache

import (
	"fmt"

	"golang.org/x/sys/unix"
)

func reserve(bytes int64) (*memory, error) {
	b, err := unix.Mmap(-1, 0, int(bytes), unix.PROT_READ|unix.PROT_WRITE, unix.MAP_PRIVATE|unix.MAP_ANON)
	if err != nil {
		return nil, fmt.Errorf("blockcache: mmap of %d bytes for the cache: %w; lower the memory budget", bytes, err)
	}
	// Large pages spare TLB misses and page faults. The kernel may refuse; the
	// cache works without.
	_ = unix.Madvise(b, unix.MADV_HUGEPAGE)
	return &memory{rest: b, free: func() error { return unix.Munmap(b) }}, nil
}
