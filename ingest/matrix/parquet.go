package matrix

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/apache/arrow/go/v17/arrow"
	"github.com/apache/arrow/go/v17/arrow/array"
	"github.com/apache/arrow/go/v17/arrow/memory"
	"github.com/apache/arrow/go/v17/parquet/file"
	"github.com/apache/arrow/go/v17/parquet/pqarrow"
)

// table reads the columns of a Parquet file as a matrix.
type table struct {
	c      Config
	f      *file.Reader
	in     pqarrow.RecordReader
	fields []arrow.Field // the values' columns
	key    int           // column of the records; -1: none
	at     []int         // column of the records, of each field
	dtype  string
	rows   int64
	dim    int64 // one for each column, or the length of the lists
	next   int64

	rec  arrow.Record // the rows from used on have not been given out
	used int64
}

const recordRows = 8192

func openParquet(c Config) (Reader, error) {
	f, err := file.OpenParquetFile(c.Path, false)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", c.Path, err)
	}
	t := &table{c: c, f: f, key: -1, rows: f.NumRows()}
	if err := t.open(); err != nil {
		return nil, errors.Join(err, t.Close())
	}
	return t, nil
}

func (t *table) open() (err error) {
	defer t.damaged(&err)
	r, err := pqarrow.NewFileReader(t.f, pqarrow.ArrowReadProperties{BatchSize: recordRows}, memory.NewGoAllocator())
	if err != nil {
		return fmt.Errorf("%s: %w", t.c.Path, err)
	}
	schema, err := r.Schema()
	if err != nil {
		return fmt.Errorf("%s: %w", t.c.Path, err)
	}
	wanted, err := t.choose(schema)
	if err != nil {
		return err
	}
	if t.in, err = r.GetRecordReader(context.Background(), leaves(t.f, wanted), nil); err != nil {
		return fmt.Errorf("%s: %w", t.c.Path, err)
	}
	t.place()
	return t.measure()
}

// choose finds the columns that are meant.
func (t *table) choose(schema *arrow.Schema) ([]string, error) {
	names := t.c.Columns
	if len(names) == 0 {
		for _, f := range schema.Fields() {
			if f.Name != t.c.Key {
				names = append(names, f.Name)
			}
		}
	}
	wanted := slices.Clone(names)
	if t.c.Key != "" {
		wanted = append(wanted, t.c.Key)
	}
	for i, name := range wanted {
		at := schema.FieldIndices(name)
		if len(at) != 1 {
			return nil, refuse(t.c.Path, "there is no column %q; it has %s", name, strings.Join(fieldNames(schema), ", "))
		}
		if i < len(names) {
			t.fields = append(t.fields, schema.Field(at[0]))
		}
	}
	if len(t.fields) == 0 {
		return nil, refuse(t.c.Path, "there is no column of values; it has %s", strings.Join(fieldNames(schema), ", "))
	}
	return wanted, t.checkTypes()
}

func fieldNames(s *arrow.Schema) (names []string) {
	for _, f := range s.Fields() {
		names = append(names, f.Name)
	}
	return names
}

// leaves are the Parquet columns below the named fields.
func leaves(f *file.Reader, names []string) (list []int) {
	s := f.MetaData().Schema
	for i := range s.NumColumns() {
		if slices.Contains(names, strings.SplitN(s.Column(i).Path(), ".", 2)[0]) {
			list = append(list, i)
		}
	}
	return list
}

// place notes where the fields stand in the records, which keep the file's order.
func (t *table) place() {
	for _, f := range t.fields {
		t.at = append(t.at, t.in.Schema().FieldIndices(f.Name)[0])
	}
	if t.c.Key != "" {
		t.key = t.in.Schema().FieldIndices(t.c.Key)[0]
	}
}

// checkTypes finds the dtype that all columns have, float64 where they differ.
func (t *table) checkTypes() error {
	for _, f := range t.fields {
		elem, isList := element(f.Type)
		dtype := dtypes[elem.ID()]
		switch {
		case dtype == "":
			return refuse(t.c.Path, "column %q has type %s; name the columns of numbers by --columns", f.Name, f.Type)
		case isList && len(t.fields) > 1:
			return refuse(t.c.Path, "column %q holds lists, which are rows of their own; name it alone by --columns", f.Name)
		case t.dtype == "" || t.dtype == dtype:
			t.dtype = dtype
		default:
			t.dtype = "float64"
		}
	}
	return nil
}

var dtypes = map[arrow.Type]string{
	arrow.BOOL: "bool", arrow.INT8: "int8", arrow.INT16: "int16", arrow.INT32: "int32", arrow.INT64: "int64",
	arrow.UINT8: "uint8", arrow.UINT16: "uint16", arrow.UINT32: "uint32", arrow.UINT64: "uint64",
	arrow.FLOAT16: "float16", arrow.FLOAT32: "float32", arrow.FLOAT64: "float64",
}

// element is the type of the values in a column.
func element(t arrow.DataType) (elem arrow.DataType, isList bool) {
	if l, ok := t.(arrow.ListLikeType); ok {
		return l.Elem(), true
	}
	return t, false
}

// measure finds the length of a row.
func (t *table) measure() error {
	t.dim = int64(len(t.fields))
	if _, isList := element(t.fields[0].Type); !isList || t.rows == 0 {
		return nil
	}
	if err := t.load(); err != nil {
		return err
	}
	from, to := t.rec.Column(t.at[0]).(array.ListLike).ValueOffsets(0)
	t.dim = to - from
	return nil
}

