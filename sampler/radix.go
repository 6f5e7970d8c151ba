package sampler

import (
	"math/bits"
	"slices"
)

// A key has a block's number in its upper half and, in its lower half, which
// item needs the block.
const (
	digitBits = 11
	digits    = 1 << digitBits
	fewKeys   = 256 // below this, clearing the counters costs more than comparing
)

// sortByBlock sorts keys by their upper halves; the order within a block is
// anything. It gives the sorted keys and the slice that is free now.
func sortByBlock(keys, spare []uint64) (sorted, free []uint64) {
	if len(keys) < fewKeys {
		slices.Sort(keys)
		return keys, spare
	}
	lo, hi := keys[0], keys[0]
	for _, k := range keys {
		lo, hi = min(lo, k), max(hi, k)
	}
	base := lo >> 32 << 32
	spare = slices.Grow(spare[:0], len(keys))[:len(keys)]
	for shift := 32; shift < 32+bits.Len64((hi-base)>>32); shift += digitBits {
		pass(spare, keys, base, shift)
		keys, spare = spare, keys
	}
	return keys, spare
}

// pass scatters from to to by one digit of the distance to base.
func pass(to, from []uint64, base uint64, shift int) {
	var at [digits]uint32
	for _, k := range from {
		at[(k-base)>>shift&(digits-1)]++
	}
	sum := uint32(0)
	for d, n := range at {
		at[d] = sum
		sum += n
	}
	for _, k := range from {
		d := (k - base) >> shift & (digits - 1)
		to[at[d]] = k
		at[d]++
	}
}
