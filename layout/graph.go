package layout

import (
	"errors"
	"fmt"
	"io"
	"math"
	"slices"

	"github.com/aether-ooc/aether-ooc/internal/base"
	"github.com/aether-ooc/aether-ooc/internal/binfmt"
)

// Graph is what every reader of a graph holds in memory.
type Graph struct {
	Name        string // of the file, for errors
	Superblock  Superblock
	Table       Table
	Index       *Index
	Attachments []Attachment

	attachments []byte // the section as it lies in the file, for the content id
	edgeIDs     Section
	idsPerBlock uint64
}

// OpenGraph reads superblock, table, index and attachments of a file of the
// given size, and checks all of them.
func OpenGraph(r io.ReaderAt, size int64, name string) (*Graph, error) {
	f := wholeFile{r: r, name: name, size: size}
	g := &Graph{Name: name}
	for _, step := range []func(wholeFile) error{g.readSuperblock, g.readTable, g.checkSections, g.readIndex, g.readAttachments} {
		if err := step(f); err != nil {
			return nil, named(name, err)
		}
	}
	return g, nil
}

// named adds the file's name to an error that does not have it.
func named(name string, err error) error {
	var c *CorruptError
	switch {
	case errors.As(err, &c):
		c.File = name
	case errors.Is(err, ErrVersion):
		err = fmt.Errorf("%s: %w", name, err)
	}
	return err
}

func (g *Graph) readSuperblock(f wholeFile) (err error) {
	if f.size < base.BlockSize {
		return truncated(f.name, "superblock", base.BlockSize, f.size)
	}
	b := make([]byte, base.BlockSize)
	if err := f.read("superblock", b, 0); err != nil {
		return err
	}
	if g.Superblock, err = DecodeSuperblock(b); err != nil {
		return err
	}
	if want := int64(g.Superblock.FileLength); want != f.size {
		return truncated(f.name, "superblock", want, f.size)
	}
	return nil
}

func (g *Graph) readTable(f wholeFile) (err error) {
	s := g.Superblock
	b := make([]byte, s.TableBlocks*base.BlockSize)
	if err := f.read("section table", b, s.TableFirst.Off()); err != nil {
		return err
	}
	if g.Table, err = DecodeTable(b, s.TableFirst, s.TableEntries); err != nil {
		return err
	}
	if no, err := g.Table.covers(s); err != nil {
		return damage(0, err.Error(), nil, nil).in(f.name, "section table", no)
	}
	return nil
}

// rule says how often a section may stand in the table, and how long it is.
type rule struct {
	kind        Kind
	column      uint16
	widths      []uint8
	values      uint64
	orFewer     bool
	least, most int
}

// rules follow from the superblock.
func (s Superblock) rules() []rule {
	ids, presence := 0, (s.Nodes+7)/8
	if s.EdgeIDs == EdgeIDsInput {
		ids = 1
	}
	return []rule{
		{KindAdjacency, 0, []uint8{0}, s.Edges, false, 1, 1},
		{KindIndex, ColFirstNode, []uint8{4, 8}, s.Blocks, false, 1, 1},
		{KindIndex, ColFirstEdge, []uint8{4, 8}, s.Blocks, false, 1, 1},
		{KindIndex, ColContIn, []uint8{2}, s.Blocks, false, 1, 1},
		{KindIndex, ColContOut, []uint8{2}, s.Blocks, false, 1, 1},
		{KindPresence, 0, []uint8{1}, presence, false, 0, 1},
		{KindEdgeIDs, 0, []uint8{4, 8}, s.Edges, false, ids, ids},
		{KindAttachments, 0, []uint8{1}, attachmentsMax, true, 0, 1},
		{KindOriginal, ColOriginalIDs, []uint8{8}, s.Nodes, false, 0, 1},
		{KindOriginal, ColNameEnds, []uint8{8}, s.Nodes, false, 0, 1},
		{KindOriginal, ColNames, []uint8{1}, math.MaxUint64, true, 0, 1},
		{KindOriginal, ColNameSeed, []uint8{8}, 1, false, 0, 1},
	}
}

// checkSections holds the table to the superblock's rules.
func (g *Graph) checkSections(f wholeFile) error {
	for _, r := range g.Superblock.rules() {
		if err := g.checkRule(r); err != nil {
			return damage(0, err.Error(), nil, nil).in(f.name, "section table", g.Superblock.TableFirst)
		}
	}
	if err := g.checkOriginal(); err != nil {
		return damage(0, err.Error(), nil, nil).in(f.name, "section table", g.Superblock.TableFirst)
	}
	if a, _ := g.Table.Find(KindAdjacency, 0, 0); a.Blocks != g.Superblock.Blocks {
		return damage(0, "length of the adjacency section in blocks", g.Superblock.Blocks, a.Blocks).in(f.name, "section table", g.Superblock.TableFirst)
	}
	g.edgeIDs, _ = g.Table.Find(KindEdgeIDs, 0, 0)
	if g.HasEdgeIDs() {
		g.idsPerBlock = uint64(binfmt.PerBlock(int(g.edgeIDs.Width)))
	}
	return nil
}

