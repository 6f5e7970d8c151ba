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

// philox2 is Philox of a counter and of the next one, c[3] being below 2^32-1: two
// at once take hardly longer than one, whose multiplications wait for each other.
func philox2(c [4]uint32, k Key) (a, b [4]uint32) {
	k0, k1 := k[0], k[1]
	a0, a1, a2, a3 := c[0], c[1], c[2], c[3]
	b0, b1, b2, b3 := c[0], c[1], c[2], c[3]+1
	for range rounds {
		p, q := uint64(mulA)*uint64(a0), uint64(mulB)*uint64(a2)
		r, t := uint64(mulA)*uint64(b0), uint64(mulB)*uint64(b2)
		a0, a1, a2, a3 = uint32(q>>32)^a1^k0, uint32(q), uint32(p>>32)^a3^k1, uint32(p)
		b0, b1, b2, b3 = uint32(t>>32)^b1^k0, uint32(t), uint32(r>>32)^b3^k1, uint32(r)
		k0 += weylA
		k1 += weylB
	}
	return [4]uint32{a0, a1, a2, a3}, [4]uint32{b0, b1, b2, b3}
}
