//go:build linux

package ingest

import (
	"errors"
	"fmt"
	"io"
	"os"

	"github.com/aether-ooc/aether-ooc/arrowbatch"
	"github.com/aether-ooc/aether-ooc/ingest/source"
	"github.com/aether-ooc/aether-ooc/internal/base"
	"github.com/aether-ooc/aether-ooc/internal/npy"
	"github.com/aether-ooc/aether-ooc/layout"
)

// attachment is a .npy that goes beside the graph.
type attachment struct {
	layout.Attachment
	file        *os.File
	h           npy.Header
	head        []byte // what the copy begins with
	off, length int64  // what of the file follows
	carried     bool   // from beside another graph: the copy must be what Attachment says
}

func attrNames(c Config) []string {
	names := make([]string, len(c.NodeAttrs))
	for i, attr := range c.NodeAttrs {
		names[i] = attr.Name
	}
	return names
}

// openAttachments opens all that c names, and closes them again on an error.
func openAttachments(c Config) (list []*attachment, err error) {
	defer func() {
		if err != nil {
			closeAll(list)
			list = nil
		}
	}()
	if c.Features != "" {
		if list, err = appendOpened(list, layout.FeaturesAttachment(), c.Features); err != nil {
			return list, err
		}
		if err = list[0].asFeatures(c.FeaturesDType); err != nil {
			return list, err
		}
	}
	if err := arrowbatch.CheckAttrNames(attrNames(c)); err != nil {
		return list, option("%v", err)
	}
	for _, attr := range c.NodeAttrs {
		a, err := layout.AttrAttachment(attr.Name)
		if err != nil {
			return list, option("%v", err)
		}
		if list, err = appendOpened(list, a, attr.Path); err != nil {
			return list, err
		}
	}
	return list, nil
}

func appendOpened(list []*attachment, a layout.Attachment, path string) ([]*attachment, error) {
	f, err := os.Open(path)
	if err != nil {
		return list, err
	}
	list = append(list, &attachment{Attachment: a, file: f})
	return list, list[len(list)-1].readHeader()
}

func closeAll(list []*attachment) {
	for _, a := range list {
		a.file.Close()
	}
}

func (a *attachment) readHeader() error {
	st, err := a.file.Stat()
	if err != nil {
		return err
	}
	if a.h, err = npy.ReadHeader(io.NewSectionReader(a.file, 0, st.Size())); err == nil {
		err = a.h.CheckSize(st.Size())
	}
	if err != nil {
		return arrayFault(a.file.Name(), err)
	}
	a.DType = a.h.DType
	for _, d := range a.h.Shape {
		a.Shape = append(a.Shape, uint64(d))
	}
	a.head, a.off, a.length = npy.AppendHeader(nil, a.h.DType, a.h.Shape), a.h.DataOff, a.h.Bytes()
	return a.checkOrder()
}

// checkOrder refuses arrays whose rows cannot be fetched as they lie.
func (a *attachment) checkOrder() error {
	switch {
	case len(a.Shape) == 0:
		return a.fault("this is a single value; there must be one row per node")
	case a.h.BigEndian:
		return a.fault("the values are big-endian; save x.astype(x.dtype.newbyteorder('<'))")
	case !a.h.RowMajor():
		return a.fault("the array is in Fortran order, its rows do not lie together; save numpy.ascontiguousarray(x)")
	case a.DType == "void16" && a.Role != layout.Features:
		return a.fault("the values are 16-bit words without a name; save x.view(numpy.uint16)")
	}
	return nil
}

// asFeatures checks what is asked of features above other arrays, and renames
// 16-bit words to bfloat16 where told to: .npy has no name for it.
func (a *attachment) asFeatures(dtype string) error {
	switch {
	case len(a.Shape) != 2 || a.Shape[1] == 0:
		return a.fault("shape %s: features must have the shape (nodes, columns); for one column save x.reshape(-1, 1)", a.h.ShapeString())
	case a.DType == "bool":
		return a.fault("features must be numbers; save x.astype(numpy.uint8)")
	case dtype == "" && a.DType == "void16":
		return a.fault("the values are 16-bit words without a name; if they are bfloat16 say so (--dtype bf16)")
	case dtype == "":
		return nil
	}
	switch a.DType {
	case "int16", "uint16", "void16":
		a.DType = "bfloat16"
		return nil
	}
	return a.fault("dtype %s cannot be read as bfloat16; save the words, in torch x.bfloat16().view(torch.int16).numpy()", a.DType)
}

// arrayFault makes an InputError of what package npy says of a file.
func arrayFault(file string, err error) error {
	if errors.Is(err, npy.ErrFormat) {
		return source.Fault(file, "%v", err)
	}
	return fmt.Errorf("%s: %w", file, err)
}

func (a *attachment) fault(format string, args ...any) error {
	return source.Fault(a.file.Name(), format, args...)
}

// checkRows compares the array with the number of nodes.
func (a *attachment) checkRows(nodes uint64) error {
	if a.Shape[0] == nodes {
		return nil
	}
	return a.fault("%d rows for %d nodes; there must be one row per node, in the order of node ids (if the last nodes have no edge give --num-nodes %d)",
		a.Shape[0], nodes, a.Shape[0])
}

// place writes the array, with a header of ours, and its sums to the stage.
func (a *attachment) place(s *stage, fp base.Fingerprint, copied func(int) error) error {
	path := a.Path(s.target)
	out, err := s.create(path)
	if err != nil {
		return err
	}
	sumsFile, err := s.create(layout.SumsPath(path))
	if err != nil {
		return err
	}
	sums := layout.NewSumsWriter(sumsFile, fp)
	if err := a.copyTo(io.MultiWriter(out, sums), copied); err != nil {
		return err
	}
	bytes, hash, err := sums.Finish()
	if err == nil && a.carried && hash != a.Hash {
		err = a.damage("not what its graph says it is", a.Hash, hash)
	}
	a.Bytes, a.Hash = bytes, hash
	return err
}

func (a *attachment) copyTo(w io.Writer, copied func(int) error) error {
	if _, err := w.Write(a.head); err != nil {
		return err
	}
	r := io.NewSectionReader(a.file, a.off, a.length)
	buf := make([]byte, 1<<20)
	for left := a.length; left > 0; {
		n, err := r.Read(buf)
		if errors.Is(err, io.EOF) {
			err = a.fault("the file became shorter while it was read; leave it alone during the build")
		}
		if err != nil {
			return fmt.Errorf("copying: %w", err)
		}
		if _, err := w.Write(buf[:n]); err != nil {
			return err
		}
		left -= int64(n)
		if err := copied(n); err != nil {
			return err
		}
	}
	return nil
}
