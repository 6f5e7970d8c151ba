//go:build linux

package source

import (
	"context"
	"errors"
	"io"
	"math"
	"slices"

	"github.com/aether-ooc/aether-ooc/internal/base"
)

// Config says what to read and how. Only Inputs is required.
type Config struct {
	Inputs []string  // files, globs (their files in ascending order) and "-" for Stdin; read in this order, as one list
	Stdin  io.Reader // what "-" means; a regular file in it is read as one
	Format Format    // of all inputs; FormatAuto: by content, then by name

	Columns []string // of a text: names or numbers (from 1) of source, target[, weight[, time]], "" for none; nil: Header's, or the first two
	Header  Header   // whether the first line of a text names its columns
	Layout  Layout   // of a .npy: which axis counts the edges
	Base    int      // the first node's id in the input, 0 or 1

	Names    bool   // nodes are words: ids are hashes of them, and Batch.Names tells them
	NameSeed uint64 // of the hashes

	Nodes   int64 // how many there are: a larger id is an error; 0: any
	Workers int   // that decode side by side; at least 1
}

// Header says whether the first line of a text names its columns.
type Header string

// The kinds of Header.
const (
	HeaderAuto Header = "" // it does if none of its values is a number
	HeaderYes  Header = "yes"
	HeaderNo   Header = "no"
)

// Layout says which axis of a two-dimensional array counts the edges.
type Layout string

// The kinds of Layout. An array of shape (2, 2) could be either: it is (2, E)
// unless LayoutRows is asked for.
const (
	LayoutAuto    Layout = ""
	LayoutColumns Layout = "2xE" // as edge_index: all sources, then all targets
	LayoutRows    Layout = "Ex2" // a row per edge
)

// MaxNodeID leaves room for the number of nodes, which is one more.
const MaxNodeID = base.NodeID(math.MaxInt64 - 1)

// Batch is a run of edges, row after row: edge i goes from Src[i] to Dst[i] and
// is row First+i of the list. Its memory is the source's.
type Batch struct {
	First    int64
	Src, Dst []base.NodeID // from 0 up, whatever Config.Base
	Max      base.NodeID   // the largest id in it
	Weight   []float64     // one per edge if Columns asks for it, else empty
	Time     []int64       // likewise

	Lines, Skipped int64 // of a text: all, and those that are blank, comments or headers

	met met
}

// Names are those that the batch speaks of, each once, where Config.Names asks for
// them.
func (b *Batch) Names() []Name { return b.met.names }

func (b *Batch) reset() {
	*b = Batch{Src: b.Src[:0], Dst: b.Dst[:0], Weight: b.Weight[:0], Time: b.Time[:0], met: b.met}
	b.met.reset()
}

// sized is s with length n, whatever it holds.
func sized[E any](s []E, n int) []E { return slices.Grow(s[:0], n)[:n] }

// Source is an opened list of edges, of one input or several. It is used by one
// goroutine, but for Position, which any may ask.
type Source struct {
	c     Config
	parts []*part
}

// Open opens and looks into every input, so that what is missing or unfit is
// known before anything is read.
func Open(c Config) (*Source, error) {
	if err := c.check(); err != nil {
		return nil, err
	}
	names, err := expand(c.Inputs)
	if err != nil {
		return nil, err
	}
	s := &Source{c: c}
	for _, name := range names {
		p, err := openPart(&s.c, name)
		if err != nil {
			s.Close()
			return nil, err
		}
		s.parts = append(s.parts, p)
	}
	return s, nil
}

// Each decodes the whole list, once, and calls fn with its batches in the order
// of their rows, from the calling goroutine. A batch is valid until fn returns.
func (s *Source) Each(ctx context.Context, fn func(*Batch) error) error {
	row := int64(0)
	for _, p := range s.parts {
		err := p.each(ctx, func(b *Batch) error {
			b.First = row
			row += int64(len(b.Src))
			return fn(b)
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// Rows is how many edges there are, exactly. A text is parsed to find out. It is
// -1 where only Each can tell, because the input cannot be read twice.
func (s *Source) Rows(ctx context.Context) (int64, error) {
	return s.sum(func(p *part) (int64, error) { return p.rows(ctx) })
}

// Known is how many edges there are, exactly, where the inputs say so without
// being read; else -1.
func (s *Source) Known() int64 {
	n, _ := s.sum(func(p *part) (int64, error) { return p.extent.rows, nil })
	return n
}

// Most is how many edges there can be at most, without reading them;
// math.MaxInt64 where nothing is known.
func (s *Source) Most() int64 {
	most, _ := s.sum(func(p *part) (int64, error) { return p.most, nil })
	if most < 0 {
		return math.MaxInt64
	}
	return most
}

// Nodes is how many nodes the inputs declare; 0: they do not say.
func (s *Source) Nodes() (n int64) {
	for _, p := range s.parts {
		n = max(n, p.nodes)
	}
	return n
}

// Bytes is the length of all inputs as they lie on disk; 0 where one of them has
// none that is known (a pipe).
func (s *Source) Bytes() int64 {
	n, _ := s.sum(func(p *part) (int64, error) { return p.size, nil })
	return max(0, n)
}

// Position is how many of those bytes were read.
func (s *Source) Position() (n int64) {
	for _, p := range s.parts {
		n += p.read.Load()
	}
	return n
}

// sum adds up; it is -1 as soon as a part's figure is.
func (s *Source) sum(of func(*part) (int64, error)) (total int64, err error) {
	for _, p := range s.parts {
		n, err := of(p)
		if err != nil || n < 0 || total > math.MaxInt64-n {
			return -1, err
		}
		total += n
	}
	return total, nil
}

// Files are the inputs' names, globs resolved.
func (s *Source) Files() (names []string) {
	for _, p := range s.parts {
		names = append(names, p.name)
	}
	return names
}

// Format is the inputs' format; FormatAuto where they differ.
func (s *Source) Format() Format {
	for _, p := range s.parts {
		if p.format.name != s.parts[0].format.name {
			return FormatAuto
		}
	}
	return s.parts[0].format.name
}

// Close gives back what is open.
func (s *Source) Close() error {
	var all error
	for _, p := range s.parts {
		all = errors.Join(all, p.close())
	}
	return all
}
