package bench

import (
	"os"
	"syscall"
	"unsafe"
)

// dropPages asks the kernel to take a file's pages out of the page cache. It may
// keep some (dirty ones, mapped ones): pageCacheOf says what is left.
func dropPages(path string) {
	f, err := os.Open(path)
	if err != nil {
		return
	}
	defer f.Close()
	const dontNeed = 4 // POSIX_FADV_DONTNEED
	_, _, _ = syscall.Syscall6(syscall.SYS_FADVISE64, f.Fd(), 0, 0, dontNeed, 0, 0)
}

// pageCacheOf is how many bytes of a file the page cache holds; 0 where that is
// not known.
func pageCacheOf(path string) int64 {
	f, err := os.Open(path)
	if err != nil {
		return 0
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil || !info.Mode().IsRegular() {
		return 0
	}
	var held int64
	const piece = 1 << 30
	for off := int64(0); off < info.Size(); off += piece {
		held += heldPages(f, off, min(piece, info.Size()-off)) * int64(os.Getpagesize())
	}
	return min(held, info.Size())
}

// heldPages counts the pages of a part of a file that are in the page cache.
func heldPages(f *os.File, off, n int64) int64 {
	b, err := syscall.Mmap(int(f.Fd()), off, int(n), syscall.PROT_READ, syscall.MAP_SHARED)
	if err != nil {
		return 0
	}
	defer func() { _ = syscall.Munmap(b) }() // our own mapping: it cannot fail
	page := os.Getpagesize()
	held := make([]byte, (len(b)+page-1)/page)
	if _, _, errno := syscall.Syscall(syscall.SYS_MINCORE, uintptr(unsafe.Pointer(&b[0])), uintptr(len(b)), uintptr(unsafe.Pointer(&held[0]))); errno != 0 {
		return 0
	}
	var pages int64
	for _, h := range held {
		pages += int64(h & 1)
	}
	return pages
}
