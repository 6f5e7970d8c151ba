package arrowbatch

import (
	"sync"

	"github.com/apache/arrow/go/v17/arrow/memory"
)

// Recycler is an allocator for records that come one after the other: what one
// frees, the next gets, so a stream of batches costs neither fresh pages nor
// the garbage collector's attention. It keeps at most Keep pieces of memory
// that nobody uses.
type Recycler struct {
	under memory.Allocator
	keep  int

	mu     sync.Mutex
	idle   [][]byte
	closed bool
}

// NewRecycler makes a Recycler over under that keeps up to keep idle pieces.
func NewRecycler(under memory.Allocator, keep int) *Recycler {
	return &Recycler{under: under, keep: keep}
}

// Allocate gives size bytes, with whatever they held before.
func (r *Recycler) Allocate(size int) []byte {
	r.mu.Lock()
	defer r.mu.Unlock()
	for i, b := range r.idle {
		if cap(b) >= size {
			r.idle = append(r.idle[:i], r.idle[i+1:]...)
			return b[:size]
		}
	}
	for len(r.idle) > 0 { // too small: they would only wait
		r.drop()
	}
	return r.under.Allocate(roomy(size))[:size]
}

// roomy adds an eighth, so that the next batch, a little larger, fits too.
func roomy(size int) int { return padded(size + size/8) }

// Reallocate moves b to a piece of size bytes.
func (r *Recycler) Reallocate(size int, b []byte) []byte {
	if size <= cap(b) {
		return b[:size]
	}
	bigger := r.Allocate(size)
	copy(bigger, b)
	r.Free(b)
	return bigger
}

// Free takes b back.
func (r *Recycler) Free(b []byte) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.idle = append(r.idle, b[:cap(b)])
	if r.closed || len(r.idle) > r.keep {
		r.drop()
	}
}

// drop gives one idle piece back to the allocator below.
func (r *Recycler) drop() {
	last := len(r.idle) - 1
	r.under.Free(r.idle[last])
	r.idle[last] = nil
	r.idle = r.idle[:last]
}

// Close gives up the idle pieces; those still in use follow when they are
// freed.
func (r *Recycler) Close() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.closed = true
	for len(r.idle) > 0 {
		r.drop()
	}
}
