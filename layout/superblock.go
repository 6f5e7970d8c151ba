package layout

import (
	"encoding/binary"
	"fmt"

	"github.com/aether-ooc/aether-ooc/internal/base"
	"github.com/aether-ooc/aether-ooc/internal/binfmt"
)

// FormatVersion is the version that this package writes, and the latest that
// it reads.
const FormatVersion = 1

// MaxNodes bounds node ids to what a signed 64-bit integer holds.
const MaxNodes = 1<<63 - 1

// knownIncompat are the incompatible features that this package can read.
const knownIncompat = featureCompact

var graphMagic = [8]byte{0x89, 'A', 'E', 'G', '\r', '\n', 0x1a, '\n'}

// Direction says whose list an edge src→dst belongs to.
type Direction uint8

const (
	In  Direction = 0 // to dst's: lists are in-neighbours, sampling walks against the edges
	Out Direction = 1 // to src's: lists are out-neighbours
)

// String is the direction as the command line spells it.
func (d Direction) String() string {
	if d == Out {
		return "out"
	}
	return "in"
}

// EdgeIDMode says what an edge's id is and where it is found.
type EdgeIDMode uint8

const (
	EdgeIDsInput     EdgeIDMode = 0 // its row in the input, from a section of the file
	EdgeIDsCanonical EdgeIDMode = 1 // its EdgeIdx, which is its row: the input was in canonical order
	EdgeIDsStored    EdgeIDMode = 2 // its EdgeIdx, which is not its row: the section was left out by choice
)

// String is the mode as inspect prints it.
func (m EdgeIDMode) String() string {
	return [...]string{"input", "canonical", "stored"}[m%3]
}

// Superblock is block 0: what the file is, and where its table lies.
type Superblock struct {
	Version          uint32
	Compat, Incompat uint64 // feature bits: an unknown compatible one is ignored, an unknown incompatible one refused
	FileLength       uint64 // bytes
	Nodes, Edges     uint64
	Blocks           uint64 // of the adjacency section
	InputEdges       uint64 // rows of the input; every edge id is below it
	Direction        Direction
	EdgeIDs          EdgeIDMode
	Undirected       bool // every edge lies in both its ends' lists
	Dedup            bool // parallel edges were merged
	NoLoops          bool // self loops were dropped
	Fingerprint      base.Fingerprint
	ContentID        base.Fingerprint
	TableFirst       base.BlockNo
	TableBlocks      uint64
	TableEntries     uint64
}

const (
	flagUndirected = 1 << iota
	flagDedup
	flagNoLoops
)

// Encode gives the sealed block 0.
func (s Superblock) Encode() []byte {
	b := make([]byte, base.BlockSize)
	le := binary.LittleEndian
	copy(b, graphMagic[:])
	le.PutUint32(b[8:], s.Version)
	le.PutUint32(b[12:], base.BlockSize)
	for i, x := range []uint64{s.Compat, s.Incompat, s.FileLength, s.Nodes, s.Edges, s.Blocks, s.InputEdges} {
		le.PutUint64(b[16+8*i:], x)
	}
	b[72], b[73] = byte(s.Direction), byte(s.EdgeIDs)
	le.PutUint16(b[74:], s.flags())
	le.PutUint32(b[76:], uint32(s.TableFirst))
	le.PutUint64(b[80:], s.TableBlocks)
	le.PutUint64(b[88:], s.TableEntries)
	copy(b[96:], s.Fingerprint[:])
	copy(b[112:], s.ContentID[:])
	binfmt.Seal(b, 0)
	return b
}

// superblockBytes is how much of block 0 is used; the rest is zero.
const superblockBytes = 128

func (s Superblock) flags() (f uint16) {
	for bit, set := range map[uint16]bool{flagUndirected: s.Undirected, flagDedup: s.Dedup, flagNoLoops: s.NoLoops} {
		if set {
			f |= bit
		}
	}
	return f
}

