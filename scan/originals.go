package scan

import (
	"cmp"
	"slices"

	"github.com/aether-ooc/aether-ooc/internal/base"
	"github.com/aether-ooc/aether-ooc/internal/binfmt"
	"github.com/aether-ooc/aether-ooc/layout"
)

// Originals gives the own ids and names of any nodes, in any order, by way of the
// blocks that it read last.
type Originals struct {
	g                       *Graph
	kind                    layout.Original
	ids, ends, names, seeds layout.Section
	kept                    []keptBlock // by number, modulo their count
}

type keptBlock struct {
	no   base.BlockNo // 0: none
	data []byte
}

// keptBlocks is how many blocks Originals keeps: 32 MiB.
const keptBlocks = 8192

// Originals begins. A graph whose ids are the input's has no own ones: Kind says so.
func (g *Graph) Originals() *Originals {
	o := &Originals{g: g, kind: g.Original(), kept: make([]keptBlock, keptBlocks)}
	for column, s := range map[uint16]*layout.Section{layout.ColOriginalIDs: &o.ids, layout.ColNameEnds: &o.ends, layout.ColNames: &o.names, layout.ColNameSeed: &o.seeds} {
		*s, _ = g.Table.Find(layout.KindOriginal, 0, column)
	}
	return o
}

// Kind is what nodes have of their own.
func (o *Originals) Kind() layout.Original { return o.kind }

// ID is the own id of a node.
func (o *Originals) ID(v base.NodeID) (base.NodeID, error) {
	id, err := o.value(o.ids, uint64(v))
	return base.NodeID(id), err
}

// AppendName appends the name of a node.
func (o *Originals) AppendName(dst []byte, v base.NodeID) (_ []byte, err error) {
	begin := uint64(0)
	if v > 0 {
		if begin, err = o.value(o.ends, uint64(v)-1); err != nil {
			return dst, err
		}
	}
	end, err := o.value(o.ends, uint64(v))
	if err != nil {
		return dst, err
	}
	if begin >= end || end > o.names.Values {
		no, _ := o.ends.Place(uint64(v))
		return dst, o.g.Damage(no, "the name of a node must end after it begins", begin, end)
	}
	for begin < end {
		no, slot := o.names.Place(begin)
		b, err := o.block(no)
		if err != nil {
			return dst, err
		}
		piece := b[slot:min(binfmt.PayloadSize, slot+int(end-begin))]
		dst, begin = append(dst, piece...), begin+uint64(len(piece))
	}
	return dst, nil
}

// Find gives the nodes that have these own ids, or layout.NotFound.
func (o *Originals) Find(ids []base.NodeID) ([]uint64, error) {
	order := make([]int, len(ids))
	for i := range order {
		order[i] = i
	}
	slices.SortFunc(order, func(a, b int) int { return cmp.Compare(ids[a], ids[b]) })
	keys := make([]uint64, len(ids))
	for i, at := range order {
		keys[i] = uint64(ids[at])
	}
	x := layout.NewSearch(o.ids, keys)
	for blocks := x.Blocks(); len(blocks) > 0; blocks = x.Blocks() {
		for i, no := range blocks {
			b, err := o.block(no)
			if err != nil {
				return nil, err
			}
			x.See(i, b)
		}
	}
	found := make([]uint64, len(ids))
	for i, at := range order {
		found[at] = x.Ranks[i]
	}
	return found, nil
}

// Seed is that of the hash of names.
func (o *Originals) Seed() (uint64, error) { return o.value(o.seeds, 0) }

// FindNames gives the nodes that have these names, or layout.NotFound.
func (o *Originals) FindNames(names []string) ([]uint64, error) {
	seed, err := o.Seed()
	if err != nil {
		return nil, err
	}
	ids := make([]base.NodeID, len(names))
	for i, name := range names {
		ids[i] = binfmt.NameID([]byte(name), seed)
	}
	found, err := o.Find(ids)
	if err != nil {
		return nil, err
	}
	var own []byte
	for i, v := range found {
		if v == layout.NotFound {
			continue
		}
		if own, err = o.AppendName(own[:0], base.NodeID(v)); err != nil {
			return nil, err
		}
		if string(own) != names[i] { // another name of the same hash
			found[i] = layout.NotFound
		}
	}
	return found, nil
}

func (o *Originals) value(s layout.Section, i uint64) (uint64, error) {
	no, slot := s.Place(i)
	b, err := o.block(no)
	if err != nil {
		return 0, err
	}
	return s.Value(b, slot), nil
}

func (o *Originals) block(no base.BlockNo) ([]byte, error) {
	k := &o.kept[int(no)%len(o.kept)]
	if k.no == no {
		return k.data, nil
	}
	if k.data == nil {
		k.data = make([]byte, base.BlockSize)
	}
	k.no = 0
	if err := o.g.Block(no, k.data); err != nil {
		return nil, err
	}
	k.no = no
	return k.data, nil
}
