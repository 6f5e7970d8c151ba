//go:build linux

package source

import (
	"bufio"
	"bytes"
	"errors"
	"io"
	"io/fs"
	"path/filepath"
	"slices"
	"strings"
	"sync"

	"github.com/klauspost/compress/gzip"
	"github.com/klauspost/compress/zstd"
)

// codec is a way to compress a whole file, told by its first bytes, never by its
// name.
type codec struct {
	name, magic string
	suffixes    []string
	open        func(io.Reader) (io.ReadCloser, error)
}

var codecs = []codec{
	{"gzip", "\x1f\x8b", []string{".gz", ".bgz", ".gzip"}, openGzip},
	{"zstd", "\x28\xb5\x2f\xfd", []string{".zst", ".zstd"}, openZstd},
}

func codecOf(head []byte) *codec {
	for i := range codecs {
		if bytes.HasPrefix(head, []byte(codecs[i].magic)) {
			return &codecs[i]
		}
	}
	return nil
}

// codecNamed is the codec that a file's name promises, or nil.
func codecNamed(name string) *codec {
	suffix := strings.ToLower(filepath.Ext(name))
	for i := range codecs {
		if slices.Contains(codecs[i].suffixes, suffix) {
			return &codecs[i]
		}
	}
	return nil
}

// damaged tells an error of decompressing from one of reading.
func damaged(err error) bool {
	var reading *fs.PathError
	return !errors.As(err, &reading)
}

// gzipMember is any number of members, as gzip and bgzip write them.
type gzipMembers struct {
	*gzip.Reader
	tail *tailReader // of a bgzip file, which ends with a certain member; else nil
}

// bgzipEnd is the empty member that ends every bgzip file.
const bgzipEnd = "\x1f\x8b\x08\x04\x00\x00\x00\x00\x00\xff\x06\x00\x42\x43\x02\x00\x1b\x00\x03\x00\x00\x00\x00\x00\x00\x00\x00\x00"

func openGzip(r io.Reader) (io.ReadCloser, error) {
	tail := &tailReader{r: r}
	z, err := gzip.NewReader(bufio.NewReaderSize(tail, pieceBytes))
	if err != nil {
		return nil, err
	}
	g := &gzipMembers{Reader: z}
	if bytes.HasPrefix(z.Extra, []byte("BC\x02\x00")) {
		g.tail = tail
	}
	return g, nil
}

func (g *gzipMembers) Read(p []byte) (int, error) {
	n, err := g.Reader.Read(p)
	if err == io.EOF && g.tail != nil && string(g.tail.last) != bgzipEnd {
		err = io.ErrUnexpectedEOF
	}
	return n, err
}

// tailReader remembers as many of the last bytes as end a bgzip file.
type tailReader struct {
	r    io.Reader
	last []byte
}

func (t *tailReader) Read(p []byte) (int, error) {
	n, err := t.r.Read(p)
	t.last = append(t.last, p[max(0, n-len(bgzipEnd)):n]...)
	t.last = t.last[max(0, len(t.last)-len(bgzipEnd)):]
	return n, err
}

// maxWindow is the memory that a zstd stream may want to be decompressed; only
// zstd --long and --ultra ask for more.
const maxWindow = 32 << 20

func openZstd(r io.Reader) (io.ReadCloser, error) {
	z, err := zstd.NewReader(r, zstd.WithDecoderConcurrency(1), zstd.WithDecoderMaxWindow(maxWindow), zstd.WithDecoderLowmem(true))
	if err != nil {
		return nil, err
	}
	return z.IOReadCloser(), nil
}

const (
	pieceBytes = 256 << 10
	pieces     = 3
)

// ahead decompresses in a goroutine of its own, a few pieces ahead of its
// reader.
type ahead struct {
	from       io.ReadCloser
	free, full chan []byte
	piece      []byte // the one being read, and what is left of it
	left       []byte
	err        error // how it ended, once full is closed
	quit       chan struct{}
	ended      sync.WaitGroup
}

func newAhead(from io.ReadCloser) *ahead {
	a := &ahead{from: from, free: make(chan []byte, pieces), full: make(chan []byte, pieces), quit: make(chan struct{})}
	for range pieces {
		a.free <- make([]byte, pieceBytes)
	}
	a.ended.Go(a.run)
	return a
}

func (a *ahead) run() {
	defer close(a.full)
	for {
		select {
		case <-a.quit:
			return
		case p := <-a.free:
			n, err := readFull(a.from, p)
			a.full <- p[:n]
			if err != nil {
				a.err = err
				return
			}
		}
	}
}

func (a *ahead) Read(p []byte) (int, error) {
	for len(a.left) == 0 {
		if a.piece != nil {
			a.free <- a.piece[:cap(a.piece)]
			a.piece = nil
		}
		next, ok := <-a.full
		if !ok {
			return 0, a.err
		}
		a.piece, a.left = next, next
	}
	n := copy(p, a.left)
	a.left = a.left[n:]
	return n, nil
}

// Close waits for the goroutine, which may be in a Read.
func (a *ahead) Close() error {
	close(a.quit)
	a.ended.Wait()
	_ = a.from.Close() // it repeats what Read said
	return nil
}

// readFull is io.ReadFull but for a short end, which stays io.EOF: a stream that
// was cut short says io.ErrUnexpectedEOF.
func readFull(r io.Reader, p []byte) (n int, err error) {
	for n < len(p) && err == nil {
		var k int
		k, err = r.Read(p[n:])
		n += k
	}
	return n, err
}
