//go:build linux

package ingest

import (
	"bufio"
	"encoding/binary"
	"fmt"
	"math"
	"os"

	"github.com/aether-ooc/aether-ooc/ingest/source"
	"github.com/aether-ooc/aether-ooc/internal/npy"
	"github.com/aether-ooc/aether-ooc/layout"
)

// edgeColumn is a column of the input beside its sources and targets, on its way
// to an array beside the graph: value i belongs to row i, which e_id names,
// whatever becomes of the edge.
type edgeColumn struct {
	layout.Attachment
	file *os.File // without a name
	w    *bufio.Writer
	rows int64
}

// edgeColumns are what the third and the fourth of source.Config.Columns are
// called, and what they hold.
var edgeColumns = []struct{ name, dtype string }{{"weight", "float64"}, {"time", "int64"}}

// openColumns begins the columns that are asked for.
func (b *build) openColumns() error {
	b.columns = make([]*edgeColumn, len(edgeColumns))
	for i, kind := range edgeColumns {
		if asked := b.c.Source.Columns; len(asked) <= 2+i || asked[2+i] == "" {
			continue
		}
		if b.under != nil {
			return option("a %s is named for the new rows, and those of the graph have none; build from all inputs", kind.name)
		}
		a, err := layout.EdgeAttachment(kind.name)
		if err != nil {
			return err
		}
		a.DType = kind.dtype
		f, err := os.CreateTemp(b.temp(), ".aether-ooc-*")
		if err != nil {
			return fmt.Errorf("no temporary file can be made in %s: %w; name another folder for temporary files", b.temp(), err)
		}
		b.columns[i] = &edgeColumn{Attachment: a, file: f, w: bufio.NewWriterSize(f, 1<<20)}
		if err := os.Remove(f.Name()); err != nil {
			return err
		}
	}
	return nil
}

func (b *build) closeColumns() {
	for _, c := range b.columns {
		if c != nil {
			c.file.Close()
		}
	}
}

// keepColumns takes the columns of the next rows.
func (b *build) keepColumns(batch *source.Batch) error {
	if c := b.columns[0]; c != nil {
		for _, x := range batch.Weight {
			if err := c.put(math.Float64bits(x)); err != nil {
				return err
			}
		}
	}
	if c := b.columns[1]; c != nil {
		for _, x := range batch.Time {
			if err := c.put(uint64(x)); err != nil {
				return err
			}
		}
	}
	return nil
}

func (c *edgeColumn) put(word uint64) error {
	c.rows++
	_, err := c.w.Write(binary.LittleEndian.AppendUint64(c.w.AvailableBuffer(), word))
	return err
}

// attachColumns makes attachments of the columns.
func (b *build) attachColumns() error {
	for _, c := range b.columns {
		if c == nil {
			continue
		}
		if err := c.w.Flush(); err != nil {
			return err
		}
		c.Shape = []uint64{uint64(c.rows)}
		head := npy.AppendHeader(nil, c.DType, []int64{c.rows})
		b.att = append(b.att, &attachment{Attachment: c.Attachment, file: c.file, head: head, length: 8 * c.rows})
	}
	b.columns = nil // the attachments close the files
	return nil
}
