//go:build linux

package ingest

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"math/bits"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/aether-ooc/aether-ooc/internal/base"
	"github.com/aether-ooc/aether-ooc/internal/inorder"
	"github.com/aether-ooc/aether-ooc/internal/npy"
)

// RMATConfig says what graph to make and where. Its edges depend on Scale,
// EdgeFactor and Seed alone. Loops and parallel edges are kept.
type RMATConfig struct {
	Scale      int   // 2^Scale nodes
	EdgeFactor int64 // EdgeFactor · 2^Scale edges
	Seed       uint64

	Out    string    // "-": Stdout
	Format Format    // FormatAuto: by Out's suffix; FormatNPY for "-", of shape (E, 2), else (2, E)
	DType  string    // of a .npy: int32, uint32, int64, uint64; "": int32 where ids fit, else int64
	Stdout io.Writer // only for Out "-"

	Workers  int // 0: one per CPU
	Progress Progress
}

const (
	maxScale  = 56
	rmatBatch = 1 << 14 // edges made at once
)

// RMAT writes an RMAT edge list. Memory does not depend on its size.
func RMAT(ctx context.Context, c RMATConfig) (*RMATResult, error) {
	c, err := c.withDefaults()
	if err != nil {
		return nil, err
	}
	g := &rmat{c: c, edges: c.EdgeFactor << c.Scale, graph: newKronecker(c.Scale, c.Seed)}
	start := time.Now()
	if c.Out == "-" {
		err = g.writeStream(ctx)
	} else {
		err = g.writeFile(ctx)
	}
	if err != nil {
		return nil, err
	}
	return &RMATResult{
		Path: c.Out, Format: c.Format, DType: c.DType, Scale: c.Scale, Seed: c.Seed,
		Nodes: 1 << c.Scale, Edges: g.edges, Bytes: g.bytes, TotalNs: time.Since(start),
	}, nil
}

func (c RMATConfig) withDefaults() (RMATConfig, error) {
	switch {
	case c.Scale < 0 || c.Scale > maxScale:
		return c, option("scale %d is out of range; use 0 to %d", c.Scale, maxScale)
	case c.EdgeFactor < 0 || bits.Len64(uint64(c.EdgeFactor))+c.Scale > 58: // 2^58 edges of 16 bytes each
		return c, option("edge factor %d is out of range at scale %d; at most 2^58 edges can be numbered in a file", c.EdgeFactor, c.Scale)
	case c.Out == "":
		return c, option("no output given; name the edge list to write")
	case c.Out == "-" && c.Stdout == nil:
		return c, option("no standard output given")
	case c.Workers < 0:
		return c, option("workers %d is negative", c.Workers)
	}
	c.Workers = workersOr(c.Workers)
	if c.Progress == nil {
		c.Progress = func(string, int64, int64) {}
	}
	return c.withFormat()
}

func (c RMATConfig) withFormat() (RMATConfig, error) {
	if c.Format == FormatAuto {
		switch suffix := strings.ToLower(filepath.Ext(c.Out)); {
		case suffix == ".txt" || suffix == ".tsv" || suffix == ".el" || suffix == ".edges":
			c.Format = FormatText
		case suffix == ".npy" || c.Out == "-":
			c.Format = FormatNPY
		default:
			return c, option("the format cannot be told from the suffix %q; give the file the suffix .npy or .txt", suffix)
		}
	}
	switch {
	case c.Format == FormatText && c.DType != "":
		return c, option("text has no dtype; leave it out, or write a .npy")
	case c.Format == FormatText:
		return c, nil
	case c.Format != FormatNPY:
		return c, option("format %q is not known; use text or npy", c.Format)
	}
	return c.withDType()
}

// withDType refuses ids that the dtype cannot hold.
func (c RMATConfig) withDType() (RMATConfig, error) {
	room := map[string]int{"int32": 31, "uint32": 32, "int64": 63, "uint64": 64}
	if c.DType == "" {
		c.DType = "int32"
		if c.Scale > room["int32"] {
			c.DType = "int64"
		}
	}
	switch most, known := room[c.DType]; {
	case !known:
		return c, option("dtype %q is not known; use int32, uint32, int64 or uint64", c.DType)
	case c.Scale > most:
		return c, option("dtype %s cannot hold ids of scale %d; use int64", c.DType, c.Scale)
	}
	return c, nil
}

// rmat is one call of RMAT.
type rmat struct {
	c     RMATConfig
	graph *kronecker
	edges int64
	next  int64 // the first edge that nobody was told to make yet
	done  int64
	bytes int64
}

// rmatItem is a run of edges and their bytes.
type rmatItem struct {
	first, n int64
	text     []byte // or rows
	src, dst []byte
}

func (g *rmat) writeFile(ctx context.Context) error {
	s, err := openStage(g.c.Out)
	if err != nil {
		return err
	}
	defer s.close()
	f, err := s.create(g.c.Out)
	if err != nil {
		return err
	}
	if g.c.Format == FormatText {
		err = g.writeText(ctx, f)
	} else {
		err = g.writeArray(ctx, f)
	}
	if err != nil {
		return err
	}
	g.c.Progress("sync", 0, 0)
	return s.commit()
}

