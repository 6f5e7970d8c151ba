package arrowbatch

import (
	"errors"
	"fmt"
	"slices"

	"github.com/apache/arrow/go/v17/arrow"

	"github.com/aether-ooc/aether-ooc/engine"
)

// ErrName marks a node attribute whose columns would have the names of others.
var ErrName = errors.New("arrowbatch: column name taken")

// dtypes gives the Arrow type in which the values of a dtype travel.
var dtypes = map[string]arrow.FixedWidthDataType{
	"bool":     &arrow.Uint8Type{},
	"int8":     &arrow.Int8Type{},
	"int16":    &arrow.Int16Type{},
	"int32":    &arrow.Int32Type{},
	"int64":    &arrow.Int64Type{},
	"uint8":    &arrow.Uint8Type{},
	"uint16":   &arrow.Uint16Type{},
	"uint32":   &arrow.Uint32Type{},
	"uint64":   &arrow.Uint64Type{},
	"float16":  &arrow.Float16Type{},
	"bfloat16": &arrow.Int16Type{},
	"float32":  &arrow.Float32Type{},
	"float64":  &arrow.Float64Type{},
}

// column is one column of the schema, and where its value in a batch comes
// from: the pieces that take gives, one after the other, are its bytes.
type column struct {
	name string
	kind arrow.DataType
	take func(b *engine.Batch) [][]byte
}

var (
	number = arrow.PrimitiveTypes.Int64
	ints   = arrow.LargeListOfNonNullable(number)
	text   = arrow.BinaryTypes.String
)

var edgeIDs = column{"e_id", ints, func(b *engine.Batch) [][]byte { return words(b.EID) }}

var originalIDs = column{"n_id_original", ints, func(b *engine.Batch) [][]byte { return words(b.Original) }}

// always are the columns of every batch.
var always = []column{
	{"edge_index", ints, func(b *engine.Batch) [][]byte { return words(b.Row, b.Col) }},
	{"n_id", ints, func(b *engine.Batch) [][]byte { return words(b.NID) }},
	{"input_id", ints, func(b *engine.Batch) [][]byte { return words(b.InputID) }},
	{"num_sampled_nodes", ints, func(b *engine.Batch) [][]byte { return words(b.SampledNodes) }},
	{"num_sampled_edges", ints, func(b *engine.Batch) [][]byte { return words(b.SampledEdges) }},
	{"batch_size", number, func(b *engine.Batch) [][]byte { return word(int64(b.Seeds)) }},
	{"batch_index", number, func(b *engine.Batch) [][]byte { return word(int64(b.Index)) }},
	{"epoch", arrow.PrimitiveTypes.Uint64, func(b *engine.Batch) [][]byte { return word(int64(b.Epoch)) }},
	{"fingerprint", text, func(b *engine.Batch) [][]byte { return letters(b.Fingerprint.String()) }},
	{"content_id", text, func(b *engine.Batch) [][]byte { return letters(b.ContentID.String()) }},
	{"generator", text, func(b *engine.Batch) [][]byte { return letters(b.Generator) }},
}

// matrix gives the three columns of features or of a node attribute.
func matrix(name string, c engine.TableInfo, rows func(b *engine.Batch) *engine.Rows) ([]column, error) {
	kind, known := dtypes[c.DType]
	if !known {
		return nil, fmt.Errorf("arrowbatch: %s has the dtype %q, which no batch can carry: build the graph again with a bool, integer or float array", name, c.DType)
	}
	return []column{
		{name, arrow.LargeListOfNonNullable(kind), func(b *engine.Batch) [][]byte { return [][]byte{rows(b).Data} }},
		{name + "_dim", number, func(b *engine.Batch) [][]byte { return word(rows(b).Dim) }},
		{name + "_dtype", text, func(b *engine.Batch) [][]byte { return letters(rows(b).DType) }},
	}, nil
}

// columns are the columns of the batches that r gets from the graph of info.
func columns(info engine.Info, r engine.Request) ([]column, error) {
	all := slices.Clone(always)
	if r.EdgeIDs {
		all = append(all, edgeIDs)
	}
	if r.OriginalIDs {
		all = append(all, originalIDs)
	}
	if r.Features && info.Features != nil {
		x, err := matrix("x", *info.Features, func(b *engine.Batch) *engine.Rows { return &b.X })
		if err != nil {
			return nil, err
		}
		all = append(all, x...)
	}
	attrs, err := attributes(info, r.Attrs)
	return append(all, attrs...), err
}

func attributes(info engine.Info, names []string) ([]column, error) {
	var all []column
	for i, name := range names {
		at := slices.IndexFunc(info.Attrs, func(c engine.TableInfo) bool { return c.Name == name })
		if at < 0 {
			return nil, &engine.RequestError{Field: "Attrs", Value: name, Why: "the graph has no node attribute of this name"}
		}
		three, err := matrix(name, info.Attrs[at], func(b *engine.Batch) *engine.Rows { return &b.Attrs[i].Rows })
		if err != nil {
			return nil, err
		}
		all = append(all, three...)
	}
	return all, distinct(all)
}

// reserved are the names that no attribute's column may have, whether the
// request asks for those columns or not.
var reserved = func() []string {
	all := []string{edgeIDs.name, originalIDs.name, "x", "x_dim", "x_dtype"}
	for _, c := range always {
		all = append(all, c.name)
	}
	return all
}()

// CheckAttrNames refuses, with ErrName, node attributes whose columns would meet
// a column of every batch, or each other's: build asks before it keeps them.
func CheckAttrNames(names []string) error {
	var cols []column
	for _, name := range names {
		for _, suffix := range []string{"", "_dim", "_dtype"} {
			cols = append(cols, column{name: name + suffix})
		}
	}
	return distinct(cols)
}

func distinct(attrs []column) error {
	seen := map[string]bool{}
	for _, name := range reserved {
		seen[name] = true
	}
	for _, c := range attrs {
		if seen[c.name] {
			return fmt.Errorf("%w: a node attribute would make a second column %q: choose another name for it (build --node-attr NAME=FILE)", ErrName, c.name)
		}
		seen[c.name] = true
	}
	return nil
}

// Schema is the schema of the batches that r gets from the graph of info. It
// runs nothing.
func Schema(info engine.Info, r engine.Request) (*arrow.Schema, error) {
	cols, err := columns(info, r)
	if err != nil {
		return nil, err
	}
	return schemaOf(cols), nil
}

func schemaOf(cols []column) *arrow.Schema {
	fields := make([]arrow.Field, len(cols))
	for i, c := range cols {
		fields[i] = arrow.Field{Name: c.name, Type: c.kind}
	}
	return arrow.NewSchema(fields, nil)
}

func words(lists ...[]int64) [][]byte {
	pieces := make([][]byte, len(lists))
	for i, l := range lists {
		pieces[i] = arrow.Int64Traits.CastToBytes(l)
	}
	return pieces
}

func word(n int64) [][]byte { return words([]int64{n}) }

func letters(s string) [][]byte { return [][]byte{[]byte(s)} }
