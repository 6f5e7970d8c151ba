// Package rng is the generator behind every random choice: Philox4x32-10
// (Salmon, Moraes, Dror, Shaw: "Parallel Random Numbers: As Easy as 1, 2, 3",
// SC 2011), a counter-based generator, so a draw depends on what it is for and
// never on when it is made.
//
// # Version 1 of the algorithm
//
// All words are 32 bits; lo and hi are the halves of a 64-bit number; P(ctr,
// key) is one Philox4x32-10 block, four words.
//
//	batch key    A = P(fingerprint as four little-endian words, (seed.lo, seed.hi))
//	             B = P((epoch.lo, epoch.hi, batch.lo, batch.hi), (A0, A1))
//	             K = (B0 ^ A2, B1 ^ A3)
//	stream       of (hop, node, copy): words j = 0, 1, 2 … are those of
//	             P((node.lo, node.hi, hop | copy<<8, i), K) for i = 0, 1, 2 …
//	             in order; hop < 2^8, copy < 2^24
//	uniform(n)   n ≤ 2^32: x = the next word, m = x·n; while m mod 2^32 <
//	             (2^32 - n) mod n, take another word; the result is m div 2^32
//	             (Lemire, "Fast Random Integer Generation in an Interval", 2019).
//	             n > 2^32: likewise with x made of two words, low word first, and
//	             2^64 in place of 2^32. uniform(1) is 0 and takes no word.
//	k of d       without replacement, k < d: Floyd's algorithm (Bentley, Floyd,
//	             "A Sample of Brilliance", 1987): for j = d-k … d-1, t =
//	             uniform(j+1), and t is taken, or j if t is taken already; the
//	             ranks are given in ascending order. k ≥ d: all ranks, no word.
//	k of d       with replacement: k times uniform(d), in draw order; none when
//	             d = 0.
//	shuffle      of n positions: a Feistel network of 6 rounds over 2·h bits,
//	             h = ceil(bits(n-1)/2), at least 1, walked until it falls below
//	             n. Round r maps (L, R) to (R, L ^ F) with F = the low h bits of
//	             word 0 of P((R.lo, R.hi, r, 0x73687566), S), where
//	             A = P(fingerprint, seed) as above, B = P((epoch.lo, epoch.hi,
//	             0x73687566, 0xffffffff), (A0, A1)), S = (B0 ^ A2, B1 ^ A3). The
//	             item at position i of the epoch is item shuffle(i) of the input.
//	             h ≤ 32, so F needs one word.
//
// A change to any of these is a new version, and a new Name.
package rng
