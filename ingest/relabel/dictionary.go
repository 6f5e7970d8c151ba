//go:build linux

package relabel

import "math/bits"

// dictionary is a part of the ids that occur, ascending, in memory.
type dictionary struct {
	ids   []uint64
	first uint64 // rank of ids[0]
	least uint64 // ids[0]
	shift uint
	jump  []uint32 // jump[i]: how many ids are below least + i<<shift
}

const jumpBits = 16

func newDictionary(ids []uint64, first uint64) *dictionary {
	d := &dictionary{ids: ids, first: first}
	if len(ids) == 0 {
		return d
	}
	d.least = ids[0]
	span := ids[len(ids)-1] - d.least
	d.shift = uint(max(0, bits.Len64(span)-jumpBits))
	d.jump = make([]uint32, span>>d.shift+2)
	at := 0
	for i := range d.jump {
		for at < len(ids) && (ids[at]-d.least)>>d.shift < uint64(i) {
			at++
		}
		d.jump[i] = uint32(at)
	}
	return d
}

// rank is the dense id of an id, if this part has it.
func (d *dictionary) rank(id uint64) (uint64, bool) {
	if len(d.ids) == 0 || id < d.least || id > d.ids[len(d.ids)-1] {
		return 0, false
	}
	i := (id - d.least) >> d.shift
	lo, hi := int(d.jump[i]), int(d.jump[i+1])
	for lo < hi {
		mid := int(uint(lo+hi) / 2)
		if d.ids[mid] < id {
			lo = mid + 1
		} else {
			hi = mid
		}
	}
	return d.first + uint64(lo), lo < len(d.ids) && d.ids[lo] == id
}
