//go:build linux

package source

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/apache/arrow/go/v17/arrow"
	parquet "github.com/apache/arrow/go/v17/parquet/file"
	"github.com/apache/arrow/go/v17/parquet/pqarrow"
)

// parquetTable reads two columns, or up to four, of a Parquet file.
type parquetTable struct {
	*table
	in      *parquet.Reader
	records pqarrow.RecordReader
}

func openParquet(c *Config, f *file) (decoder, error) {
	if f.at == nil {
		return nil, Fault(f.name, "a Parquet file is read from its end, which a pipe or a compressed file does not show; save it to a file")
	}
	p := &parquetTable{}
	err := careful(f, func() error { return p.open(c, f) })
	if err != nil {
		var bad *InputError
		if !errors.As(err, &bad) {
			err = Fault(f.name, "it cannot be read as Parquet: %v", err)
		}
		return nil, errors.Join(err, p.close())
	}
	return p, nil
}

func (p *parquetTable) open(c *Config, f *file) (err error) {
	if p.in, err = parquet.NewParquetReader(io.NewSectionReader(f.at, 0, f.size)); err != nil {
		return err
	}
	r, err := pqarrow.NewFileReader(p.in, pqarrow.ArrowReadProperties{BatchSize: tableRows}, newBounded())
	if err != nil {
		return err
	}
	schema, err := r.Schema()
	if err != nil {
		return err
	}
	places, err := wanted(c, f, schema)
	if err != nil {
		return err
	}
	if p.table, err = newTable(c, f, schema, places, among(places)); err != nil {
		return err
	}
	leaves, err := p.leaves(f, schema, places)
	if err != nil {
		return err
	}
	p.records, err = r.GetRecordReader(context.Background(), leaves, nil)
	return err
}

// among is where columns stand among those that are read, which keep the file's
// order.
func among(places []int) []int {
	read := slices.Clone(places)
	slices.Sort(read)
	read = slices.Compact(slices.DeleteFunc(read, func(at int) bool { return at < 0 }))
	at := make([]int, len(places))
	for i, p := range places {
		at[i] = slices.Index(read, p)
	}
	return at
}

// leaves are the Parquet columns of flat fields, ascending.
func (p *parquetTable) leaves(f *file, schema *arrow.Schema, places []int) (list []int, err error) {
	s := p.in.MetaData().Schema
	for _, at := range places {
		if at < 0 {
			continue
		}
		leaf := s.ColumnIndexByName(schema.Field(at).Name)
		if leaf < 0 {
			return nil, Fault(f.name, "column %q is no plain column", schema.Field(at).Name)
		}
		list = append(list, leaf)
	}
	slices.Sort(list)
	return slices.Compact(list), nil
}

func (p *parquetTable) extent() extent {
	n := p.in.NumRows()
	return extent{rows: n, most: n}
}

func (p *parquetTable) close() error {
	if p.records != nil {
		p.records.Release()
	}
	return nil // the file is not the reader's
}

func (p *parquetTable) each(ctx context.Context, fn func(*Batch) error) error {
	total := p.in.NumRows()
	for row := int64(0); ; {
		if err := context.Cause(ctx); err != nil {
			return err
		}
		var rec arrow.Record
		err := careful(p.file, func() (err error) {
			rec, err = p.records.Read()
			return err
		})
		switch {
		case errors.Is(err, io.EOF) && row < total:
			return Fault(p.name, "%d rows came of %d; write it again", row, total)
		case errors.Is(err, io.EOF):
			return nil
		case err != nil:
			return p.explain(err)
		}
		n := rec.NumRows()
		if err := p.record(rec, row, fn); err != nil {
			return err
		}
		row += n
		p.read.Store(int64(float64(p.size) * float64(row) / float64(max(total, 1))))
	}
}

func (p *parquetTable) explain(err error) error {
	var bad *InputError
	if errors.As(err, &bad) {
		return err
	}
	words := strings.TrimSpace(fmt.Sprint(err))
	return Fault(p.name, "it is damaged (%s); write it again", words)
}
