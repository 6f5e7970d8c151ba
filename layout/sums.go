package layout

import (
	"encoding/binary"
	"encoding/hex"
	"fmt"
	"hash/crc32"
	"io"
	"strings"

	"github.com/zeebo/xxh3"

	"github.com/aether-ooc/aether-ooc/internal/base"
	"github.com/aether-ooc/aether-ooc/internal/binfmt"
)

const (
	sumsSuffix  = ".sums"
	sumsVersion = 1
	sumWidth    = 4
)

var (
	sumsMagic  = [8]byte{0x89, 'A', 'E', 'S', '\r', '\n', 0x1a, '\n'}
	castagnoli = crc32.MakeTable(crc32.Castagnoli)
)

// Sums are the checksums of a file beside a graph, one per 4 KiB, in memory: a
// thousandth of the file.
type Sums struct {
	Name        string           // of the file of sums
	Fingerprint base.Fingerprint // of the graph that the file belongs to
	Length      uint64           // of the file, in bytes
	Hash        string           // XXH3-128 of the file, hexadecimal
	crc         []uint32
}

// Bytes is the memory that the sums hold.
func (s *Sums) Bytes() int64 { return int64(len(s.crc)) * sumWidth }

// file is the name of the file that the sums are of.
func (s *Sums) file() string { return strings.TrimSuffix(s.Name, sumsSuffix) }

// CheckLength says whether the file has the length that it was written with.
func (s *Sums) CheckLength(size int64) error {
	if uint64(size) != s.Length {
		return truncated(s.file(), "data", int64(s.Length), size)
	}
	return nil
}

// Check says whether block no of the file is the one that was written. b has
// 4,096 bytes, the last block of the file filled up with zeros.
func (s *Sums) Check(no base.BlockNo, b []byte) error {
	if uint64(no) >= uint64(len(s.crc)) {
		return damage(0, "no such block: the file has fewer", fmt.Sprintf("below %d", len(s.crc)), no).in(s.file(), "data", no)
	}
	if got := crc32.Checksum(b, castagnoli); got != s.crc[no] {
		return damage(0, "the checksum does not match the bytes", hex32(s.crc[no]), hex32(got)).in(s.file(), "data", no)
	}
	return nil
}

// SumsWriter makes the sums of the bytes written to it.
type SumsWriter struct {
	w     io.WriterAt
	fp    base.Fingerprint
	crcs  *values
	hash  *xxh3.Hasher
	block [base.BlockSize]byte
	n     uint64
}

// NewSumsWriter starts the sums, to be written to w, of a file that belongs to
// the graph with this fingerprint.
func NewSumsWriter(w io.WriterAt, fp base.Fingerprint) *SumsWriter {
	return &SumsWriter{w: w, fp: fp, crcs: newStream(w, 1).values(0, 0, sumWidth), hash: xxh3.New()}
}

// Write takes the file's next bytes.
func (s *SumsWriter) Write(p []byte) (int, error) {
	s.hash.Write(p)
	for rest := p; len(rest) > 0; {
		n := copy(s.block[s.n%base.BlockSize:], rest)
		rest = rest[n:]
		s.n += uint64(n)
		if s.n%base.BlockSize == 0 {
			if err := s.endBlock(); err != nil {
				return 0, err
			}
		}
	}
	return len(p), nil
}

func (s *SumsWriter) endBlock() error {
	sum := crc32.Checksum(s.block[:], castagnoli)
	clear(s.block[:])
	return s.crcs.put(uint64(sum))
}

// Finish writes what is left, the header last. It gives length and hash of the
// file as Attachment has them.
func (s *SumsWriter) Finish() (bytes uint64, hash string, err error) {
	if s.n%base.BlockSize != 0 {
		if err := s.endBlock(); err != nil {
			return 0, "", err
		}
	}
	if err := s.crcs.s.flush(); err != nil {
		return 0, "", err
	}
	sum := s.hash.Sum128().Bytes()
	_, err = s.w.WriteAt(s.header(sum), 0)
	return s.n, hex.EncodeToString(sum[:]), err
}

func (s *SumsWriter) header(sum [16]byte) []byte {
	b := make([]byte, base.BlockSize)
	copy(b, sumsMagic[:])
	binary.LittleEndian.PutUint32(b[8:], sumsVersion)
	binary.LittleEndian.PutUint32(b[12:], base.BlockSize)
	binary.LittleEndian.PutUint64(b[16:], s.n)
	copy(b[24:], s.fp[:])
	copy(b[40:], sum[:])
	binfmt.Seal(b, 0)
	return b
}

// OpenSums reads a file of sums of the given size.
func OpenSums(r io.ReaderAt, size int64, name string) (*Sums, error) {
	f := wholeFile{r: r, name: name, size: size}
	s := &Sums{Name: name}
	var version uint32
	err := f.blocks("header", 0, 1, func(b []byte) error {
		if [8]byte(b) != sumsMagic {
			return damage(0, "no file of sums: the magic bytes differ", quoted(sumsMagic[:]), quoted(b[:8])).in(name, "header", 0)
		}
		version = binary.LittleEndian.Uint32(b[8:])
		s.Length = binary.LittleEndian.Uint64(b[16:])
		s.Fingerprint, s.Hash = base.Fingerprint(b[24:40]), hex.EncodeToString(b[40:56])
		return nil
	})
	if err != nil {
		return nil, err
	}
	if version != sumsVersion {
		return nil, fmt.Errorf("%s: sums of version %d, this program reads %d: %w", name, version, sumsVersion, ErrVersion)
	}
	return s, f.loadSums(s)
}

func (f wholeFile) loadSums(s *Sums) error {
	if s.Length > base.MaxBlocks*base.BlockSize {
		return damage(16, "length of the file", "at most 16 TiB", s.Length).in(f.name, "header", 0)
	}
	n := (s.Length + base.BlockSize - 1) / base.BlockSize
	blocks := binfmt.BlocksFor(n, sumWidth)
	if want := int64(1+blocks) * base.BlockSize; want != f.size {
		return truncated(f.name, "sums", want, f.size)
	}
	s.crc = make([]uint32, n)
	sec := Section{Width: sumWidth, First: 1, Blocks: blocks, Values: n}
	return f.values(sec, func(i, x uint64) error { s.crc[i] = uint32(x); return nil })
}