func (g *Graph) checkRule(r rule) error {
	n := 0
	for _, s := range g.Table {
		if s.Kind != r.kind || s.Relation != 0 || s.Column != r.column {
			continue
		}
		n++
		fits := s.Values == r.values || r.orFewer && s.Values < r.values
		if !fits || !slices.Contains(r.widths, s.Width) {
			return fmt.Errorf("section %v: %d values of %d bytes, the superblock asks for %d", s, s.Values, s.Width, r.values)
		}
	}
	if n < r.least || n > r.most {
		return fmt.Errorf("section %v is there %d times", Section{Kind: r.kind, Column: r.column}, n)
	}
	return nil
}

func (g *Graph) readIndex(f wholeFile) (err error) {
	g.Index, err = f.loadIndex(g.Superblock, g.Table)
	return err
}

func (g *Graph) readAttachments(f wholeFile) (err error) {
	s, ok := g.Table.Find(KindAttachments, 0, 0)
	if !ok {
		return nil
	}
	if g.attachments, err = f.sectionBytes(s); err != nil {
		return err
	}
	if g.Attachments, err = decodeAttachments(g.attachments); err != nil {
		return damage(0, err.Error(), nil, nil).in(f.name, s.String(), s.First)
	}
	return nil
}

// CheckBlock checks the seal of any block of the file; its error names file and
// section.
func (g *Graph) CheckBlock(no base.BlockNo, b []byte) error {
	if e := checkSeal(g.Name, "", no, b); e != nil {
		e.Section = g.SectionName(no) // only now: this is on the way of every read
		return e
	}
	return nil
}

// SectionName is what errors call the part of the file that block no lies in.
func (g *Graph) SectionName(no base.BlockNo) string {
	if s, ok := g.Table.At(no); ok {
		return s.String()
	}
	if no == 0 {
		return "superblock"
	}
	return "section table"
}

// Place adds file, section and block to what ViewBlock or Validate found in
// block no. Other errors, and nil, pass.
func (g *Graph) Place(no base.BlockNo, err error) error {
	var c *CorruptError
	if !errors.As(err, &c) {
		return err
	}
	moved := *c
	return moved.in(g.Name, g.SectionName(no), no)
}

// HasEdgeIDs says whether edge ids have a section; without one an edge's id is
// its EdgeIdx.
func (g *Graph) HasEdgeIDs() bool { return g.Superblock.EdgeIDs == EdgeIDsInput }

// EdgeIDBlock is where the id of edge p lies, where HasEdgeIDs.
func (g *Graph) EdgeIDBlock(p base.EdgeIdx) (no base.BlockNo, slot int) {
	return g.edgeIDs.First + base.BlockNo(uint64(p)/g.idsPerBlock), int(uint64(p) % g.idsPerBlock)
}

// EdgeIDAt is the id in a slot of a block of edge ids.
func (g *Graph) EdgeIDAt(b []byte, slot int) base.EdgeID {
	w := int(g.edgeIDs.Width)
	return base.EdgeID(getValue(b[slot*w:], w))
}

// ContentID computes the content id from the hasher that got all edge ids.
func (g *Graph) ContentID(c *ContentHasher) base.Fingerprint {
	return c.Sum(g.Superblock.Fingerprint, g.attachments)
}

// CheckRow compares an adjacency block with what the index says of it.
func (g *Graph) CheckRow(no base.BlockNo, k Block) error {
	want := g.Index.Row(no)
	got := Row{k.Node(0), want.FirstEdge, uint64(k.Entries()), uint16(k.ContIn()), uint16(k.ContOut())}
	if want != got {
		return damage(0, "the block is not the one that the index describes", want, got).in(g.Name, g.SectionName(no), no)
	}
	return nil
}

// CheckPadding looks for bytes that are not zero behind what a block of any
// section but the adjacency (see Block.Validate) holds.
func (g *Graph) CheckPadding(no base.BlockNo, b []byte) error {
	for at := g.usedBytes(no); at < binfmt.PayloadSize; at++ {
		if b[at] != 0 {
			return damage(at, "padding must be zero", 0, b[at]).in(g.Name, g.SectionName(no), no)
		}
	}
	return nil
}

// usedBytes is where the zeros of a block begin. Of sections and features that
// this package does not know it knows no zeros.
func (g *Graph) usedBytes(no base.BlockNo) int {
	s, ok := g.Table.At(no)
	switch {
	case no == 0 && g.Superblock.Compat == 0:
		return superblockBytes
	case no == 0 || ok && s.Width == 0:
		return binfmt.PayloadSize
	case !ok:
		s = Section{First: g.Superblock.TableFirst, Width: tableEntryBytes, Values: g.Superblock.TableEntries}
	}
	per := uint64(binfmt.PerBlock(int(s.Width)))
	return int(min(per, s.Values-uint64(no-s.First)*per)) * int(s.Width)
}
