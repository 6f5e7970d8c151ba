package scan

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"

	"github.com/aether-ooc/aether-ooc/internal/base"
	"github.com/aether-ooc/aether-ooc/layout"
)

// pieceBytes is how much is read at once.
const pieceBytes = 1 << 20

// Graph is an open graph.
type Graph struct {
	*layout.Graph
	Path string
	ctx  context.Context
	file *os.File
	read func(bytes int) // told of each piece
}

// Open opens the graph at path; the caller closes it. read, if not nil, is told
// how many bytes each piece has that is read from then on.
func Open(ctx context.Context, path string, read func(bytes int)) (*Graph, error) {
	f, size, err := OpenRegular(path)
	if err != nil {
		return nil, err
	}
	if read == nil {
		read = func(int) {}
	}
	g := &Graph{Path: path, ctx: ctx, file: f, read: read}
	if g.Graph, err = layout.OpenGraph(f, size, path); err != nil {
		_ = f.Close() // it was read only
		return nil, err
	}
	return g, nil
}

// Close closes the file.
func (g *Graph) Close() error { return g.file.Close() }

// Context is what reading stops with.
func (g *Graph) Context() context.Context { return g.ctx }

// OpenRegular opens a file and tells its length. It looks before it opens: to
// open a pipe is to wait for somebody to write to it.
func OpenRegular(path string) (*os.File, int64, error) {
	st, err := os.Stat(path)
	if err != nil {
		return nil, 0, err
	}
	if !st.Mode().IsRegular() {
		return nil, 0, fmt.Errorf("%s: not a regular file; give the path of a graph that aether-ooc build made", path)
	}
	f, err := os.Open(path)
	return f, st.Size(), err
}

// Block reads one block, its seal checked, into b of 4,096 bytes.
func (g *Graph) Block(no base.BlockNo, b []byte) error {
	if _, err := g.file.ReadAt(b, int64(no.Off())); err != nil {
		return ReadError(g.Path, g.SectionName(no), no, err)
	}
	return g.CheckBlock(no, b)
}

// Blocks reads a run of blocks, in order, their seals checked.
type Blocks struct {
	g    *Graph
	buf  []byte
	left []byte // read and not yet given out
	next base.BlockNo
	end  uint64
}

// Blocks begins a run of n blocks.
func (g *Graph) Blocks(first base.BlockNo, n uint64) *Blocks {
	return &Blocks{g: g, buf: make([]byte, min(pieceBytes, n*base.BlockSize)), next: first, end: uint64(first) + n}
}

// Section begins the blocks of a section.
func (g *Graph) Section(s layout.Section) *Blocks { return g.Blocks(s.First, s.Blocks) }

// Next gives the next block, valid until the one after, and io.EOF at the end.
func (b *Blocks) Next() (base.BlockNo, []byte, error) {
	if uint64(b.next) == b.end {
		return 0, nil, io.EOF
	}
	if len(b.left) == 0 {
		if err := b.fill(); err != nil {
			return 0, nil, err
		}
	}
	no, block := b.next, b.left[:base.BlockSize]
	b.left = b.left[base.BlockSize:]
	b.next++
	return no, block, b.g.CheckBlock(no, block)
}

func (b *Blocks) fill() error {
	if err := context.Cause(b.g.ctx); err != nil {
		return err
	}
	n := min(uint64(len(b.buf)), (b.end-uint64(b.next))*base.BlockSize)
	b.left = b.buf[:n]
	if _, err := b.g.file.ReadAt(b.left, int64(b.next.Off())); err != nil {
		return ReadError(b.g.Path, b.g.SectionName(b.next), b.next, err)
	}
	b.g.read(int(n))
	return nil
}

// ReadError tells a file that became shorter from a disk that fails.
func ReadError(path, section string, no base.BlockNo, err error) error {
	if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
		return &layout.CorruptError{File: path, Section: section, Block: no, Offset: no.Off(), Detail: "the file is cut short"}
	}
	return fmt.Errorf("%s: %s: %w", path, section, err)
}

// Each calls fn for every block of a run.
func (b *Blocks) Each(fn func(no base.BlockNo, block []byte) error) error {
	for {
		no, block, err := b.Next()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err == nil {
			err = fn(no, block)
		}
		if err != nil {
			return err
		}
	}
}

// adjacency begins the blocks with the lists.
func (g *Graph) adjacency() *Blocks {
	s, _ := g.Table.Find(layout.KindAdjacency, 0, 0)
	return g.Section(s)
}

// view explains an adjacency block.
func (g *Graph) view(no base.BlockNo, block []byte) (layout.Block, error) {
	k, err := layout.ViewBlock(block)
	return k, g.Place(no, err)
}

// Adjacency calls fn for every adjacency block.
func (g *Graph) Adjacency(fn func(no base.BlockNo, k layout.Block) error) error {
	return g.adjacency().Each(func(no base.BlockNo, block []byte) error {
		k, err := g.view(no, block)
		if err != nil {
			return err
		}
		return fn(no, k)
	})
}

// Damage makes the error for something wrong in a block.
func (g *Graph) Damage(no base.BlockNo, detail string, want, got any) error {
	return &layout.CorruptError{File: g.Path, Section: g.SectionName(no), Block: no, Offset: no.Off(), Detail: detail, Want: fmt.Sprint(want), Got: fmt.Sprint(got)}
}
