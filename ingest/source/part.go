//go:build linux

package source

import (
	"context"
	"errors"
	"os"
	"sync/atomic"
)

// part is one input of a Source. A regular file is closed once it was looked
// into, and opened again when its turn comes, so that a thousand of them take one
// descriptor; what cannot be opened twice stays open.
type part struct {
	c      *Config
	name   string
	format *format
	size   int64 // of the file; -1: not known
	extent
	again bool         // it can be opened once more
	read  atomic.Int64 // bytes of the file

	file *file // while open
	dec  decoder
}

func openPart(c *Config, name string) (*part, error) {
	p := &part{c: c, name: name}
	if err := p.open(); err != nil {
		return nil, err
	}
	p.size, p.extent = p.file.size, p.dec.extent()
	if beside, err := declaredBeside(name); err != nil {
		return nil, errors.Join(err, p.close())
	} else if beside > 0 {
		p.nodes = beside
	}
	if p.nodes > c.Nodes && c.Nodes > 0 {
		err := Fault(name, "it declares %d nodes, but the number of nodes was given as %d; leave that out", p.nodes, c.Nodes)
		return nil, errors.Join(err, p.close())
	}
	if p.again = p.file.again; p.again {
		return p, p.close()
	}
	return p, nil
}

// open opens the file and its decoder.
func (p *part) open() (err error) {
	p.read.Store(0)
	if p.file, err = openFile(p.name, p.c.Stdin, &p.read); err != nil {
		return err
	}
	if p.format, err = tell(p.file, p.c.Format); err == nil {
		err = p.c.checkNames(p.name, p.format.name)
	}
	if err == nil {
		p.dec, err = p.format.open(p.c, p.file)
	}
	if err != nil {
		p.close()
	}
	return err
}

func (p *part) close() (err error) {
	if p.dec != nil {
		err = p.dec.close()
	}
	if p.file != nil {
		err = errors.Join(err, p.file.close())
	}
	p.dec, p.file = nil, nil
	return err
}

func (p *part) each(ctx context.Context, fn func(*Batch) error) error {
	if p.file == nil {
		if err := p.open(); err != nil {
			return err
		}
	}
	stop := context.AfterFunc(ctx, p.file.interrupt)
	err := p.dec.each(ctx, func(b *Batch) error {
		if p.nodes > 0 && len(b.Src) > 0 && uint64(b.Max) >= uint64(p.nodes) {
			return Fault(p.name, "it names node %d, but declares %d nodes; correct one of them", b.Max, p.nodes)
		}
		return fn(b)
	})
	if !stop() && errors.Is(err, os.ErrDeadlineExceeded) {
		err = context.Cause(ctx)
	}
	return errors.Join(err, p.close())
}

// rows reads the input to count its edges where it does not tell.
func (p *part) rows(ctx context.Context) (n int64, err error) {
	if p.extent.rows >= 0 || !p.again {
		return p.extent.rows, nil
	}
	err = p.each(ctx, func(b *Batch) error {
		n += int64(len(b.Src))
		return nil
	})
	p.read.Store(0)
	p.extent.rows = n
	return n, err
}
