package inspect

import (
	"encoding/binary"
	"fmt"
	"io"
	"strconv"

	"github.com/aether-ooc/aether-ooc/internal/base"
	"github.com/aether-ooc/aether-ooc/internal/host"
	"github.com/aether-ooc/aether-ooc/internal/npy"
	"github.com/aether-ooc/aether-ooc/scan"
)

// text writes a line for each edge, after one that keeps what lines of edges do
// not say.
func (e *exporter) text(w io.Writer) error {
	s := e.Superblock
	out := buffered(w)
	again := fmt.Sprintf("--num-nodes %d", s.Nodes)
	if e.c.Original {
		again = "--relabel " + e.label.own.Kind().String()
	}
	fmt.Fprintf(out, "# source\ttarget%s; %d nodes (build %s), %d edges\n", map[bool]string{true: "\te_id"}[e.c.EdgeIDs], s.Nodes, again, s.Edges)
	var line []byte
	err := e.EachRun(e.c.EdgeIDs, func(r scan.Run) error {
		for k := range r.Neighbours {
			src, dst := r.Ends(e.direction(), k)
			var err error
			if line, err = e.label.append(line[:0], src); err != nil {
				return err
			}
			if line, err = e.label.append(append(line, '\t'), dst); err != nil {
				return err
			}
			if r.IDs != nil {
				line = append(line, '\t')
				line = strconv.AppendUint(line, uint64(r.IDs[k]), 10)
			}
			if _, err := out.Write(append(line, '\n')); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		return err
	}
	return out.Flush()
}

// ids are the ends of an edge as numbers.
func (e *exporter) ids(r scan.Run, k int) (src, dst base.NodeID, err error) {
	src, dst = r.Ends(e.direction(), k)
	if src, err = e.label.id(src); err == nil {
		dst, err = e.label.id(dst)
	}
	return src, dst, err
}

// npy writes its rows side by side, each at its place in the file.
func (e *exporter) npy(f *host.Pending) error {
	rows, edges := int64(2), int64(e.Superblock.Edges)
	if e.c.EdgeIDs {
		rows = 3
	}
	header := npy.AppendHeader(nil, "int64", []int64{rows, edges})
	if _, err := f.Write(header); err != nil {
		return err
	}
	out := make([]*words, rows)
	for i := range out {
		out[i] = &words{w: buffered(io.NewOffsetWriter(f, int64(len(header))+int64(i)*edges*8)), width: 8}
	}
	err := e.EachRun(e.c.EdgeIDs, func(r scan.Run) error {
		for k := range r.Neighbours {
			src, dst, err := e.ids(r, k)
			if err != nil {
				return err
			}
			out[0].put(uint64(src))
			out[1].put(uint64(dst))
			if r.IDs != nil {
				out[2].put(uint64(r.IDs[k]))
			}
		}
		return out[0].err
	})
	for _, w := range out {
		if err == nil {
			err = w.flush()
		}
	}
	return err
}

// flusher is a buffered writer.
type flusher interface {
	io.Writer
	Flush() error
}

// words writes numbers as little-endian words and remembers the first error.
type words struct {
	w     flusher
	width int
	buf   [8]byte
	err   error
}

func (w *words) put(x uint64) {
	binary.LittleEndian.PutUint64(w.buf[:], x)
	if _, err := w.w.Write(w.buf[:w.width]); err != nil && w.err == nil {
		w.err = err
	}
}

func (w *words) flush() error {
	if err := w.w.Flush(); err != nil && w.err == nil {
		w.err = err
	}
	return w.err
}
