package inspect

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"

	"github.com/aether-ooc/aether-ooc/ingest/source"
	"github.com/aether-ooc/aether-ooc/internal/base"
	"github.com/aether-ooc/aether-ooc/layout"
)

// Config is what Run and Verify are asked.
type Config struct {
	Path     string
	Degrees  bool                    // Run: fill in Degrees.Histogram
	Memory   int64                   // Verify: bytes for the uniqueness of edge ids, and for lists to compare; 0: 512 MiB
	Against  source.Config           // Verify: the edge list that the graph was built from, where Inputs are named
	Progress func(done, total int64) // bytes; nil: nobody is told
}

// pieceBytes is how much is read at once.
const pieceBytes = 1 << 20

// job is one run over a graph.
type job struct {
	ctx         context.Context
	c           Config
	f           *os.File
	g           *layout.Graph
	done, total int64 // bytes
}

// openJob opens the graph; the caller closes it.
func openJob(ctx context.Context, c Config) (*job, error) {
	f, size, err := openRegular(c.Path)
	if err != nil {
		return nil, err
	}
	j := &job{ctx: ctx, c: c, f: f}
	if j.g, err = layout.OpenGraph(f, size, c.Path); err != nil {
		f.Close()
		return nil, err
	}
	return j, nil
}

// openRegular opens a file and tells its length. It looks before it opens: to
// open a pipe is to wait for somebody to write to it.
func openRegular(path string) (*os.File, int64, error) {
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

func (j *job) close() { j.f.Close() }

func (j *job) progress(n int) {
	j.done += int64(n)
	if j.c.Progress != nil {
		j.c.Progress(j.done, j.total)
	}
}

// blocks reads a run of blocks of the graph, in order, their seals checked.
type blocks struct {
	j    *job
	buf  []byte
	left []byte // read and not yet given out
	next base.BlockNo
	end  uint64
}

func (j *job) blocks(first base.BlockNo, n uint64) *blocks {
	return &blocks{j: j, buf: make([]byte, min(pieceBytes, n*base.BlockSize)), next: first, end: uint64(first) + n}
}

func (j *job) section(s layout.Section) *blocks { return j.blocks(s.First, s.Blocks) }

// read gives the next block, valid until the one after, and io.EOF at the end.
func (b *blocks) read() (base.BlockNo, []byte, error) {
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
	return no, block, b.j.g.CheckBlock(no, block)
}

func (b *blocks) fill() error {
	if err := context.Cause(b.j.ctx); err != nil {
		return err
	}
	n := min(uint64(len(b.buf)), (b.end-uint64(b.next))*base.BlockSize)
	b.left = b.buf[:n]
	if _, err := b.j.f.ReadAt(b.left, int64(b.next.Off())); err != nil {
		return readError(b.j.c.Path, b.j.g.SectionName(b.next), b.next, err)
	}
	b.j.progress(int(n))
	return nil
}

// readError tells a file that became shorter from a disk that fails.
func readError(path, section string, no base.BlockNo, err error) error {
	if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
		return &layout.CorruptError{File: path, Section: section, Block: no, Offset: no.Off(), Detail: "the file is cut short"}
	}
	return fmt.Errorf("%s: %s: %w", path, section, err)
}

// each calls fn for every block of a run.
func (b *blocks) each(fn func(no base.BlockNo, block []byte) error) error {
	for {
		no, block, err := b.read()
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

// adjacency calls fn for every adjacency block.
func (j *job) adjacency(fn func(no base.BlockNo, k layout.Block) error) error {
	s, _ := j.g.Table.Find(layout.KindAdjacency, 0, 0)
	return j.section(s).each(func(no base.BlockNo, block []byte) error {
		k, err := layout.ViewBlock(block)
		if err != nil {
			return j.g.Place(no, err)
		}
		return fn(no, k)
	})
}

// damage makes the error for something wrong in a block of the graph.
func (j *job) damage(no base.BlockNo, detail string, want, got any) error {
	return &layout.CorruptError{File: j.c.Path, Section: j.g.SectionName(no), Block: no, Offset: no.Off(), Detail: detail, Want: fmt.Sprint(want), Got: fmt.Sprint(got)}
}
