package rng

import "math/bits"

const (
	mulA, mulB   = 0xD2511F53, 0xCD9E8D57
	weylA, weylB = 0x9E3779B9, 0xBB67AE85
	rounds       = 10
)

// Key selects one of 2^64 independent functions of the counter.
type Key [2]uint32

// Philox is one block of Philox4x32-10: four random words for a counter.
func Philox(c [4]uint32, k Key) [4]uint32 {
	k0, k1 := k[0], k[1]
	for range rounds {
		h0, l0 := bits.Mul32(mulA, c[0])
		h1, l1 := bits.Mul32(mulB, c[2])
		c = [4]uint32{h1 ^ c[1] ^ k0, l1, h0 ^ c[3] ^ k1, l0}
		k0 += weylA
		k1 += weylB
	}
	return c
}