func (t *table) DType() string { return t.dtype }
func (t *table) Rows() int64   { return t.rows }
func (t *table) Dim() int64    { return t.dim }
func (t *table) Keyed() bool   { return t.key >= 0 }

func (t *table) Close() error {
	if t.in != nil {
		t.in.Release()
	}
	return t.f.Close()
}

// load sees to it that there are rows to give out.
func (t *table) load() error {
	for t.rec == nil || t.used == t.rec.NumRows() {
		rec, err := t.in.Read()
		if errors.Is(err, io.EOF) && t.next < t.rows {
			return refuse(t.c.Path, "%d rows came of %d; write the file again", t.next, t.rows)
		}
		if err != nil {
			return wrapUnlessEnd(t.c.Path, err)
		}
		t.rec, t.used = rec, 0 // the reader's, until its next Read
	}
	return nil
}

func wrapUnlessEnd(path string, err error) error {
	if errors.Is(err, io.EOF) {
		return io.EOF
	}
	return fmt.Errorf("%s: %w", path, err)
}

func (t *table) Next(dst []byte, keys []int64) (n int, err error) {
	defer t.damaged(&err)
	return t.read(dst, keys)
}

// damaged makes an error of what the Parquet library, which trusts a file, does
// with a damaged one.
func (t *table) damaged(err *error) {
	if r := recover(); r != nil {
		*err = refuse(t.c.Path, "it is damaged (%v); write it again", r)
	}
}

func (t *table) read(dst []byte, keys []int64) (int, error) {
	if err := t.load(); err != nil {
		return 0, err
	}
	size := int64(codecs[t.dtype].size)
	n := t.rec.NumRows() - t.used
	if width := size * t.dim; width > 0 {
		n = min(n, int64(len(dst))/width)
	}
	if t.key >= 0 {
		n = min(n, int64(len(keys)))
		if err := t.readKeys(keys[:n]); err != nil {
			return 0, err
		}
	}
	for i := range t.fields {
		if err := t.readColumn(i, dst, n); err != nil {
			return 0, err
		}
	}
	t.used += n
	t.next += n
	return int(n), nil
}

// checkNulls refuses missing values in the rows to come.
func (t *table) checkNulls(a arrow.Array, name string, from, to int64) error {
	if a.NullN() == 0 {
		return nil
	}
	for i := from; i < to; i++ {
		if a.IsNull(int(i)) {
			return refuse(t.c.Path, "row %d, column %q: a missing value; fill it in", t.next+i-from, name)
		}
	}
	return nil
}

func (t *table) readKeys(keys []int64) error {
	a := t.rec.Column(t.key)
	to := t.used + int64(len(keys))
	if err := t.checkNulls(a, t.c.Key, t.used, to); err != nil {
		return err
	}
	dtype := dtypes[a.DataType().ID()]
	if !strings.Contains(dtype, "int") {
		return refuse(t.c.Path, "key column %q has type %s; node ids are integers", t.c.Key, a.DataType())
	}
	values, size := raw(a, dtype), int64(codecs[dtype].size)
	for i := range keys {
		var ok bool
		if keys[i], ok = Integer(dtype, values[(t.used+int64(i))*size:]); !ok {
			return refuse(t.c.Path, "row %d: key %s is no id (0 … 2^63-1)", t.next+int64(i), a.ValueStr(int(t.used)+i))
		}
	}
	return nil
}

// readColumn copies a column's values to their places in the next n rows.
func (t *table) readColumn(i int, dst []byte, n int64) error {
	a, name := t.rec.Column(t.at[i]), t.fields[i].Name
	if err := t.checkNulls(a, name, t.used, t.used+n); err != nil {
		return err
	}
	if l, ok := a.(array.ListLike); ok {
		return t.readLists(l, name, dst, n)
	}
	dtype := dtypes[a.DataType().ID()]
	t.scatter(dst, raw(a, dtype), dtype, t.used, n, int64(i), t.dim)
	return nil
}

func (t *table) readLists(l array.ListLike, name string, dst []byte, n int64) error {
	values := l.ListValues()
	dtype := dtypes[values.DataType().ID()]
	bytes := raw(values, dtype)
	for r := range n {
		from, to := l.ValueOffsets(int(t.used + r))
		if to-from != t.dim {
			return refuse(t.c.Path, "row %d, column %q: a list of %d values, the first has %d", t.next+r, name, to-from, t.dim)
		}
		if err := t.checkNulls(values, name, from, to); err != nil {
			return err
		}
		t.scatter(dst[r*t.dim*int64(codecs[dtype].size):], bytes, dtype, from, t.dim, 0, 1)
	}
	return nil
}

// scatter copies n values from the from-th on to every stride-th place of dst.
func (t *table) scatter(dst, values []byte, dtype string, from, n, at, stride int64) {
	in, out := codecs[dtype], codecs[t.dtype]
	size, width := int64(in.size), int64(out.size)
	for k := range n {
		to, v := dst[(k*stride+at)*width:][:width], values[(from+k)*size:]
		if dtype == t.dtype {
			copy(to, v)
		} else {
			out.put(to, in.load(v))
		}
	}
}

// raw is an array's values as they lie in memory, bools as bytes.
func raw(a arrow.Array, dtype string) []byte {
	if b, ok := a.(*array.Boolean); ok {
		out := make([]byte, b.Len())
		for i := range out {
			if b.Value(i) {
				out[i] = 1
			}
		}
		return out
	}
	d, size := a.Data(), codecs[dtype].size
	if d.Len() == 0 {
		return nil
	}
	return d.Buffers()[1].Bytes()[d.Offset()*size:]
}
