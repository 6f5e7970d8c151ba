package inspect

import (
	"github.com/apache/arrow/go/v17/arrow"
	"github.com/apache/arrow/go/v17/arrow/array"
	"github.com/apache/arrow/go/v17/arrow/memory"
	"github.com/apache/arrow/go/v17/parquet"
	"github.com/apache/arrow/go/v17/parquet/compress"
	"github.com/apache/arrow/go/v17/parquet/pqarrow"

	"github.com/aether-ooc/aether-ooc/internal/base"
	"github.com/aether-ooc/aether-ooc/internal/host"
	"github.com/aether-ooc/aether-ooc/scan"
)

const (
	recordRows = 1 << 16
	groupRows  = 1 << 20
)

// parquet writes the edges as columns of int64, or of strings where nodes are
// written by their names.
func (e *exporter) parquet(f *host.Pending) error {
	var node arrow.DataType = arrow.PrimitiveTypes.Int64
	if e.label.named() {
		node = arrow.BinaryTypes.String
	}
	columns := []arrow.Field{{Name: "src", Type: node}, {Name: "dst", Type: node}}
	if e.c.EdgeIDs {
		columns = append(columns, arrow.Field{Name: "edge_id", Type: arrow.PrimitiveTypes.Int64})
	}
	schema := arrow.NewSchema(columns, nil)
	props := parquet.NewWriterProperties(parquet.WithCompression(compress.Codecs.Zstd), parquet.WithMaxRowGroupLength(groupRows), parquet.WithDictionaryDefault(e.label.named()))
	// The writer would close the file, which has yet to be brought to the disk.
	w, err := pqarrow.NewFileWriter(schema, writeOnly{f}, props, pqarrow.DefaultWriterProps())
	if err != nil {
		return err
	}
	t := &tableWriter{w: w, b: array.NewRecordBuilder(memory.NewGoAllocator(), schema)}
	defer t.b.Release()
	if err := e.EachRun(e.c.EdgeIDs, func(r scan.Run) error { return t.add(e, r) }); err != nil {
		return err
	}
	if err := t.flush(); err != nil {
		return err
	}
	return w.Close()
}

// writeOnly hides all but Write.
type writeOnly struct{ f *host.Pending }

func (w writeOnly) Write(p []byte) (int, error) { return w.f.Write(p) }

// tableWriter collects rows into records.
type tableWriter struct {
	w    *pqarrow.FileWriter
	b    *array.RecordBuilder
	rows int
}

func (t *tableWriter) add(e *exporter, r scan.Run) error {
	for k := range r.Neighbours {
		if err := t.ends(e, r, k); err != nil {
			return err
		}
		if r.IDs != nil {
			t.column(2).Append(int64(r.IDs[k]))
		}
	}
	if t.rows += len(r.Neighbours); t.rows < recordRows {
		return nil
	}
	return t.flush()
}

func (t *tableWriter) ends(e *exporter, r scan.Run, k int) error {
	if e.label.named() {
		src, dst := r.Ends(e.direction(), k)
		for i, v := range []base.NodeID{src, dst} {
			name, err := e.label.name(v)
			if err != nil {
				return err
			}
			t.b.Field(i).(*array.StringBuilder).Append(string(name))
		}
		return nil
	}
	src, dst, err := e.ids(r, k)
	t.column(0).Append(int64(src))
	t.column(1).Append(int64(dst))
	return err
}

func (t *tableWriter) column(i int) *array.Int64Builder { return t.b.Field(i).(*array.Int64Builder) }

func (t *tableWriter) flush() error {
	rec := t.b.NewRecord()
	defer rec.Release()
	t.rows = 0
	return t.w.WriteBuffered(rec)
}
