//go:build linux && !race

package offheap

import (
	"fmt"

	"golang.org/x/sys/unix"
)

// Reserve gives so many zeroed bytes, aligned to pages, and the function that
// gives them back. Zero bytes are none.
func Reserve(bytes int64) (b []byte, free func() error, err error) {
	if bytes == 0 {
		return nil, func() error { return nil }, nil
	}
	b, err = unix.Mmap(-1, 0, int(bytes), unix.PROT_READ|unix.PROT_WRITE, unix.MAP_PRIVATE|unix.MAP_ANON)
	if err != nil {
		return nil, nil, fmt.Errorf("mmap of %d bytes: %w; lower the memory budget", bytes, err)
	}
	// Large pages spare TLB misses and page faults. The kernel may refuse; all
	// works without.
	_ = unix.Madvise(b, unix.MADV_HUGEPAGE)
	return b, func() error { return unix.Munmap(b) }, nil
}
