package serve

import "github.com/apache/arrow/go/v17/arrow/memory"

// WithAllocator has the server take its buffers from mem.
func (c Config) WithAllocator(mem memory.Allocator) Config {
	c.mem = mem
	return c
}
