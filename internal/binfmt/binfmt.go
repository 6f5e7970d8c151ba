package binfmt

import (
	"encoding/binary"
	"hash/crc32"

	"github.com/aether-ooc/aether-ooc/internal/base"
)

// PayloadSize is how many bytes of a block are free for its owner.
const PayloadSize = base.BlockSize - 4

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// Sum is the seal that block no must carry, given its payload. block has
// base.BlockSize bytes. The place is added byte by byte, because a buffer for it
// would be an allocation for every block that is read.
func Sum(block []byte, no base.BlockNo) uint32 {
	crc := ^crc32.Checksum(block[:PayloadSize], castagnoli)
	for shift := 0; shift < 64; shift += 8 {
		crc = castagnoli[byte(crc)^byte(uint64(no)>>shift)] ^ crc>>8
	}
	return ^crc
}

// Seal writes the seal of block no into its last four bytes.
func Seal(block []byte, no base.BlockNo) {
	binary.LittleEndian.PutUint32(block[PayloadSize:base.BlockSize], Sum(block, no))
}

// Check compares the seal of block no with its payload. want is what the
// payload calls for, got what the block carries; the block is whole when they
// are equal.
func Check(block []byte, no base.BlockNo) (want, got uint32, ok bool) {
	want = Sum(block, no)
	got = binary.LittleEndian.Uint32(block[PayloadSize:base.BlockSize])
	return want, got, want == got
}

// PerBlock is how many values of width bytes one block holds without any of
// them straddling its end.
func PerBlock(width int) int { return PayloadSize / width }

// BlocksFor is how many blocks n values of width bytes take.
func BlocksFor(n uint64, width int) uint64 {
	per := uint64(PerBlock(width))
	return (n + per - 1) / per
}
