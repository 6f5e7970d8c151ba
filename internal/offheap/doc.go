// Package offheap gives out memory that the garbage collector does not see: a
// collection does not grow with it, the kernel may read into it, and it goes back
// to the system when its owner says so. What lies in it holds no Go pointers.
//
// With the race detector the memory comes from the Go heap, since the detector
// watches nothing else.
package offheap

import "unsafe"

// Slice sees bytes, which must be aligned for T, as values of type T.
func Slice[T uint8 | uint16 | uint32 | uint64](b []byte) []T {
	var v T
	return unsafe.Slice((*T)(unsafe.Pointer(unsafe.SliceData(b))), len(b)/int(unsafe.Sizeof(v)))
}
