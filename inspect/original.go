package inspect

import (
	"errors"
	"fmt"
	"io"

	"github.com/aether-ooc/aether-ooc/internal/base"
	"github.com/aether-ooc/aether-ooc/internal/binfmt"
	"github.com/aether-ooc/aether-ooc/layout"
	"github.com/aether-ooc/aether-ooc/scan"
)

// originals checks the columns of original ids, in the order in which the content
// id has them.
type originals struct {
	*job
	content *layout.ContentHasher
}

func (j *job) checkOriginal(r *VerifyResult, content *layout.ContentHasher) error {
	o := &originals{job: j, content: content}
	if j.Original() == layout.NoOriginal {
		return nil
	}
	if err := o.ascending(layout.ColOriginalIDs, layout.MaxNodes-1); err != nil {
		return err
	}
	r.checked("original ids ascend, each node has its own")
	if j.Original() != layout.OriginalNames {
		return nil
	}
	for _, check := range []func() error{
		func() error { return o.ascending(layout.ColNameEnds, o.column(layout.ColNames).Values) },
		o.names,
		func() error { return o.each(layout.ColNameSeed, func(*scan.Values, uint64) error { return nil }) },
	} {
		if err := check(); err != nil {
			return err
		}
	}
	r.checked("every node's name is the one that its original id is the hash of")
	return nil
}

func (o *originals) column(column uint16) layout.Section {
	s, _ := o.Table.Find(layout.KindOriginal, 0, column)
	return s
}

// each calls fn for every value of a column, and hashes them.
func (o *originals) each(column uint16, fn func(*scan.Values, uint64) error) error {
	o.content.Original(nil)
	for in := o.Values(o.column(column)); ; {
		x, err := in.Next()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err == nil {
			err = fn(in, x)
		}
		if err != nil {
			return err
		}
		o.content.Original([]uint64{x})
	}
}

// ascending checks that the values of a column ascend, up to most.
func (o *originals) ascending(column uint16, most uint64) error {
	last, begun := uint64(0), column == layout.ColNameEnds // no name is empty
	return o.each(column, func(in *scan.Values, x uint64) error {
		if begun && x <= last || x > most {
			return o.Damage(in.Block(), "values must ascend", fmt.Sprintf("more than %d, at most %d", last, most), x)
		}
		last, begun = x, true
		return nil
	})
}

// names compares each name with the id that is its hash.
func (o *originals) names() error {
	ids, ends := o.Values(o.column(layout.ColOriginalIDs)), o.Values(o.column(layout.ColNameEnds))
	seed, err := o.Values(o.column(layout.ColNameSeed)).Next()
	if err != nil {
		return err
	}
	all := &nameBytes{o: o, blocks: o.Section(o.column(layout.ColNames))}
	var name []byte
	begin := uint64(0)
	for {
		end, err := ends.Next()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
		id, err := ids.Next()
		if err != nil {
			return err
		}
		if name, err = all.take(name[:0], end-begin); err != nil {
			return err
		}
		if got := binfmt.NameID(name, seed); got != base.NodeID(id) {
			return o.Damage(all.no, fmt.Sprintf("name %.60q is not the one whose hash is the original id", name), id, got)
		}
		begin = end
	}
}

// nameBytes gives the bytes of names in order.
type nameBytes struct {
	o      *originals
	blocks *scan.Blocks
	no     base.BlockNo
	left   []byte
	taken  uint64
}

func (n *nameBytes) take(name []byte, bytes uint64) ([]byte, error) {
	for bytes > 0 {
		if len(n.left) == 0 {
			if err := n.load(); err != nil {
				return name, err
			}
		}
		k := min(bytes, uint64(len(n.left)))
		name, n.left, bytes = append(name, n.left[:k]...), n.left[k:], bytes-k
	}
	return name, nil
}

func (n *nameBytes) load() error {
	no, b, err := n.blocks.Next()
	if err != nil {
		return err
	}
	if err := n.o.CheckPadding(no, b); err != nil {
		return err
	}
	n.no, n.left = no, b[:min(binfmt.PayloadSize, n.o.column(layout.ColNames).Values-n.taken)]
	n.taken += uint64(len(n.left))
	n.o.content.OriginalNames(n.left)
	return nil
}