func (g *rmat) fill(r *rmatItem) error {
	if g.next == g.edges {
		return io.EOF
	}
	r.first, r.n = g.next, min(rmatBatch, g.edges-g.next)
	g.next += r.n
	return nil
}

func (g *rmat) finished(r *rmatItem) {
	g.done += r.n
	g.c.Progress("generate", g.done, g.edges)
}

func (g *rmat) writeStream(ctx context.Context) error {
	if g.c.Format == FormatText {
		return g.writeText(ctx, g.c.Stdout)
	}
	return g.writeRows(ctx, g.c.Stdout)
}

// writeRows writes an (E, 2) array, which a pipe takes: an edge's two ids
// follow one another.
func (g *rmat) writeRows(ctx context.Context, w io.Writer) error {
	header := npy.AppendHeader(nil, g.c.DType, []int64{g.edges, 2})
	h, err := npy.ParseHeader(header)
	if err != nil {
		return err
	}
	n, err := w.Write(header)
	if g.bytes = int64(n); err != nil {
		return err
	}
	return inorder.Run(ctx, g.c.Workers, inorder.Stages[rmatItem]{
		Fill: g.fill,
		Work: func(r *rmatItem) error {
			r.text = r.text[:0]
			for i := range r.n {
				src, dst := g.graph.edge(uint64(r.first + i))
				r.text = appendID(appendID(r.text, src, h.Size), dst, h.Size)
			}
			return nil
		},
		Drain: func(r *rmatItem) error { return g.send(r, w) },
	})
}

// send writes what was made of a run.
func (g *rmat) send(r *rmatItem, w io.Writer) error {
	n, err := w.Write(r.text)
	g.bytes += int64(n)
	g.finished(r)
	return err
}

func (g *rmat) writeText(ctx context.Context, w io.Writer) error {
	return inorder.Run(ctx, g.c.Workers, inorder.Stages[rmatItem]{
		Fill: g.fill,
		Work: func(r *rmatItem) error {
			r.text = r.text[:0]
			for i := range r.n {
				src, dst := g.graph.edge(uint64(r.first + i))
				r.text = append(strconv.AppendUint(r.text, uint64(src), 10), ' ')
				r.text = append(strconv.AppendUint(r.text, uint64(dst), 10), '\n')
			}
			return nil
		},
		Drain: func(r *rmatItem) error { return g.send(r, w) },
	})
}

// writeArray writes a (2, E) array: workers write their runs of sources and
// targets where they belong.
func (g *rmat) writeArray(ctx context.Context, f *os.File) error {
	header := npy.AppendHeader(nil, g.c.DType, []int64{2, g.edges})
	h, err := npy.ParseHeader(header)
	if err != nil {
		return err
	}
	g.bytes = h.DataOff + h.Bytes()
	if err := reserve(f, g.bytes); err != nil {
		return err
	}
	if _, err := f.WriteAt(header, 0); err != nil {
		return err
	}
	return inorder.Run(ctx, g.c.Workers, inorder.Stages[rmatItem]{
		Fill: g.fill,
		Work: func(r *rmatItem) error {
			g.encode(r, h.Size)
			if _, err := f.WriteAt(r.src, h.DataOff+r.first*int64(h.Size)); err != nil {
				return err
			}
			_, err := f.WriteAt(r.dst, h.DataOff+(g.edges+r.first)*int64(h.Size))
			return err
		},
		Drain: func(r *rmatItem) error { g.finished(r); return nil },
	})
}

func (g *rmat) encode(r *rmatItem, size int) {
	r.src, r.dst = r.src[:0], r.dst[:0]
	for i := range r.n {
		src, dst := g.graph.edge(uint64(r.first + i))
		r.src, r.dst = appendID(r.src, src, size), appendID(r.dst, dst, size)
	}
}

func appendID(b []byte, id base.NodeID, size int) []byte {
	if size == 4 {
		return binary.LittleEndian.AppendUint32(b, uint32(id))
	}
	return binary.LittleEndian.AppendUint64(b, uint64(id))
}

// reserve takes the file's room on disk, so that a full disk is known at once;
// a filesystem that cannot do this finds out later.
func reserve(f *os.File, n int64) error {
	err := syscall.Fallocate(int(f.Fd()), 0, 0, n)
	switch {
	case err == nil, errors.Is(err, syscall.EOPNOTSUPP), errors.Is(err, syscall.ENOSYS), errors.Is(err, syscall.EINTR):
		return nil
	case errors.Is(err, syscall.ENOSPC):
		return fmt.Errorf("%d bytes are needed: %w", n, &os.PathError{Op: "write", Path: f.Name(), Err: err})
	}
	return &os.PathError{Op: "fallocate", Path: f.Name(), Err: err}
}
