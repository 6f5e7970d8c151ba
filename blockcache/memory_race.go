//go:build race

package blockcache

import (
	"unsafe"

	"github.com/aether-ooc/aether-ooc/internal/base"
)

// reserve takes the memory from the Go heap: the race detector watches nothing
// else, and the tables are where a race would be.
func reserve(bytes int64) (*memory, error) {
	b := make([]byte, bytes+base.BlockSize)
	skip := -uintptr(unsafe.Pointer(unsafe.SliceData(b))) % base.BlockSize
	return &memory{rest: b[skip:], free: func() error { return nil }}, nil
}
