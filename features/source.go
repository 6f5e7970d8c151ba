package features

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"log/slog"
	"slices"
	"sync"

	"github.com/aether-ooc/aether-ooc/blockcache"
	"github.com/aether-ooc/aether-ooc/internal/base"
	"github.com/aether-ooc/aether-ooc/internal/binfmt"
	"github.com/aether-ooc/aether-ooc/internal/npy"
	"github.com/aether-ooc/aether-ooc/layout"
	"github.com/aether-ooc/aether-ooc/uring"
)

// BFloat16 is the dtype that .npy has no name for.
const BFloat16 = "bfloat16"

// Options say what a file has to be.
type Options struct {
	Role        layout.Role      // Features: a matrix (one dimension counts as a column); else any shape
	Nodes       uint64           // of the graph, one row each
	Fingerprint base.Fingerprint // of the graph, to compare with that of the sums
	DType       string           // "": the file's own; BFloat16: 16-bit words are that
	Mode        uring.Mode       // how to read
	Log         *slog.Logger     // warnings; nil: slog.Default
}

// Source is one open array with a row for each node.
type Source struct {
	file  *uring.File
	id    blockcache.FileID
	sums  *layout.Sums                              // nil: no checks of them
	check func(no base.BlockNo, block []byte) error // of a section's blocks
	lent  bool                                      // the file is somebody else's

	dtype    string
	dims     []int64
	rows     int64
	rowBytes int64
	dataOff  int64
	perBlock int64 // of a feature file: rows in a block, none of which straddles its end; else 0

	plans sync.Pool // of *plan
}

// Open opens a user's own .npy. If a file of sums lies beside it, it is used.
// AddTo makes it known to a cache, after which rows can be gathered. The caller
// closes the Source when no lane reads it any more.
func Open(path string, o Options) (*Source, error) { return open(path, o, nil) }

// OpenAttachment opens a file that build laid beside the graph at graphPath. It
// must be the one that the graph's section of attachments describes, and have
// its sums. log is as in Options.
func OpenAttachment(graphPath string, sb layout.Superblock, a layout.Attachment, m uring.Mode, log *slog.Logger) (*Source, error) {
	o := Options{Role: a.Role, Nodes: sb.Nodes, Fingerprint: sb.Fingerprint, Mode: m, Log: log}
	if a.DType == BFloat16 {
		o.DType = BFloat16
	}
	return open(a.Path(graphPath), o, &a)
}

func open(path string, o Options, a *layout.Attachment) (*Source, error) {
	f, err := uring.OpenFile(path, o.Mode, uring.WarnTo(o.Log))
	if err != nil {
		return nil, err
	}
	s := &Source{file: f}
	s.plans.New = func() any { return new(plan) }
	if err := s.examine(o, a); err != nil {
		return nil, errors.Join(err, f.Close())
	}
	return s, nil
}

// OfSection gives a section of 64-bit values, one for each node, of a graph whose
// file is f, as a table. The file remains its owner's; check looks at its blocks.
func OfSection(f *uring.File, sec layout.Section, check func(no base.BlockNo, block []byte) error) *Source {
	s := &Source{file: f, check: check, lent: true, dtype: "int64", rows: int64(sec.Values), rowBytes: int64(sec.Width),
		dataOff: int64(sec.First.Off()), perBlock: int64(binfmt.PerBlock(int(sec.Width)))}
	s.plans.New = func() any { return new(plan) }
	return s
}

// AddTo makes the file known to the cache whose lanes will gather from it. It is
// called once.
func (s *Source) AddTo(c *blockcache.Cache) blockcache.FileID {
	check := s.check
	if s.sums != nil {
		check = s.sums.Check
	}
	s.id = c.AddFile(s.file, check)
	return s.id
}

// FileBytes is the length of the file.
func (s *Source) FileBytes() int64 { return s.file.Size() }

func (s *Source) examine(o Options, a *layout.Attachment) error {
	if err := s.loadSums(o, a); err != nil {
		return err
	}
	h, err := s.readHeader(&o)
	if err != nil {
		return err
	}
	if err := s.checkBlocks(base.BlockSize, h.DataOff); err != nil {
		return err
	}
	if err := s.checkHeader(h, o); err != nil {
		return err
	}
	s.take(h, o)
	if a != nil {
		return s.compare(*a)
	}
	return nil
}

// readHeader reads what kind of file it is and what it holds.
func (s *Source) readHeader(o *Options) (npy.Header, error) {
	if !isAligned(s.file) {
		h, err := npy.ReadHeader(io.NewSectionReader(s.file, 0, s.file.Size()))
		if err != nil {
			err = fmt.Errorf("%s: %w", s.file.Path(), err)
		}
		return h, err
	}
	a, err := readAligned(s.file, s.file.Size(), s.file.Path())
	if err != nil {
		return npy.Header{}, err
	}
	if a.DType == BFloat16 && o.DType == "" {
		o.DType = BFloat16
	}
	s.perBlock = a.perBlock()
	return a.header(), nil
}

