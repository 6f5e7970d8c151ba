package layout

import (
	"encoding/binary"

	"github.com/aether-ooc/aether-ooc/internal/base"
)

// List is a piece of a node's list, as one block holds it: the whole list
// unless it goes over the block's end.
type List struct {
	b     *[base.BlockSize]byte
	mask  uint64 // of an entry; with Elias-Fano, of its low bits
	base  uint64 // with Elias-Fano: the high bits of the first entry
	n     int32
	pos   int32
	at    int32 // where the entries begin, or their low bits
	upper int32 // with Elias-Fano: where the high bits begin
	hints int32 // and where the hint of entry 0 would be, if it had one
	width uint8 // bits of an entry, or of its low bits
	form  form
}

// form is how a list's entries lie.
type form uint8

const (
	formNarrow form = iota // whole bytes, at most 4 each, up to the seal
	formPacked             // any number of bits each, 8 bytes before the block's end at the latest
	formElias              // see eliasfano.go
)

// Len is the number of entries.
func (l List) Len() int { return int(l.n) }

// Pos is the place in the block of the first entry: the i-th entry is the
// block's (Pos+i)-th, so its EdgeIdx is FirstEdge(block) + Pos + i.
func (l List) Pos() int { return int(l.pos) }

// EliasFano says whether the list is packed so.
func (l List) EliasFano() bool { return l.form == formElias }

// At is the i-th entry, i < Len.
func (l List) At(i int) base.NodeID {
	switch l.form {
	case formNarrow:
		return base.NodeID(l.narrow(uint64(i)))
	case formPacked:
		return base.NodeID(l.packed(uint64(i)))
	}
	return base.NodeID(l.elias(uint64(i)))
}

// Take replaces ranks in the list, each below Len, by the entries that have them.
func (l List) Take(ranks []uint64) {
	switch l.form {
	case formNarrow:
		for i, r := range ranks {
			ranks[i] = l.narrow(r)
		}
	case formPacked:
		for i, r := range ranks {
			ranks[i] = l.packed(r)
		}
	default:
		l.takeElias(ranks)
	}
}

// narrow is one load: behind the last entry stands the seal, so reading over
// the entry's end stays in the block.
func (l *List) narrow(r uint64) uint64 {
	return uint64(binary.LittleEndian.Uint32(l.b[int(l.at)+int(r)*int(l.width>>3):])) & l.mask
}

// packed is the width bits behind r others: low bits of bytes come first.
func (l *List) packed(r uint64) uint64 {
	bit := r * uint64(l.width)
	return binary.LittleEndian.Uint64(l.b[int(l.at)+int(bit>>3):]) >> (bit & 7) & l.mask
}

// place is about where the i-th entry lies in the block.
func (l List) place(i int) int { return int(l.at) + i*int(l.width)/8 }
