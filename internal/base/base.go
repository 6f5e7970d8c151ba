package base

import "encoding/hex"

// BlockSize is the unit of I/O, caching and checksums, in bytes.
const BlockSize = 4096

// NodeID numbers a node, 0 … N-1.
type NodeID uint64

// EdgeIdx is an edge's position in canonical order: lists by node id, and
// within a list by (neighbour id, input row).
type EdgeIdx uint64

// EdgeID is an edge's row in the input, what users know as e_id.
type EdgeID uint64

// BlockNo numbers a block of a file, counted from the file's start: the block
// holds the bytes [BlockNo·4096, BlockNo·4096+4096). 32 bits reach 16 TiB.
type BlockNo uint32

// MaxBlocks is how many blocks of one file a BlockNo can number.
const MaxBlocks = 1 << 32

// Off is the offset in bytes of the block's first byte in its file.
func (b BlockNo) Off() ByteOff { return ByteOff(b) * BlockSize }

// ByteOff is an offset in bytes from the start of a file.
type ByteOff int64

// BatchIdx is the global number of a mini-batch in its epoch: it counts the
// batches of all ranks together.
type BatchIdx int64

// Fingerprint identifies the logical content of a graph (128 bits).
type Fingerprint [16]byte

// String gives the fingerprint as 32 hexadecimal digits.
func (f Fingerprint) String() string { return hex.EncodeToString(f[:]) }
