package npy

import (
	"encoding/binary"
	"fmt"
	"io"
	"math"
	"math/bits"
	"strconv"

	"github.com/aether-ooc/aether-ooc/internal/base"
)

// BadID is a value that is no node id: negative, or 2^63 and more.
type BadID struct {
	At   int64  // position among the values decoded
	Text string // the value in decimal
}

func (e *BadID) Error() string {
	return fmt.Sprintf("value %s at position %d is no node id (0 … 2^63-1)", e.Text, e.At)
}

// HoldsIDs tells whether the array's dtype can hold node ids.
func (h Header) HoldsIDs() bool {
	switch h.DType {
	case "int32", "uint32", "int64", "uint64":
		return true
	}
	return false
}

// DecodeIDs reads len(dst) values from src, which holds at least that many of
// h's values; it stops at the first that is no id. HoldsIDs must be true.
func (h Header) DecodeIDs(dst []base.NodeID, src []byte) *BadID {
	if h.Size == 4 {
		return h.decode32(dst, src)
	}
	return h.decode64(dst, src)
}

func (h Header) decode32(dst []base.NodeID, src []byte) *BadID {
	limit := uint32(math.MaxUint32)
	if h.DType == "int32" {
		limit = math.MaxInt32
	}
	for i := range dst {
		v := binary.LittleEndian.Uint32(src[4*i:])
		if h.BigEndian {
			v = bits.ReverseBytes32(v)
		}
		if v > limit {
			return &BadID{int64(i), strconv.FormatInt(int64(int32(v)), 10)}
		}
		dst[i] = base.NodeID(v)
	}
	return nil
}

func (h Header) decode64(dst []base.NodeID, src []byte) *BadID {
	for i := range dst {
		v := binary.LittleEndian.Uint64(src[8*i:])
		if h.BigEndian {
			v = bits.ReverseBytes64(v)
		}
		if v > math.MaxInt64 {
			return &BadID{int64(i), h.text64(v)}
		}
		dst[i] = base.NodeID(v)
	}
	return nil
}

func (h Header) text64(v uint64) string {
	if h.DType == "int64" {
		return strconv.FormatInt(int64(v), 10)
	}
	return strconv.FormatUint(v, 10)
}

// NodeList is a list of nodes given by a file: ids, or a mask over all nodes.
type NodeList struct {
	IDs  []base.NodeID // as listed, or the places where the mask is true; never nil, which means "all" to an engine
	Mask bool          // it was a mask
	Len  int64         // values in the file; of a mask, the nodes that it speaks of
}

// ReadNodes reads a one-dimensional array of node ids (int32, uint32, int64,
// uint64) or a bool mask. Memory follows what r really delivers, not what its
// header claims.
func ReadNodes(r io.Reader) (NodeList, error) {
	h, err := ReadHeader(r)
	if err != nil {
		return NodeList{}, err
	}
	if len(h.Shape) != 1 {
		return NodeList{}, fmt.Errorf("%w: a list of nodes has one dimension, this array has shape %s; use .reshape(-1)", ErrFormat, h.ShapeString())
	}
	l := NodeList{IDs: []base.NodeID{}, Len: h.Shape[0], Mask: h.DType == "bool"}
	if !l.Mask && !h.HoldsIDs() {
		return NodeList{}, fmt.Errorf("%w: dtype %s cannot name nodes; use .astype(numpy.int64) for ids, or .astype(bool) for a mask", ErrFormat, h.DType)
	}
	return l, l.read(r, h)
}

func (l *NodeList) read(r io.Reader, h Header) error {
	const chunk = 8192
	buf := make([]byte, chunk*h.Size)
	ids := make([]base.NodeID, chunk)
	for at := int64(0); at < l.Len; {
		n := int(min(chunk, l.Len-at))
		if _, err := io.ReadFull(r, buf[:n*h.Size]); err != nil {
			return cutShort(h, at, err)
		}
		if err := l.take(h, at, ids[:n], buf); err != nil {
			return err
		}
		at += int64(n)
	}
	return nil
}

func (l *NodeList) take(h Header, at int64, ids []base.NodeID, buf []byte) error {
	if l.Mask {
		for i := range ids {
			if buf[i] != 0 {
				l.IDs = append(l.IDs, base.NodeID(at+int64(i)))
			}
		}
		return nil
	}
	if bad := h.DecodeIDs(ids, buf); bad != nil {
		bad.At += at
		return fmt.Errorf("%w: %w", ErrFormat, bad)
	}
	l.IDs = append(l.IDs, ids...)
	return nil
}

func cutShort(h Header, at int64, err error) error {
	if err == io.EOF || err == io.ErrUnexpectedEOF {
		return fmt.Errorf("%w: the file is cut short after about %d of %d values; write it again", ErrFormat, at, h.Values())
	}
	return err
}
