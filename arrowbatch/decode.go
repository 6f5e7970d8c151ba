package arrowbatch

import (
	"encoding/hex"
	"fmt"
	"strings"

	"github.com/apache/arrow/go/v17/arrow"
	"github.com/apache/arrow/go/v17/arrow/array"

	"github.com/aether-ooc/aether-ooc/engine"
	"github.com/aether-ooc/aether-ooc/internal/base"
)

// Decode is Encode's inverse: the batch in row 0 of rec. Its slices are views
// of the record's buffers and die with it. A record that is no batch of ours is
// an error.
func Decode(rec arrow.Record) (*engine.Batch, error) {
	r := reader{rec: rec}
	if rec.NumRows() != 1 {
		return nil, fmt.Errorf("arrowbatch: %d rows, want one mini-batch", rec.NumRows())
	}
	b := &engine.Batch{
		Index:       base.BatchIdx(r.number("batch_index")),
		Epoch:       uint64(r.number("epoch")),
		InputID:     r.ints("input_id"),
		Fingerprint: r.print("fingerprint"),
		ContentID:   r.print("content_id"),
		Generator:   r.text("generator"),
	}
	b.NID = r.ints("n_id")
	b.Row, b.Col = halves(r.ints("edge_index"))
	b.SampledNodes, b.SampledEdges = r.ints("num_sampled_nodes"), r.ints("num_sampled_edges")
	b.Seeds = int(r.number("batch_size"))
	if r.has("e_id") {
		b.EID = r.ints("e_id")
	}
	if r.has(originalIDs.name) {
		b.Original = r.ints(originalIDs.name)
	}
	for _, f := range rec.Schema().Fields() {
		if name, ok := strings.CutSuffix(f.Name, "_dtype"); ok && r.has(name) {
			r.place(b, name)
		}
	}
	return b, r.err
}

func halves(pairs []int64) (row, col []int64) {
	return pairs[:len(pairs)/2], pairs[len(pairs)/2:]
}

// reader takes values out of a record's first row. Its first error sticks.
type reader struct {
	rec arrow.Record
	err error
}

func (r *reader) has(name string) bool { return r.rec.Schema().HasField(name) }

// column gives the named column where it is a T, or else T's zero.
func columnAs[T arrow.Array](r *reader, name string) (col T) {
	for _, i := range r.rec.Schema().FieldIndices(name) {
		if c, ok := r.rec.Column(i).(T); ok && c.NullN() == 0 {
			return c
		}
	}
	if r.err == nil {
		r.err = fmt.Errorf("arrowbatch: no column %q of type %T without nulls", name, col)
	}
	return col
}

func (r *reader) place(b *engine.Batch, name string) {
	rows := engine.Rows{Data: r.bytes(name), Dim: r.number(name + "_dim"), DType: r.text(name + "_dtype")}
	if name == "x" {
		b.X = rows
		return
	}
	b.Attrs = append(b.Attrs, engine.Attr{Name: name, Rows: rows})
}

// bytes gives the bytes of a list's values.
func (r *reader) bytes(name string) []byte {
	col := columnAs[*array.LargeList](r, name)
	if col == nil {
		return nil
	}
	lo, hi := col.ValueOffsets(0)
	values := col.ListValues().Data()
	if hi == lo {
		return nil
	}
	width := int64(values.DataType().(arrow.FixedWidthDataType).Bytes())
	lo, hi = lo+int64(values.Offset()), hi+int64(values.Offset())
	return values.Buffers()[1].Bytes()[lo*width : hi*width]
}

func (r *reader) ints(name string) []int64 { return arrow.Int64Traits.CastFromBytes(r.bytes(name)) }

func (r *reader) number(name string) int64 {
	for _, i := range r.rec.Schema().FieldIndices(name) {
		if c, ok := r.rec.Column(i).(*array.Uint64); ok {
			return int64(c.Value(0))
		}
	}
	if c := columnAs[*array.Int64](r, name); c != nil {
		return c.Value(0)
	}
	return 0
}

func (r *reader) text(name string) string {
	if c := columnAs[*array.String](r, name); c != nil {
		return c.Value(0)
	}
	return ""
}

func (r *reader) print(name string) (f base.Fingerprint) {
	n, err := hex.Decode(f[:], []byte(r.text(name)))
	if (err != nil || n != len(f)) && r.err == nil {
		r.err = fmt.Errorf("arrowbatch: column %q holds no fingerprint", name)
	}
	return f
}
