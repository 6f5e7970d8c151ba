package layout

import (
	"fmt"

	"github.com/aether-ooc/aether-ooc/internal/base"
	"github.com/aether-ooc/aether-ooc/internal/binfmt"
)

// Original says what of its nodes' own ids a graph keeps. A node's id in the
// graph is then the rank of its own among all of them.
type Original uint8

const (
	NoOriginal    Original = 0 // nothing: ids are the input's
	OriginalIDs   Original = 1 // 64-bit ids
	OriginalNames Original = 2 // names, and as id of each binfmt.NameID of it
)

// String is the choice as the command line spells it.
func (o Original) String() string { return [...]string{"none", "ids", "names"}[o%3] }

// Columns of KindOriginal.
const (
	ColOriginalIDs uint16 = 1 // the own id of each node, ascending
	ColNameEnds    uint16 = 2 // where each node's name ends in ColNames
	ColNames       uint16 = 3 // the bytes of all names, one behind the other
	ColNameSeed    uint16 = 4 // one value: the seed of binfmt.NameID
)

// OriginalIDs adds the own ids of the next nodes, ascending. With
// WriterConfig.Original all nodes get theirs, after the last edge id.
func (w *Writer) OriginalIDs(ids []base.NodeID) error {
	o, err := w.originalColumn(ColOriginalIDs)
	if err != nil {
		return err
	}
	for i, id := range ids {
		if id >= MaxNodes || i+int(o.sec.Values) > 0 && id <= w.originalID {
			return fmt.Errorf("layout: original id %d after %d", id, w.originalID)
		}
		w.originalID = id
	}
	putWords(w.content.original, ids)
	return putValues(o, ids)
}

// NameEnds adds for the next nodes where their names end, counted from the start
// of the first name; after all OriginalIDs. No name is empty.
func (w *Writer) NameEnds(ends []uint64) error {
	o, err := w.originalColumn(ColNameEnds)
	if err != nil {
		return err
	}
	for _, end := range ends {
		if end <= w.nameEnd {
			return fmt.Errorf("layout: a name that ends at %d after one that ends at %d", end, w.nameEnd)
		}
		w.nameEnd = end
	}
	putWords(w.content.original, ends)
	return putValues(o, ends)
}

// Names adds the next bytes of the names; after all NameEnds.
func (w *Writer) Names(b []byte) error {
	o, err := w.originalColumn(ColNames)
	if err != nil {
		return err
	}
	w.content.original.bytes(b)
	return o.putBytes(b)
}

// originalColumn goes on to a column; those before it must be complete.
func (w *Writer) originalColumn(column uint16) (*values, error) {
	if w.c.Original == NoOriginal || w.c.Original == OriginalIDs && column > ColOriginalIDs {
		return nil, fmt.Errorf("layout: original column %d in a graph that keeps %v", column, w.c.Original)
	}
	for w.original == nil || w.original.sec.Column < column {
		if err := w.nextOriginalColumn(); err != nil {
			return nil, err
		}
	}
	if w.original.sec.Column > column {
		return nil, fmt.Errorf("layout: original column %d after column %d", column, w.original.sec.Column)
	}
	return w.original, nil
}

func (w *Writer) nextOriginalColumn() error {
	next := ColOriginalIDs
	if w.original == nil {
		if err := w.endLists(); err != nil {
			return err
		}
		if err := w.endEdgeIDs(); err != nil {
			return err
		}
		w.content.keepOriginal()
	} else {
		next = w.original.sec.Column + 1
		if err := w.endOriginalColumn(); err != nil {
			return err
		}
	}
	width := 8
	if next == ColNames {
		width = 1
	}
	w.original = w.out.values(KindOriginal, next, width)
	return nil
}

// endOriginalColumn holds the column to what it must be, and enters it.
func (w *Writer) endOriginalColumn() error {
	s := w.original.sec
	want := w.c.Nodes
	switch s.Column {
	case ColNames:
		want = w.nameEnd
	case ColNameSeed:
		want = 1
	}
	if s.Values != want {
		return fmt.Errorf("layout: %v has %d values, it must have %d", s, s.Values, want)
	}
	w.table = append(w.table, s)
	return nil
}

// endOriginal ends the last column.
func (w *Writer) endOriginal() error {
	switch w.c.Original {
	case NoOriginal:
		return nil
	case OriginalIDs:
		if _, err := w.originalColumn(ColOriginalIDs); err != nil {
			return err
		}
	case OriginalNames:
		o, err := w.originalColumn(ColNameSeed)
		if err != nil {
			return err
		}
		w.content.original.put(w.c.NameSeed)
		if err := o.put(w.c.NameSeed); err != nil {
			return err
		}
	}
	return w.endOriginalColumn()
}

// Original is what the graph keeps of its nodes' own ids.
func (g *Graph) Original() Original {
	switch g.Table.columns(KindOriginal) {
	case 0:
		return NoOriginal
	case 1:
		return OriginalIDs
	}
	return OriginalNames
}

// columns counts the sections of a kind.
func (t Table) columns(k Kind) (n int) {
	for _, s := range t {
		if s.Kind == k && s.Relation == 0 {
			n++
		}
	}
	return n
}

// checkOriginal wants ids alone, or all columns.
func (g *Graph) checkOriginal() error {
	_, ids := g.Table.Find(KindOriginal, 0, ColOriginalIDs)
	if n := g.Table.columns(KindOriginal); n != 0 && !(ids && (n == 1 || n == int(ColNameSeed))) {
		return fmt.Errorf("%d columns of original ids, or other ones than there can be", n)
	}
	return nil
}

// Place is where the i-th value of a section of fixed-width values lies.
func (s Section) Place(i uint64) (no base.BlockNo, slot int) {
	per := uint64(binfmt.PerBlock(int(s.Width)))
	return s.First + base.BlockNo(i/per), int(i % per)
}

// Value is the value in a slot of one of the section's blocks.
func (s Section) Value(b []byte, slot int) uint64 {
	return getValue(b[slot*int(s.Width):], int(s.Width))
}

// in is how many values block no of the section has.
func (s Section) in(no base.BlockNo) int {
	per := uint64(binfmt.PerBlock(int(s.Width)))
	return int(min(per, s.Values-uint64(no-s.First)*per))
}

// rank is which value lies in a slot of block no.
func (s Section) rank(no base.BlockNo, slot int) uint64 {
	return uint64(no-s.First)*uint64(binfmt.PerBlock(int(s.Width))) + uint64(slot)
}
