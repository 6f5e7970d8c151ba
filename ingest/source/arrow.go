//go:build linux

package source

import (
	"bytes"
	"context"
	"errors"
	"io"

	"github.com/apache/arrow/go/v17/arrow"
	"github.com/apache/arrow/go/v17/arrow/ipc"
)

// Arrow's two forms: a stream of messages, and a file (Feather) that has their
// places at its end.
const (
	arrowStream = "\xff\xff\xff\xff" // the first message's mark
	arrowFile   = "ARROW1"
)

// records gives the records of an Arrow file one after the other; io.EOF after
// the last.
type records func() (arrow.Record, error)

// arrowTable reads an Arrow IPC stream or file.
type arrowTable struct {
	*table
	next   records
	closes func() error
}

func openArrow(c *Config, f *file) (decoder, error) {
	a := &arrowTable{closes: func() error { return nil }}
	var schema *arrow.Schema
	err := careful(f, func() (err error) {
		schema, err = a.open(f)
		return err
	})
	if err != nil {
		return nil, a.explain(f, err)
	}
	places, err := wanted(c, f, schema)
	if err == nil {
		a.table, err = newTable(c, f, schema, places, places)
	}
	if err != nil {
		return nil, errors.Join(err, a.closes())
	}
	return a, nil
}

// open begins reading.
func (a *arrowTable) open(f *file) (*arrow.Schema, error) {
	if bytes.HasPrefix(f.head, []byte(arrowFile)) {
		return a.openFile(f)
	}
	r, err := ipc.NewReader(f.r, ipc.WithAllocator(newBounded()))
	if err != nil {
		return nil, err
	}
	a.closes = func() error { r.Release(); return nil }
	a.next = func() (arrow.Record, error) { return r.Read() }
	return r.Schema(), nil
}

func (a *arrowTable) openFile(f *file) (*arrow.Schema, error) {
	if f.at == nil {
		return nil, Fault(f.name, "an Arrow file is read from its end, which a pipe or a compressed file does not show; save it uncompressed, or as an Arrow stream")
	}
	r, err := ipc.NewFileReader(io.NewSectionReader(f.at, 0, f.size), ipc.WithAllocator(newBounded()))
	if err != nil {
		return nil, err
	}
	a.closes = r.Close
	at := 0
	a.next = func() (arrow.Record, error) {
		if at == r.NumRecords() {
			return nil, io.EOF
		}
		at++
		f.read.Store(f.size / int64(r.NumRecords()) * int64(at))
		return r.RecordAt(at - 1)
	}
	return r.Schema(), nil
}

// explain tells a damaged file from a disk that fails.
func (a *arrowTable) explain(f *file, err error) error {
	if known := f.readError(err); known != err && errors.Is(known, ErrInput) {
		return known
	}
	if errors.Is(err, io.ErrUnexpectedEOF) || errors.Is(err, io.EOF) {
		return Fault(f.name, "it is cut short; write it again")
	}
	var bad *InputError
	if errors.As(err, &bad) {
		return err
	}
	return Fault(f.name, "it cannot be read as Arrow: %v", err)
}

// extent: an Arrow stream does not say how long it is, and a file only to whom
// reads all its messages.
func (a *arrowTable) extent() extent { return extent{rows: -1, most: -1} }

func (a *arrowTable) close() error { return a.closes() }

func (a *arrowTable) each(ctx context.Context, fn func(*Batch) error) error {
	stop := context.AfterFunc(ctx, a.interrupt)
	defer stop()
	for row := int64(0); ; {
		if err := context.Cause(ctx); err != nil {
			return err
		}
		var rec arrow.Record
		err := careful(a.file, func() (err error) {
			rec, err = a.next()
			return err
		})
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err == nil {
			n := rec.NumRows()
			if err = a.record(rec, row, fn); err != nil {
				return err
			}
			row += n
			continue
		}
		if cause := context.Cause(ctx); cause != nil {
			return cause
		}
		return a.explain(a.file, err)
	}
}