// take notes what the header says.
func (s *Source) take(h npy.Header, o Options) {
	s.dtype, s.rows, s.dataOff = h.DType, h.Shape[0], h.DataOff
	if o.DType != "" {
		s.dtype = o.DType
	}
	s.dims = slices.Clone(h.Shape[1:])
	s.rowBytes = int64(h.Size)
	for _, d := range s.dims {
		s.rowBytes *= d
	}
}

// loadSums reads the sums beside the file and checks what can be known from
// them before a row is read: whose they are, the file's length, its header.
func (s *Source) loadSums(o Options, a *layout.Attachment) error {
	sums, err := readSums(layout.SumsPath(s.file.Path()), o.Log)
	if errors.Is(err, fs.ErrNotExist) && a == nil {
		return nil
	}
	if err != nil {
		return err
	}
	if sums.Fingerprint != o.Fingerprint {
		return fmt.Errorf("%s: %w: %s belongs to the graph %s, this is %s; build the graph again with this file",
			s.file.Path(), ErrForeign, sums.Name, sums.Fingerprint, o.Fingerprint)
	}
	if err := sums.CheckLength(s.file.Size()); err != nil {
		return err
	}
	s.sums = sums
	return s.checkBlocks(0, 1)
}

func readSums(path string, log *slog.Logger) (*layout.Sums, error) {
	f, err := uring.OpenFile(path, uring.Direct, uring.WarnTo(log))
	if err != nil {
		return nil, err
	}
	sums, err := layout.OpenSums(f, f.Size(), path)
	return sums, errors.Join(err, f.Close())
}

// checkBlocks checks the blocks of the bytes [from, to) of the header, so that a
// damaged header is called damaged, not strange.
func (s *Source) checkBlocks(from, to int64) error {
	if s.sums == nil {
		return nil
	}
	b := make([]byte, base.BlockSize)
	for at := from; at < min(to, s.file.Size()); at += base.BlockSize {
		n, err := s.file.ReadAt(b, at)
		if err != nil && err != io.EOF {
			return err
		}
		clear(b[n:])
		if err := s.sums.Check(base.BlockNo(at/base.BlockSize), b); err != nil {
			return err
		}
	}
	return nil
}

// compare holds the array to what the graph says of it.
func (s *Source) compare(a layout.Attachment) error {
	shape := make([]uint64, 0, 1+len(s.dims))
	for _, d := range append([]int64{s.rows}, s.dims...) {
		shape = append(shape, uint64(d))
	}
	if s.dtype != a.DType || !slices.Equal(shape, a.Shape) || s.sums.Hash != a.Hash || s.sums.Length != a.Bytes {
		return fmt.Errorf("%s: %w: the graph was built with %s %v, XXH3 %s, here lie %s %v, XXH3 %s; restore the file or build the graph again",
			s.file.Path(), ErrForeign, a.DType, a.Shape, a.Hash, s.dtype, shape, s.sums.Hash)
	}
	return nil
}

// Path is the file's name.
func (s *Source) Path() string { return s.file.Path() }

// File is what the cache calls the file since AddTo: its counters go by that.
func (s *Source) File() blockcache.FileID { return s.id }

// DType is NumPy's name of the values' type, or BFloat16.
func (s *Source) DType() string { return s.dtype }

// Dims is the shape of a row: empty for one value a node.
func (s *Source) Dims() []int64 { return slices.Clone(s.dims) }

// Dim is how many values a row has.
func (s *Source) Dim() int64 {
	n := int64(1)
	for _, d := range s.dims {
		n *= d
	}
	return n
}

// Rows is how many rows there are.
func (s *Source) Rows() int64 { return s.rows }

// RowBytes is how many bytes a row takes in Gather's dst.
func (s *Source) RowBytes() int64 { return s.rowBytes }

// Checked reports whether blocks are compared with checksums.
func (s *Source) Checked() bool { return s.sums != nil || s.check != nil }

// ScratchBytes is the memory that a Gather of so many rows takes at most, beside
// dst. It is kept for the next one.
func (s *Source) ScratchBytes(rows int64) int64 {
	const perRow, perBlock = 8, 4 + 8
	return rows * (perRow + perBlock*(s.rowBytes/base.BlockSize+2))
}

// Bytes is the memory that the Source holds as long as it is open.
func (s *Source) Bytes() int64 {
	if s.sums == nil {
		return 0
	}
	return s.sums.Bytes()
}

// Close closes the file, unless it is lent. No lane may be visiting it.
func (s *Source) Close() error {
	if s.lent {
		return nil
	}
	return s.file.Close()
}