// DecodeSuperblock reads block 0. The order of its questions matters: damage is
// damage even where it hits the version, and a file of a later version is no
// damage, so the seal comes first and the version before all that a version
// may change.
func DecodeSuperblock(b []byte) (Superblock, error) {
	if len(b) < base.BlockSize {
		return Superblock{}, damage(len(b), "no graph: shorter than its superblock", base.BlockSize, len(b)).in("", "superblock", 0)
	}
	b = b[:base.BlockSize]
	if [8]byte(b) != graphMagic {
		return Superblock{}, damage(0, "no graph, or a damaged one: the magic bytes differ", quoted(graphMagic[:]), quoted(b[:8])).in("", "superblock", 0)
	}
	if e := checkSeal("", "superblock", 0, b); e != nil {
		return Superblock{}, e
	}
	s := parseSuperblock(b)
	if err := s.readable(); err != nil {
		return Superblock{}, err
	}
	if e := s.check(b); e != nil {
		return Superblock{}, e.in("", "superblock", 0)
	}
	return s, nil
}

func quoted(b []byte) string { return fmt.Sprintf("%q", b) }

func parseSuperblock(b []byte) Superblock {
	le := binary.LittleEndian
	u64 := func(at int) uint64 { return le.Uint64(b[at:]) }
	flags := le.Uint16(b[74:])
	return Superblock{
		Version: le.Uint32(b[8:]),
		Compat:  u64(16), Incompat: u64(24), FileLength: u64(32), Nodes: u64(40), Edges: u64(48), Blocks: u64(56), InputEdges: u64(64),
		Direction: Direction(b[72]), EdgeIDs: EdgeIDMode(b[73]),
		Undirected: flags&flagUndirected != 0, Dedup: flags&flagDedup != 0, NoLoops: flags&flagNoLoops != 0,
		TableFirst: base.BlockNo(le.Uint32(b[76:])), TableBlocks: u64(80), TableEntries: u64(88),
		Fingerprint: base.Fingerprint(b[96:112]), ContentID: base.Fingerprint(b[112:128]),
	}
}

func (s Superblock) readable() error {
	switch unknown := s.Incompat &^ knownIncompat; {
	case s.Version > FormatVersion:
		return fmt.Errorf("graph format version %d, this program reads up to %d: %w", s.Version, FormatVersion, ErrVersion)
	case unknown != 0:
		return fmt.Errorf("the graph uses features %#x that this program does not know: %w", unknown, ErrVersion)
	}
	return nil
}

// check looks at what the superblock says, as far as it can be wrong on its own.
func (s Superblock) check(b []byte) *CorruptError {
	blocks := s.FileLength / base.BlockSize
	size := binary.LittleEndian.Uint32(b[12:])
	for _, c := range []struct {
		ok     bool
		at     int
		detail string
		got    any
	}{
		{s.Version > 0, 8, "version must be at least 1", s.Version},
		{size == base.BlockSize, 12, "block size must be 4096", size},
		{s.FileLength%base.BlockSize == 0 && blocks <= base.MaxBlocks, 32, "file length must be a multiple of 4096, at most 16 TiB", s.FileLength},
		{s.Nodes <= MaxNodes, 40, "more than 2^63-1 nodes", s.Nodes},
		{(s.Edges == 0) == (s.Blocks == 0), 48, "edges without blocks, or blocks without edges", s.Edges},
		{s.Edges == 0 || s.Nodes > 0, 48, "edges without nodes", s.Edges},
		{s.Blocks < blocks, 56, "more adjacency blocks than the file has blocks", s.Blocks},
		{s.Blocks <= s.Edges && s.Edges <= s.Blocks*maxEntries, 56, "edges do not fit the adjacency blocks", s.Edges},
		{s.Direction <= Out, 72, "unknown direction", uint8(s.Direction)},
		{s.EdgeIDs <= EdgeIDsStored, 73, "unknown edge id mode", uint8(s.EdgeIDs)},
		{s.TableBlocks < blocks && uint64(s.TableFirst) >= 1 && uint64(s.TableFirst) <= blocks-s.TableBlocks, 76, "the section table lies outside the file", s.TableFirst},
		{s.TableEntries <= s.TableBlocks*tablePerBlock, 88, "the section table is too short for its entries", s.TableEntries},
	} {
		if !c.ok {
			return damage(c.at, fmt.Sprintf("%s: %v", c.detail, c.got), nil, nil)
		}
	}
	return nil
}
