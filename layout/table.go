package layout

import (
	"encoding/binary"
	"fmt"
	"slices"

	"github.com/aether-ooc/aether-ooc/internal/base"
	"github.com/aether-ooc/aether-ooc/internal/binfmt"
)

// Kind is what a section holds. A reader passes over kinds that it does not
// know: a file that cannot be read without one has an incompatible feature bit.
type Kind uint16

const (
	KindAdjacency   Kind = 1 // adjacency blocks
	KindIndex       Kind = 2 // one column of the block index
	KindPresence    Kind = 3 // a bit per node: does it have edges
	KindEdgeIDs     Kind = 4 // the input row of each edge
	KindAttachments Kind = 5 // JSON: the files beside the graph
	KindOriginal    Kind = 6 // one column of the nodes' own ids
)

// Columns of KindIndex.
const (
	ColFirstNode uint16 = 1 // the first node of each block
	ColFirstEdge uint16 = 2 // the EdgeIdx of each block's first entry
	ColContIn    uint16 = 3 // entries of a block's first list, when it began in an earlier block; else 0
	ColContOut   uint16 = 4 // entries of a block's last list, when it goes on in the next block; else 0
)

// Section is a run of blocks with one content. Relation is 0 in a graph with
// one type of edges. Width is the bytes per value of a column of fixed-width
// values, PerBlock of them in each block, and 0 for anything else.
type Section struct {
	Kind             Kind
	Relation, Column uint16
	Width            uint8
	First            base.BlockNo
	Blocks           uint64
	Values           uint64
}

// Bytes is the section's length in the file.
func (s Section) Bytes() uint64 { return s.Blocks * base.BlockSize }

// Contains says whether block no belongs to the section.
func (s Section) Contains(no base.BlockNo) bool {
	return no >= s.First && uint64(no-s.First) < s.Blocks
}

// String names the section as errors and inspect do.
func (s Section) String() string {
	name := map[Kind]string{KindAdjacency: "adjacency", KindPresence: "presence", KindEdgeIDs: "edge_ids", KindAttachments: "attachments"}[s.Kind]
	switch {
	case s.Kind == KindIndex && s.Column >= ColFirstNode && s.Column <= ColContOut:
		name = [...]string{"index.first_node", "index.first_edge", "index.cont_in", "index.cont_out"}[s.Column-1]
	case s.Kind == KindOriginal && s.Column >= ColOriginalIDs && s.Column <= ColNameSeed:
		name = [...]string{"original.ids", "original.name_ends", "original.names", "original.name_seed"}[s.Column-1]
	case name == "":
		name = fmt.Sprintf("kind %d column %d", s.Kind, s.Column)
	}
	if s.Relation != 0 {
		name += fmt.Sprintf(" of relation %d", s.Relation)
	}
	return name
}

// Table lists the sections of a file in the order of its entries.
type Table []Section

const (
	tableEntryBytes = 32
	tablePerBlock   = binfmt.PayloadSize / tableEntryBytes
)

// Find gives the section of a kind, relation and column.
func (t Table) Find(k Kind, relation, column uint16) (Section, bool) {
	i := slices.IndexFunc(t, func(s Section) bool { return s.Kind == k && s.Relation == relation && s.Column == column })
	if i < 0 {
		return Section{}, false
	}
	return t[i], true
}

// At gives the section that block no belongs to.
func (t Table) At(no base.BlockNo) (Section, bool) {
	i := slices.IndexFunc(t, func(s Section) bool { return s.Contains(no) })
	if i < 0 {
		return Section{}, false
	}
	return t[i], true
}

func (s Section) put(b []byte) {
	le := binary.LittleEndian
	le.PutUint16(b, uint16(s.Kind))
	le.PutUint16(b[2:], s.Relation)
	le.PutUint16(b[4:], s.Column)
	b[6] = s.Width
	le.PutUint64(b[8:], uint64(s.First))
	le.PutUint64(b[16:], s.Blocks)
	le.PutUint64(b[24:], s.Values)
}

func getSection(b []byte) (s Section, first uint64) {
	le := binary.LittleEndian
	s = Section{Kind: Kind(le.Uint16(b)), Relation: le.Uint16(b[2:]), Column: le.Uint16(b[4:]), Width: b[6], Blocks: le.Uint64(b[16:]), Values: le.Uint64(b[24:])}
	first = le.Uint64(b[8:])
	s.First = base.BlockNo(first)
	return s, first
}

// DecodeTable reads the table's entries from its blocks, the first of which is
// block first of the file. What entries say about the file is checked by
// OpenGraph, which knows its length.
func DecodeTable(b []byte, first base.BlockNo, entries uint64) (Table, error) {
	blocks := uint64(len(b) / base.BlockSize)
	if entries > blocks*tablePerBlock {
		return nil, damage(0, "the section table is too short for its entries", entries, blocks*tablePerBlock).in("", "section table", first)
	}
	t := make(Table, 0, entries)
	for i := range blocks {
		no, block := first+base.BlockNo(i), b[i*base.BlockSize:][:base.BlockSize]
		if e := checkSeal("", "section table", no, block); e != nil {
			return nil, e
		}
		for at := 0; at+tableEntryBytes <= binfmt.PayloadSize && uint64(len(t)) < entries; at += tableEntryBytes {
			s, n := getSection(block[at:])
			if err := s.check(n); err != nil {
				return nil, damage(at, err.Error(), nil, nil).in("", "section table", no)
			}
			t = append(t, s)
		}
	}
	return t, nil
}

// check looks at one entry; first is its block number as the file has it.
func (s Section) check(first uint64) error {
	if first >= base.MaxBlocks || s.Blocks > base.MaxBlocks-first {
		return fmt.Errorf("section %v lies past 16 TiB", s)
	}
	if s.Width == 0 {
		return nil
	}
	per := uint64(binfmt.PerBlock(int(s.Width)))
	if s.Values > s.Blocks*per || s.Values+per <= s.Blocks*per {
		return fmt.Errorf("section %v: %d values of %d bytes do not take %d blocks", s, s.Values, s.Width, s.Blocks)
	}
	return nil
}

// covers checks that table, superblock and sections fill a file of so many
// blocks exactly: no block in two sections, none in no section. It gives the
// first block where that fails.
func (t Table) covers(s Superblock) (base.BlockNo, error) {
	all := append(slices.Clone(t), Section{First: s.TableFirst, Blocks: s.TableBlocks})
	slices.SortFunc(all, func(a, b Section) int { return compareRuns(a, b) })
	next, total := uint64(1), s.FileLength/base.BlockSize
	for _, x := range all {
		switch first := uint64(x.First); {
		case x.Blocks == 0:
			continue
		case first < next:
			return x.First, fmt.Errorf("section %v overlaps what ends at block %d", x, next)
		case first > next:
			return base.BlockNo(next), fmt.Errorf("blocks %d to %d belong to no section", next, first-1)
		}
		next += x.Blocks
	}
	if next != total {
		return base.BlockNo(min(next, total)), fmt.Errorf("sections end at block %d, the file at block %d", next, total)
	}
	return 0, nil
}

func compareRuns(a, b Section) int {
	if a.First != b.First {
		return int(int64(a.First) - int64(b.First))
	}
	return int(int64(a.Blocks) - int64(b.Blocks)) // empty ones first
}
