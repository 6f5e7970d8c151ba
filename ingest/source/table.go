//go:build linux

package source

import (
	"fmt"
	"runtime"

	"github.com/apache/arrow/go/v17/arrow"
	arrays "github.com/apache/arrow/go/v17/arrow/array"
	"github.com/apache/arrow/go/v17/arrow/memory"

	"github.com/aether-ooc/aether-ooc/internal/base"
)

// tableRows is how many rows of a record become one batch.
const tableRows = 64 << 10

// table makes batches of the records of an Arrow or Parquet file.
type table struct {
	*file
	ids
	words   bool // nodes have names
	seed    uint64
	columns []int    // of the records: source, target[, weight[, time]]; -1: none
	place   []int    // of the file, from 1, for errors
	names   []string // likewise
	batch   Batch
}

// wanted finds the columns of a file's schema that hold source, target and what
// else was asked for; -1: none.
func wanted(c *Config, f *file, schema *arrow.Schema) ([]int, error) {
	names := []string{}
	for _, f := range schema.Fields() {
		names = append(names, f.Name)
	}
	w, err := c.columns(f.name, names)
	places := []int{w.src - 1, w.dst - 1, w.weight - 1, w.time - 1}
	return places[:max(2, len(c.Columns))], err
}

// newTable makes batches of records that have the columns of places only, each
// once, in the file's order.
func newTable(c *Config, f *file, schema *arrow.Schema, places, columns []int) (*table, error) {
	t := &table{file: f, ids: c.ids(), words: c.Names, seed: c.NameSeed, columns: columns}
	for _, at := range places {
		t.place = append(t.place, at+1)
		name := ""
		if at >= 0 {
			name = schema.Field(at).Name
			if err := t.checkType(schema.Field(at), len(t.names)); err != nil {
				return nil, err
			}
		}
		t.names = append(t.names, name)
	}
	return t, nil
}

// What a column may be, by its role.
const (
	roleWeight = 2
	roleTime   = 3
)

func (t *table) checkType(f arrow.Field, role int) error {
	switch id := f.Type.ID(); {
	case t.words && role < roleWeight && isName(f.Type):
		return nil
	case t.words && role < roleWeight:
		return Fault(t.name, "column %q has type %s, and names are strings; relabel its numbers (--relabel ids)", f.Name, f.Type)
	case arrow.IsInteger(id):
		return nil
	case role == roleWeight && arrow.IsFloating(id) && id != arrow.FLOAT16:
		return nil
	case role == roleTime && id == arrow.TIMESTAMP:
		return nil
	case role == roleWeight:
		return Fault(t.name, "column %q has type %s; weights are integers or floats", f.Name, f.Type)
	case role == roleTime:
		return Fault(t.name, "column %q has type %s; times are integers or timestamps", f.Name, f.Type)
	}
	return Fault(t.name, "column %q has type %s; node ids are integers, name the columns that hold them (--columns), or relabel names (--relabel names)", f.Name, f.Type)
}

