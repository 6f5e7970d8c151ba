package serve

import (
	"encoding/binary"
	"errors"
	"fmt"
)

// An upload's messages are Arrow IPC metadata, which is FlatBuffers: tables that
// refer to each other by relative offsets.
//
//	Message ─┬─ 1 kind of header    Schema ─┬─ 0 endianness      RecordBatch ─┬─ 0 rows
//	         └─ 2 header ──►                └─ 1 fields ──►                   ├─ 1 nodes: {rows, nulls} …
//	                                Field ──┬─ 0 name                         ├─ 2 buffers: {offset, bytes} …
//	                                        ├─ 2 kind of type                 └─ 3 compression
//	                                        ├─ 3 type ──► Int: 0 bits, 1 signed
//	                                        └─ 4 dictionary
//
// arrow/go's reader trusts what it reads: a few bytes can have it allocate more
// than there is, which no recover catches. What an upload may be is narrow, so
// here is a reader for just that, which trusts nothing.

const (
	kindSchema = 1
	kindBatch  = 3
	kindInt    = 2
)

// flat reads FlatBuffers. A place outside of b makes it bad for good, and reads
// as 0.
type flat struct {
	b   []byte
	bad bool
}

// at gives the n bytes at a place.
func (f *flat) at(place int64, n int64) []byte {
	if place < 0 || n < 0 || place > int64(len(f.b)) || n > int64(len(f.b))-place {
		f.bad = true
		return make([]byte, 8)
	}
	return f.b[place : place+n]
}

func (f *flat) u8(place int64) uint8   { return f.at(place, 1)[0] }
func (f *flat) u16(place int64) uint16 { return binary.LittleEndian.Uint16(f.at(place, 2)) }
func (f *flat) u32(place int64) uint32 { return binary.LittleEndian.Uint32(f.at(place, 4)) }
func (f *flat) i64(place int64) int64  { return int64(binary.LittleEndian.Uint64(f.at(place, 8))) }

// follow gives the place to which the offset at a place leads.
func (f *flat) follow(place int64) int64 { return place + int64(f.u32(place)) }

// field gives the place of a table's i-th field; 0 where it is not there.
func (f *flat) field(table int64, i int64) int64 {
	layout := table - int64(int32(f.u32(table)))
	if 4+2*i >= int64(f.u16(layout)) {
		return 0
	}
	offset := int64(f.u16(layout + 4 + 2*i))
	if offset == 0 {
		return 0
	}
	return table + offset
}

// byteField gives a table's i-th field, a byte; 0 where it is not there.
func (f *flat) byteField(table, i int64) uint8 {
	if place := f.field(table, i); place != 0 {
		return f.u8(place)
	}
	return 0
}

// vector gives the place and the number of the elements of a table's vector.
func (f *flat) vector(table, i int64) (first int64, n int64) {
	place := f.field(table, i)
	if place == 0 {
		return 0, 0
	}
	v := f.follow(place)
	return v + 4, int64(f.u32(v))
}

// header gives the table of a message, if it is of the kind.
func (f *flat) header(kind uint8) (table int64, err error) {
	root := f.follow(0)
	place := f.field(root, 2)
	if got := f.byteField(root, 1); f.bad || got != kind || place == 0 {
		return 0, fmt.Errorf("an Arrow message of kind %d where %d should be", got, kind)
	}
	return f.follow(place), nil
}

var errDamaged = errors.New("a damaged Arrow message")

// checkSchema says whether a schema message has one column, nodes, of int64.
func checkSchema(message []byte) error {
	f := &flat{b: message}
	schema, err := f.header(kindSchema)
	if err != nil {
		return err
	}
	first, n := f.vector(schema, 1)
	if f.byteField(schema, 0) != 0 {
		return errors.New("big-endian data: send little-endian")
	}
	if n != 1 || f.bad {
		return fmt.Errorf("%d columns: send one, nodes", n)
	}
	column := f.follow(first)
	if err := f.checkColumn(column); err != nil {
		return err
	}
	if f.bad {
		return errDamaged
	}
	return nil
}

func (f *flat) checkColumn(column int64) error {
	first, n := f.vector(column, 0)
	if name := string(f.at(first, n)); !f.bad && name != "nodes" {
		return fmt.Errorf("the column's name is %.40q: send nodes", name)
	}
	kind, place := f.byteField(column, 2), f.field(column, 3)
	if kind != kindInt || place == 0 || f.field(column, 4) != 0 {
		return errors.New("the column is not of type int64")
	}
	typ := f.follow(place)
	bits := f.field(typ, 0)
	if bits == 0 || f.u32(bits) != 64 || f.byteField(typ, 1) == 0 {
		return errors.New("the column is not of type int64")
	}
	return nil
}

// batchIDs gives the column of a record batch message: little-endian int64s,
// a view of body.
func batchIDs(message, body []byte) ([]byte, error) {
	f := &flat{b: message}
	batch, err := f.header(kindBatch)
	if err != nil {
		return nil, err
	}
	if f.field(batch, 3) != 0 {
		return nil, errors.New("a compressed batch: send it plain")
	}
	nodes, n := f.vector(batch, 1)
	buffers, m := f.vector(batch, 2)
	if n != 1 || m != 2 || f.bad {
		return nil, errDamaged
	}
	rows, nulls := f.i64(nodes), f.i64(nodes+8)
	start, size := f.i64(buffers+16), f.i64(buffers+24)
	if nulls != 0 {
		return nil, fmt.Errorf("%d of the ids are null: leave them out", nulls)
	}
	values := &flat{b: body}
	values.at(start, size)
	if f.bad || values.bad || rows < 0 || rows > size/idBytes {
		return nil, errDamaged
	}
	return body[start : start+rows*idBytes], nil
}
