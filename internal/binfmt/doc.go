// Package binfmt is the one rule that every file of ours obeys: a file is a
// sequence of sealed blocks.
//
//	0                                                            4092   4096
//	┌──────────────────────────────────────────────────────────────┬──────┐
//	│ payload, 4,092 bytes                                         │ crc  │
//	└──────────────────────────────────────────────────────────────┴──────┘
//
// The seal is CRC-32C over the payload followed by the block's number in the
// file (8 bytes, little-endian), so a flipped bit, a torn write and a block
// that was written to the wrong place are all seen. It stands at the end, so a
// decoder may load a whole word at the last payload byte without leaving the
// block.
//
// A longer array (an index column, the edge ids) is cut into runs of 4,092
// bytes; fixed-width values are cut so that none straddles two blocks (see
// PerBlock). Nothing in this package does I/O.
package binfmt
