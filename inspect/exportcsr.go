package inspect

import (
	"archive/zip"
	"encoding/binary"
	"io"
	"math"

	"github.com/aether-ooc/aether-ooc/internal/base"
	"github.com/aether-ooc/aether-ooc/internal/host"
	"github.com/aether-ooc/aether-ooc/internal/npy"
	"github.com/aether-ooc/aether-ooc/layout"
	"github.com/aether-ooc/aether-ooc/scan"
)

// csr writes what scipy.sparse.save_npz does of the matrix A with A[src, dst] for
// each edge: a member of an uncompressed zip for each array, one after the other,
// so the graph is read once for each.
func (e *exporter) csr(f *host.Pending) error {
	z := zip.NewWriter(f)
	for _, member := range []struct {
		name  string
		write func(io.Writer) error
	}{
		{"format.npy", e.csrFormat}, {"shape.npy", e.csrShape},
		{"indptr.npy", e.csrStarts}, {"indices.npy", e.csrIndices}, {"data.npy", e.csrData},
	} {
		w, err := z.CreateHeader(&zip.FileHeader{Name: member.name, Method: zip.Store})
		if err != nil {
			return err
		}
		if err := member.write(w); err != nil {
			return err
		}
	}
	return z.Close()
}

// csrFormat is the one array that package npy has no type for: a string.
func (e *exporter) csrFormat(w io.Writer) error {
	name := "csc"
	if e.direction() == layout.Out {
		name = "csr"
	}
	return textArray(w, name)
}

// textArray writes a string as NumPy's array without axes.
func textArray(w io.Writer, s string) error {
	const (
		prelude = "\x93NUMPY\x01\x00"
		align   = 64
	)
	head := "{'descr': '|S3', 'fortran_order': False, 'shape': (), }"
	for (len(prelude)+2+len(head)+1)%align != 0 {
		head += " "
	}
	b := binary.LittleEndian.AppendUint16([]byte(prelude), uint16(len(head)+1))
	_, err := w.Write(append(append(b, head...), "\n"+s...))
	return err
}

func (e *exporter) csrShape(w io.Writer) error {
	n := int64(e.Superblock.Nodes)
	return e.array(w, 8, []int64{2}, func(out *words) error {
		out.put(uint64(n))
		out.put(uint64(n))
		return nil
	})
}

// indexBytes is the width of places and ids: SciPy wants one for both.
func (e *exporter) indexBytes() int {
	if s := e.Superblock; s.Nodes <= math.MaxInt32 && s.Edges <= math.MaxInt32 {
		return 4
	}
	return 8
}

// csrStarts writes where each node's list begins, and where the last one ends.
func (e *exporter) csrStarts(w io.Writer) error {
	s := e.Superblock
	return e.array(w, e.indexBytes(), []int64{int64(s.Nodes) + 1}, func(out *words) error {
		next, edges := base.NodeID(0), uint64(0) // nodes below next have their start
		err := e.EachRun(false, func(r scan.Run) error {
			for ; next <= r.Node; next++ {
				out.put(edges)
			}
			edges += uint64(len(r.Neighbours))
			return out.err
		})
		for ; err == nil && next <= base.NodeID(s.Nodes); next++ {
			out.put(edges)
		}
		return err
	})
}

func (e *exporter) csrIndices(w io.Writer) error {
	return e.array(w, e.indexBytes(), []int64{int64(e.Superblock.Edges)}, func(out *words) error {
		return e.EachRun(false, func(r scan.Run) error {
			for _, v := range r.Neighbours {
				out.put(uint64(v))
			}
			return out.err
		})
	})
}

// csrData writes edge ids, or a one for each edge.
func (e *exporter) csrData(w io.Writer) error {
	width := 1
	if e.c.EdgeIDs {
		width = 8
	}
	return e.array(w, width, []int64{int64(e.Superblock.Edges)}, func(out *words) error {
		return e.EachRun(e.c.EdgeIDs, func(r scan.Run) error {
			for k := range r.Neighbours {
				if r.IDs == nil {
					out.put(1)
				} else {
					out.put(uint64(r.IDs[k]))
				}
			}
			return out.err
		})
	})
}

// array writes an array of integers of so many bytes each.
func (e *exporter) array(w io.Writer, width int, shape []int64, fill func(*words) error) error {
	names := map[int]string{1: "int8", 4: "int32", 8: "int64"}
	out := &words{w: buffered(w), width: width}
	if _, err := out.w.Write(npy.AppendHeader(nil, names[width], shape)); err != nil {
		return err
	}
	if err := fill(out); err != nil {
		return err
	}
	return out.flush()
}
