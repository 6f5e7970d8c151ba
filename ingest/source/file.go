//go:build linux

package source

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"os"
	"sync/atomic"
	"time"

	"github.com/klauspost/compress/zstd"
)

// sniffBytes is how much of an input its format is told from.
const sniffBytes = 4096

// bom is the mark that some programs put before UTF-8.
const bom = "\xef\xbb\xbf"

// file is an opened input. It is read as a stream, or in places where at is
// there.
type file struct {
	name  string
	size  int64         // on disk; -1: not known (a pipe)
	again bool          // it can be opened once more
	head  []byte        // its first bytes, decompressed
	r     *bufio.Reader // all of it, decompressed, from the start
	at    io.ReaderAt   // of a regular, uncompressed file; else nil
	codec *codec        // nil: not compressed
	raw   io.Reader     // where the bytes come from
	read  *atomic.Int64 // bytes read of what lies on disk; who reads at adds to it

	closers []io.Closer
}

// openFile opens an input by its name and looks at its first bytes.
func openFile(name string, in io.Reader, read *atomic.Int64) (*file, error) {
	f := &file{name: name, size: -1, read: read}
	if name != stdin {
		opened, err := os.Open(name)
		if err != nil {
			return nil, err
		}
		in, f.again = opened, true
		f.closers = append(f.closers, opened)
	}
	if err := f.start(in); err != nil {
		return nil, errors.Join(err, f.close())
	}
	return f, nil
}

// start finds out what in is and puts together the way of its bytes.
func (f *file) start(in io.Reader) error {
	f.raw = in
	if err := f.examine(in); err != nil {
		return err
	}
	raw := bufio.NewReaderSize(&countingReader{r: in, n: f.read}, sniffBytes)
	f.r = raw
	head, err := raw.Peek(sniffBytes)
	if err != nil && err != io.EOF {
		return fmt.Errorf("%s: %w", f.name, err)
	}
	if f.codec = codecOf(head); f.codec != nil {
		return f.decompress(raw)
	}
	if c := codecNamed(f.name); c != nil && len(head) < len(c.magic) {
		return Fault(f.name, "the %s stream is cut short; copy the file again", c.name)
	}
	f.head = head
	return nil
}

// examine learns whether in is a file that can be read in places. Standard input
// is one only if nobody has read from it.
func (f *file) examine(in io.Reader) error {
	file, ok := in.(*os.File)
	if !ok {
		return nil
	}
	st, err := file.Stat()
	if err != nil {
		return err
	}
	if st.IsDir() {
		return Fault(f.name, "this is a folder; name the edge list in it")
	}
	if !st.Mode().IsRegular() {
		f.again = false
		return nil
	}
	if off, err := file.Seek(0, io.SeekCurrent); err != nil || off != 0 {
		return err
	}
	f.size, f.at = st.Size(), file
	return nil
}

func (f *file) decompress(raw io.Reader) error {
	z, err := f.codec.open(raw)
	if err == io.EOF {
		err = io.ErrUnexpectedEOF
	}
	if err != nil {
		return f.readError(err)
	}
	ahead := newAhead(z)
	f.at = nil
	f.closers = append(f.closers, ahead)
	f.r = bufio.NewReaderSize(ahead, sniffBytes)
	if f.head, err = f.r.Peek(sniffBytes); err != nil && err != io.EOF {
		return f.readError(err)
	}
	if codecOf(f.head) != nil {
		return Fault(f.name, "it is compressed twice; decompress it once")
	}
	return nil
}

// readError explains an error of reading or decompressing; nil and io.EOF stay.
func (f *file) readError(err error) error {
	switch {
	case err == nil, err == io.EOF:
		return err
	case f.codec != nil && errors.Is(err, io.ErrUnexpectedEOF):
		return Fault(f.name, "the %s stream is cut short; copy the file again", f.codec.name)
	case errors.Is(err, zstd.ErrWindowSizeExceeded):
		return Fault(f.name, "it was compressed with zstd --long or --ultra, which takes more than %d MiB to undo; pipe zstdcat into standard input", maxWindow>>20)
	case f.codec != nil && damaged(err):
		return Fault(f.name, "the %s stream is damaged (%v); copy the file again", f.codec.name, err)
	}
	return fmt.Errorf("%s: %w", f.name, err)
}

// interrupt ends a Read that waits for a pipe's writer, where it can be ended:
// not that of standard input.
func (f *file) interrupt() {
	if p, ok := f.raw.(*os.File); ok && f.at == nil {
		_ = p.SetReadDeadline(time.Unix(1, 0)) // regular files have none, and need none
	}
}

// close closes in reverse: what reads ahead comes before what it reads.
func (f *file) close() (err error) {
	f.interrupt()
	for i := range f.closers {
		err = errors.Join(err, f.closers[len(f.closers)-1-i].Close())
	}
	f.closers = nil
	return err
}

type countingReader struct {
	r io.Reader
	n *atomic.Int64
}

func (c *countingReader) Read(p []byte) (int, error) {
	n, err := c.r.Read(p)
	c.n.Add(int64(n))
	return n, err
}