// record calls fn with the rows of rec, the first of which is the file's row
// first.
func (t *table) record(rec arrow.Record, first int64, fn func(*Batch) error) error {
	for from := int64(0); from < rec.NumRows(); from += tableRows {
		part := rec.NewSlice(from, min(from+tableRows, rec.NumRows()))
		err := t.rows(part, first+from)
		part.Release()
		if err == nil {
			err = fn(&t.batch)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// rows takes a record into the batch.
func (t *table) rows(rec arrow.Record, first int64) error {
	b, n := &t.batch, int(rec.NumRows())
	b.reset()
	b.Src, b.Dst = sized(b.Src, n), sized(b.Dst, n)
	for role, at := range t.columns {
		if at < 0 {
			continue
		}
		a := rec.Column(at)
		if err := t.checkNulls(a, role, first); err != nil {
			return err
		}
		var err error
		switch role {
		case roleWeight:
			b.Weight = appendNumbers(b.Weight, a)
		case roleTime:
			b.Time, err = t.times(b.Time, a, role, first)
		default:
			err = t.nodes([][]base.NodeID{b.Src, b.Dst}[role], a, role, first)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

func (t *table) checkNulls(a arrow.Array, role int, first int64) error {
	if a.NullN() == 0 {
		return nil
	}
	for i := range a.Len() {
		if a.IsNull(i) {
			return t.bad(first+int64(i), role, "null", "a missing value; remove the row")
		}
	}
	return nil
}

func (t *table) bad(row int64, role int, value, reason string) error {
	return &InputError{File: t.name, Row: row, Column: t.place[role], Value: shorten(value), Reason: reason}
}

// nodes turns a column of ids into nodes.
func (t *table) nodes(dst []base.NodeID, a arrow.Array, role int, first int64) error {
	if t.words {
		return t.named(dst, a, role, first)
	}
	fill := func(i int, id base.NodeID, negative bool) error {
		v, ok := t.node(id)
		if negative || !ok || id > MaxNodeID {
			word := a.ValueStr(i)
			return t.bad(first+int64(i), role, word, t.reason(word))
		}
		dst[i] = v
		t.batch.Max = max(t.batch.Max, v)
		return nil
	}
	switch a := a.(type) {
	case *arrays.Int64:
		return each(a.Int64Values(), fill)
	case *arrays.Uint64:
		return each(a.Uint64Values(), fill)
	case *arrays.Int32:
		return each(a.Int32Values(), fill)
	case *arrays.Uint32:
		return each(a.Uint32Values(), fill)
	case *arrays.Int16:
		return each(a.Int16Values(), fill)
	case *arrays.Uint16:
		return each(a.Uint16Values(), fill)
	case *arrays.Int8:
		return each(a.Int8Values(), fill)
	case *arrays.Uint8:
		return each(a.Uint8Values(), fill)
	}
	panic("source: a column of " + a.DataType().String())
}

type integer interface {
	int8 | int16 | int32 | int64 | uint8 | uint16 | uint32 | uint64
}

func each[T integer](values []T, fn func(i int, id base.NodeID, negative bool) error) error {
	for i, v := range values {
		if err := fn(i, base.NodeID(v), v < 0); err != nil {
			return err
		}
	}
	return nil
}

// appendNumbers takes a column of integers or floats.
func appendNumbers(dst []float64, a arrow.Array) []float64 {
	switch a := a.(type) {
	case *arrays.Float64:
		return append(dst, a.Float64Values()...)
	case *arrays.Float32:
		for _, v := range a.Float32Values() {
			dst = append(dst, float64(v))
		}
		return dst
	case *arrays.Uint64:
		for _, v := range a.Uint64Values() {
			dst = append(dst, float64(v))
		}
		return dst
	}
	ints, _ := appendIntegers(nil, a)
	for _, v := range ints {
		dst = append(dst, float64(v))
	}
	return dst
}

// appendIntegers takes a column of integers or timestamps; the first that does
// not fit is at.
func appendIntegers(dst []int64, a arrow.Array) (list []int64, at int) {
	at = -1
	fill := func(i int, id base.NodeID, _ bool) error {
		if _, unsigned := a.(*arrays.Uint64); unsigned && id>>63 != 0 && at < 0 {
			at = i
		}
		dst = append(dst, int64(id)) // the sign came along
		return nil
	}
	switch a := a.(type) {
	case *arrays.Timestamp:
		for _, v := range a.TimestampValues() {
			dst = append(dst, int64(v))
		}
	case *arrays.Int64:
		dst = append(dst, a.Int64Values()...)
	case *arrays.Uint64:
		_ = each(a.Uint64Values(), fill)
	case *arrays.Int32:
		_ = each(a.Int32Values(), fill)
	case *arrays.Uint32:
		_ = each(a.Uint32Values(), fill)
	case *arrays.Int16:
		_ = each(a.Int16Values(), fill)
	case *arrays.Uint16:
		_ = each(a.Uint16Values(), fill)
	case *arrays.Int8:
		_ = each(a.Int8Values(), fill)
	case *arrays.Uint8:
		_ = each(a.Uint8Values(), fill)
	}
	return dst, at
}

func (t *table) times(dst []int64, a arrow.Array, role int, first int64) ([]int64, error) {
	list, at := appendIntegers(dst, a)
	if at >= 0 {
		return list, t.bad(first+int64(at), role, a.ValueStr(at), "too large; times are below 2^63")
	}
	return list, nil
}

// careful calls fn, which reads a file by Arrow's library. That panics, or asks
// for any amount of memory, where a file is damaged.
func careful(f *file, fn func() error) (err error) {
	defer func() {
		switch r := recover().(type) {
		case nil:
		case runtime.Error, string, tooMuch, error:
			err = Fault(f.name, "it is damaged (%v); write it again", r)
		default:
			panic(r)
		}
	}()
	return fn()
}

// bounded is an allocator for what a file says it needs.
type bounded struct{ memory.Allocator }

type tooMuch struct{ bytes int }

func (t tooMuch) String() string { return fmt.Sprintf("%d bytes in one piece", t.bytes) }

// mostBytes is more than a piece of a record ever has.
const mostBytes = 1 << 30

func newBounded() bounded { return bounded{memory.NewGoAllocator()} }

func (b bounded) Allocate(n int) []byte {
	b.check(n)
	return b.Allocator.Allocate(n)
}

func (b bounded) Reallocate(n int, old []byte) []byte {
	b.check(n)
	return b.Allocator.Reallocate(n, old)
}

func (bounded) check(n int) {
	if n < 0 || n > mostBytes {
		panic(tooMuch{n})
	}
}
