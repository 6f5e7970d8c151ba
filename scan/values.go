package scan

import (
	"io"

	"github.com/aether-ooc/aether-ooc/internal/base"
	"github.com/aether-ooc/aether-ooc/layout"
)

// Values gives the values of a section of fixed width, in order.
type Values struct {
	g    *Graph
	s    layout.Section
	in   *Blocks
	no   base.BlockNo
	b    []byte
	next uint64
}

// Values begins with the first value.
func (g *Graph) Values(s layout.Section) *Values { return &Values{g: g, s: s, in: g.Section(s)} }

// Next gives the next value; io.EOF after the last.
func (v *Values) Next() (uint64, error) {
	if v.next == v.s.Values {
		return 0, io.EOF
	}
	_, slot := v.s.Place(v.next)
	if slot == 0 {
		if err := v.load(); err != nil {
			return 0, err
		}
	}
	v.next++
	return v.s.Value(v.b, slot), nil
}

func (v *Values) load() (err error) {
	if v.no, v.b, err = v.in.Next(); err != nil {
		return err
	}
	return v.g.CheckPadding(v.no, v.b)
}

// Block is the block that the last value lay in.
func (v *Values) Block() base.BlockNo { return v.no }
