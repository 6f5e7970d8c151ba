package arrowbatch

import (
	"fmt"

	"github.com/apache/arrow/go/v17/arrow"
	"github.com/apache/arrow/go/v17/arrow/array"
	"github.com/apache/arrow/go/v17/arrow/memory"

	"github.com/aether-ooc/aether-ooc/engine"
)

// align is the boundary at which every buffer starts, in bytes: a cache line,
// and what Arrow recommends.
const align = 64

// Encoder turns the batches of one request into records.
type Encoder struct {
	cols   []column
	schema *arrow.Schema
	mem    memory.Allocator
}

// NewEncoder makes the encoder for the batches that r gets from the graph of
// info. Records live in memory of mem.
func NewEncoder(info engine.Info, r engine.Request, mem memory.Allocator) (*Encoder, error) {
	cols, err := columns(info, r)
	if err != nil {
		return nil, err
	}
	return &Encoder{cols: cols, schema: schemaOf(cols), mem: mem}, nil
}

// Schema is the schema of all records that e makes.
func (e *Encoder) Schema() *arrow.Schema { return e.schema }

// Encode copies b into a new record of one row, which the caller releases. b
// may be reused at once.
func (e *Encoder) Encode(b *engine.Batch) arrow.Record {
	cells := make([]cell, len(e.cols))
	size := 0
	for i, c := range e.cols {
		cells[i] = newCell(c, b)
		size += cells[i].space()
	}
	s := slab{whole: memory.NewBufferWithAllocator(e.mem.Allocate(size), e.mem)}
	defer s.whole.Release()
	arrays := make([]arrow.Array, len(cells))
	for i, c := range cells {
		arrays[i] = s.array(c)
		defer arrays[i].Release()
	}
	return array.NewRecord(e.schema, arrays, 1)
}

// cell is the value of one column in one batch.
type cell struct {
	kind   arrow.DataType
	pieces [][]byte
	bytes  int // of all pieces
}

func newCell(c column, b *engine.Batch) cell {
	v := cell{kind: c.kind, pieces: c.take(b)}
	for _, p := range v.pieces {
		v.bytes += len(p)
	}
	return v
}

// offsets is the size of the cell's offsets, the start and the end of its one
// value: 64-bit for a list, 32-bit for a string, none for a number.
func (c cell) offsets() int {
	switch c.kind.(type) {
	case *arrow.LargeListType:
		return 2 * arrow.Int64SizeBytes
	case *arrow.StringType:
		return 2 * arrow.Int32SizeBytes
	}
	return 0
}

func (c cell) space() int { return padded(c.offsets()) + padded(c.bytes) }

func padded(n int) int { return (n + align - 1) &^ (align - 1) }

// slab is the one allocation of a record, handed out from the front.
type slab struct {
	whole *memory.Buffer
	used  int
}

func (s *slab) buffer(n int) *memory.Buffer {
	b := memory.SliceBuffer(s.whole, s.used, n)
	s.used += padded(n)
	return b
}

// fill lays down the pieces as one buffer.
func (s *slab) fill(c cell) *memory.Buffer {
	b := s.buffer(c.bytes)
	at := 0
	for _, p := range c.pieces {
		at += copy(b.Bytes()[at:], p)
	}
	return b
}

func (s *slab) array(c cell) arrow.Array {
	data := s.data(c)
	defer data.Release()
	return array.MakeFromData(data)
}

func (s *slab) data(c cell) *array.Data {
	switch kind := c.kind.(type) {
	case *arrow.LargeListType:
		return s.list(c, kind.Elem())
	case *arrow.StringType:
		ends := s.buffer(c.offsets())
		copy(arrow.Int32Traits.CastFromBytes(ends.Bytes()), []int32{0, int32(c.bytes)})
		return owned(kind, 1, nil, ends, s.fill(c))
	default:
		return owned(kind, 1, nil, s.fill(c))
	}
}

func (s *slab) list(c cell, elem arrow.DataType) *array.Data {
	width := elem.(arrow.FixedWidthDataType).Bytes()
	if c.bytes%width != 0 {
		panic(fmt.Sprintf("arrowbatch: a list of %v has %d bytes", elem, c.bytes))
	}
	n := c.bytes / width
	ends := s.buffer(c.offsets())
	copy(arrow.Int64Traits.CastFromBytes(ends.Bytes()), []int64{0, int64(n)})
	values := owned(elem, n, nil, s.fill(c))
	defer values.Release()
	return owned(c.kind, 1, []arrow.ArrayData{values}, ends)
}

// owned makes array data without nulls that is the only owner of buffers.
func owned(kind arrow.DataType, n int, children []arrow.ArrayData, buffers ...*memory.Buffer) *array.Data {
	d := array.NewData(kind, n, append([]*memory.Buffer{nil}, buffers...), children, 0, 0)
	for _, b := range buffers {
		b.Release()
	}
	return d
}
