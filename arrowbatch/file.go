package arrowbatch

import (
	"bufio"
	"fmt"
	"io"

	"github.com/apache/arrow/go/v17/arrow/ipc"
	"github.com/apache/arrow/go/v17/arrow/memory"

	"github.com/aether-ooc/aether-ooc/engine"
	"github.com/aether-ooc/aether-ooc/internal/host"
)

// File is an Arrow IPC file of batches that is being written. It grows under
// a temporary name in the target's folder; Commit gives it its own.
type File struct {
	path string
	tmp  *host.Pending
	out  *counted
	enc  *Encoder
	mem  *Recycler
	w    *ipc.FileWriter
}

// Create starts the file of the batches that r gets from the graph of info.
// The caller ends it with Commit or Abort.
func Create(path string, info engine.Info, r engine.Request) (*File, error) {
	f := &File{path: path, mem: NewRecycler(memory.NewGoAllocator(), 1)}
	var err error
	if f.enc, err = NewEncoder(info, r, f.mem); err != nil {
		return nil, err
	}
	if f.tmp, err = host.CreatePending(path, inputs(info)...); err != nil {
		return nil, fmt.Errorf("arrowbatch: %w", err)
	}
	f.out = &counted{Writer: bufio.NewWriterSize(f.tmp, 1<<16)}
	if f.w, err = ipc.NewFileWriter(f.out, ipc.WithSchema(f.enc.Schema())); err != nil {
		f.Abort()
		return nil, f.wrap(err)
	}
	return f, nil
}

// inputs are the files that the batches are read from.
func inputs(info engine.Info) []string {
	all := []string{info.Path}
	if info.Features != nil {
		all = append(all, info.Features.Path)
	}
	for _, a := range info.Attrs {
		all = append(all, a.Path)
	}
	return all
}

func (f *File) wrap(err error) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("arrowbatch: writing %s: %w", f.path, err)
}

// Write appends b.
func (f *File) Write(b *engine.Batch) error {
	rec := f.enc.Encode(b)
	defer rec.Release()
	return f.wrap(f.w.Write(rec))
}

// Commit completes the file, brings it to the disk and gives it its name, in
// place of what had it before. On an error nothing is left.
func (f *File) Commit() error {
	defer f.Abort()
	if err := f.finish(); err != nil {
		return f.wrap(err)
	}
	return f.wrap(f.tmp.Commit())
}

func (f *File) finish() error {
	if err := f.w.Close(); err != nil {
		return err
	}
	return f.out.Flush()
}

// Abort leaves nothing behind. After Commit it does nothing.
func (f *File) Abort() {
	if f.tmp == nil {
		return
	}
	f.tmp.Abort()
	f.mem.Close()
	f.tmp = nil
}

// counted is a buffered writer that knows its position, which is all that the
// Arrow writer seeks for.
type counted struct {
	*bufio.Writer
	pos int64
}

func (c *counted) Write(p []byte) (int, error) {
	n, err := c.Writer.Write(p)
	c.pos += int64(n)
	return n, err
}

func (c *counted) Seek(offset int64, whence int) (int64, error) {
	if offset != 0 || whence != io.SeekCurrent {
		return c.pos, fmt.Errorf("arrowbatch: the file is written from the front: seek to %d (%d)", offset, whence)
	}
	return c.pos, nil
}
