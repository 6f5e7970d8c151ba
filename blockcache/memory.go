package blockcache

import (
	"fmt"
	"unsafe"

	"github.com/aether-ooc/aether-ooc/internal/offheap"
)

// memory is a stretch of zeroed bytes outside the Go heap, from which typed
// regions are cut at the start and freed all at once at the end. What lies in
// it holds no Go pointers.
type memory struct {
	rest []byte
	free func() error
}

func reserve(bytes int64) (*memory, error) {
	b, free, err := offheap.Reserve(bytes)
	if err != nil {
		return nil, fmt.Errorf("blockcache: memory for the cache: %w", err)
	}
	return &memory{rest: b, free: free}, nil
}

// align keeps regions on cache lines of their own.
const align = 64

// region is how many bytes carve takes for n values of type T.
func region[T any](n int64) int64 {
	var v T
	return (n*int64(unsafe.Sizeof(v)) + align - 1) / align * align
}

// carve cuts n zero values of type T from m.
func carve[T any](m *memory, n int) []T {
	size := region[T](int64(n))
	b := m.rest[:size]
	m.rest = m.rest[size:]
	return unsafe.Slice((*T)(unsafe.Pointer(unsafe.SliceData(b))), n)
}

// carveOrMake cuts n zero values from m, or makes them on the heap if m has not
// so many left.
func carveOrMake[T any](m *memory, n int) []T {
	if region[T](int64(n)) > int64(len(m.rest)) {
		return make([]T, n)
	}
	return carve[T](m, n)
}
