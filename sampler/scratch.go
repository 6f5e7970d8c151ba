package sampler

import (
	"slices"
	"unsafe"

	"github.com/aether-ooc/aether-ooc/internal/base"
)

// scratch is what a Sampler keeps from batch to batch: memory, no meaning.
type scratch struct {
	met    []table  // see Sampler.tables
	copies []uint32 // of each seed: earlier copies of the same node in its batch
	times  []uint32 // of each seed of one batch: copies so far, at the first

	keys, spare []uint64       // (block, item): see keyOf
	blocks      []base.BlockNo // the visit's, ascending, each once
	starts      []uint32       // keys[starts[i]:starts[i+1]] wait for blocks[i]
	pieces      []piece        // item len(runs)+p is pieces[p]
	runs        []run          // of each frontier node; item t < len(runs) is the One list of node t
	edges       []int64        // the canonical numbers of one batch's picks, while they are put in order
}

// keyOf says that an item waits for a block.
func keyOf(b base.BlockNo, item int) uint64 { return uint64(b)<<32 | uint64(uint32(item)) }

// begin empties the scratch for a visit on behalf of n frontier nodes.
func (c *scratch) begin(n int) {
	c.keys, c.pieces = c.keys[:0], c.pieces[:0]
	c.runs = lengthen(c.runs[:0], n)
	clear(c.runs)
}

// group sorts the keys and lists their distinct blocks.
func (c *scratch) group() {
	c.keys, c.spare = sortByBlock(c.keys, c.spare)
	c.blocks, c.starts = c.blocks[:0], c.starts[:0]
	for i, k := range c.keys {
		if b := base.BlockNo(k >> 32); i == 0 || b != c.blocks[len(c.blocks)-1] {
			c.blocks, c.starts = append(c.blocks, b), append(c.starts, uint32(i))
		}
	}
	c.starts = append(c.starts, uint32(len(c.keys)))
}

// items are the keys that wait for block i of the visit; their lower halves
// name the items.
func (c *scratch) items(i int) []uint64 { return c.keys[c.starts[i]:c.starts[i+1]] }

// as gives the same memory by the other name for 64 bits.
func as[T, F int64 | uint64](s []F) []T {
	return unsafe.Slice((*T)(unsafe.Pointer(unsafe.SliceData(s))), cap(s))[:len(s)]
}

// lengthen gives s with length n, its new elements anything.
func lengthen[T any](s []T, n int) []T { return slices.Grow(s, max(0, n-len(s)))[:max(n, len(s))] }

func held[T any](s []T) int64 { var t T; return int64(cap(s)) * int64(unsafe.Sizeof(t)) }

func (c *scratch) bytes() int64 {
	n := held(c.copies) + held(c.times) + held(c.keys) + held(c.spare) + held(c.blocks) +
		held(c.starts) + held(c.pieces) + held(c.runs) + held(c.edges)
	for i := range c.met {
		n += held(c.met[i].slots)
	}
	return n
}
