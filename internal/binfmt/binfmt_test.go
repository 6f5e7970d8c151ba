package binfmt

import (
	"encoding/binary"
	"hash/crc32"
	"testing"

	"github.com/aether-ooc/aether-ooc/internal/base"
)

// The seal is what the package comment says, by the standard library's CRC over
// payload and place in one piece.
func TestSumIsCRCOfPayloadAndPlace(t *testing.T) {
	block := make([]byte, base.BlockSize)
	for i := range block {
		block[i] = byte(i * 31)
	}
	for _, no := range []base.BlockNo{0, 1, 255, 256, 1 << 31, 1<<32 - 1} {
		whole := binary.LittleEndian.AppendUint64(append([]byte{}, block[:PayloadSize]...), uint64(no))
		want := crc32.Checksum(whole, crc32.MakeTable(crc32.Castagnoli))
		if got := Sum(block, no); got != want {
			t.Errorf("Sum(block, %d) = %08x, want %08x", no, got, want)
		}
		Seal(block, no)
		if _, _, ok := Check(block, no); !ok {
			t.Errorf("block %d: a seal just made does not hold", no)
		}
		if _, _, ok := Check(block, no+1); ok {
			t.Errorf("block %d passes for block %d", no, no+1)
		}
	}
	if n := testing.AllocsPerRun(10, func() { Sum(block, 7) }); n != 0 {
		t.Errorf("Sum allocates %v times", n)
	}
}

func TestPerBlock(t *testing.T) {
	for _, c := range []struct {
		n      uint64
		width  int
		blocks uint64
	}{{0, 4, 0}, {1, 4, 1}, {1023, 4, 1}, {1024, 4, 2}, {511, 8, 1}, {512, 8, 2}} {
		if got := BlocksFor(c.n, c.width); got != c.blocks {
			t.Errorf("%d values of %d bytes take %d blocks, want %d", c.n, c.width, got, c.blocks)
		}
	}
}
