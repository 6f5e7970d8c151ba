package features

import (
	"fmt"

	"github.com/aether-ooc/aether-ooc/internal/base"
	"github.com/aether-ooc/aether-ooc/internal/npy"
	"github.com/aether-ooc/aether-ooc/layout"
)

// checkHeader refuses arrays that cannot be read as rows, or are not the ones
// that are meant.
func (s *Source) checkHeader(h npy.Header, o Options) error {
	for _, check := range []func(npy.Header, Options) error{checkShape, checkOrder, checkDType} {
		if err := check(h, o); err != nil {
			return fmt.Errorf("%s: %w", s.file.Path(), err)
		}
	}
	if err := h.CheckSize(s.file.Size()); err != nil && s.perBlock == 0 {
		return fmt.Errorf("%s: %w", s.file.Path(), err)
	}
	if most := int64(base.MaxBlocks) * base.BlockSize; s.file.Size() > most {
		return fmt.Errorf("%s: %w: %d bytes are more than the %d that block numbers reach; save fewer columns", s.file.Path(), ErrShape, s.file.Size(), most)
	}
	return nil
}

func checkShape(h npy.Header, o Options) error {
	switch {
	case len(h.Shape) == 0:
		return fmt.Errorf("%w: a single value, where one row for each of %d nodes is needed; save an array whose first axis is the node", ErrShape, o.Nodes)
	case o.Role == layout.Features && len(h.Shape) > 2:
		return fmt.Errorf("%w: features of shape %s; save x.reshape(len(x), -1), or give the array as a node attribute", ErrShape, h.ShapeString())
	case uint64(h.Shape[0]) != o.Nodes:
		return fmt.Errorf("%w: shape %s has %d rows, the graph has %d nodes; row i must belong to node i, give one row for each node",
			ErrRows, h.ShapeString(), h.Shape[0], o.Nodes)
	}
	return nil
}

func checkOrder(h npy.Header, _ Options) error {
	if h.BigEndian {
		return fmt.Errorf("%w: big-endian %s; save x.astype(x.dtype.newbyteorder('<'))", ErrEndian, h.DType)
	}
	if !h.RowMajor() {
		return fmt.Errorf("%w: Fortran order, in which a row lies scattered over the file; save numpy.ascontiguousarray(x)", ErrOrder)
	}
	return nil
}

func checkDType(h npy.Header, o Options) error {
	switch {
	case o.DType == BFloat16 && h.Size == 2 && h.DType != "float16":
		return nil
	case o.DType == BFloat16:
		return fmt.Errorf("%w: values of type %s, where bfloat16 is read from 16-bit words; save the words as uint16, or leave the dtype out", ErrDType, h.DType)
	case o.DType != "" && o.DType != h.DType:
		return fmt.Errorf("%w: values of type %s, not %s; save x.astype('%s'), or leave the dtype out", ErrDType, h.DType, o.DType, o.DType)
	case o.DType == "" && h.DType == "void16":
		return fmt.Errorf("%w: 16-bit words without a type, as bfloat16 is saved; say that they are bfloat16 (--dtype bf16)", ErrDType)
	}
	return nil
}
