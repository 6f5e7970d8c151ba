//go:build linux

package uring

import (
	"cmp"
	"fmt"
	"io"
	"log/slog"
	"math"
	"os"
	"sync"
	"sync/atomic"
	"unsafe"

	"golang.org/x/sys/unix"

	"github.com/aether-ooc/aether-ooc/internal/base"
)

// Mode says how a file is read.
type Mode int

// The modes of OpenFile.
const (
	Direct     Mode = iota // past the page cache; through it, with a warning, where that is refused
	DirectOnly             // past the page cache or not at all
	Buffered               // through the page cache
)

// FileOption changes how OpenFile works.
type FileOption func(*File)

// WarnTo sends the file's warnings to log in place of slog.Default.
func WarnTo(log *slog.Logger) FileOption { return func(f *File) { f.log = log } }

// File is an open file, for any number of rings and goroutines at once.
type File struct {
	path  string
	fd    int
	size  int64
	align int // of direct reads
	mode  Mode
	log   *slog.Logger // nil: slog.Default

	direct  atomic.Bool // O_DIRECT is set on fd
	refusal sync.Once   // clears it
	refs    atomic.Int64
	closed  atomic.Bool
}

// OpenFile opens a regular file or a block device for reading. Its size is taken
// now: a file that grows later is read to its old end.
func OpenFile(path string, m Mode, options ...FileOption) (*File, error) {
	if err := checkKind(path); err != nil {
		return nil, err
	}
	fd, direct, err := openFd(path, m)
	if err != nil {
		return nil, err
	}
	f := &File{path: path, fd: fd, align: 1, mode: m}
	f.refs.Store(1) // the opener's; each read under way has one more
	f.direct.Store(direct)
	for _, o := range options {
		o(f)
	}
	if err := f.examine(); err != nil {
		_ = f.Close()
		return nil, err
	}
	return f, nil
}

// checkKind refuses what has no bytes at offsets, before opening it: opening a
// pipe would wait for a writer.
func checkKind(path string) error {
	var st unix.Stat_t
	if err := unix.Stat(path, &st); err != nil {
		return &os.PathError{Op: "open", Path: path, Err: err}
	}
	switch st.Mode & unix.S_IFMT {
	case unix.S_IFREG, unix.S_IFBLK:
		return nil
	case unix.S_IFDIR:
		return &os.PathError{Op: "open", Path: path, Err: unix.EISDIR}
	}
	return &os.PathError{Op: "open", Path: path, Err: fmt.Errorf("neither a regular file nor a block device: %w", unix.EINVAL)}
}

func openFd(path string, m Mode) (fd int, direct bool, err error) {
	const flags = unix.O_RDONLY | unix.O_CLOEXEC
	if m != Buffered {
		fd, err = openRetry(path, flags|unix.O_DIRECT)
		if err == nil || !isRefusal(err) {
			return fd, true, pathError(path, err)
		}
	}
	fd, err = openRetry(path, flags)
	return fd, false, pathError(path, err)
}

func openRetry(path string, flags int) (int, error) {
	for {
		fd, err := unix.Open(path, flags, 0)
		if err != unix.EINTR {
			return fd, err
		}
	}
}

func pathError(path string, err error) error {
	if err == nil {
		return nil
	}
	return &os.PathError{Op: "open", Path: path, Err: err}
}

// isRefusal reports whether err is how filesystems say that they know no O_DIRECT.
func isRefusal(err error) bool { return err == unix.EINVAL || err == unix.EOPNOTSUPP }

// examine learns the file's size and alignment, and ends the attempt at
// O_DIRECT where it has failed.
func (f *File) examine() error {
	size, err := unix.Seek(f.fd, 0, io.SeekEnd)
	if err != nil {
		return pathError(f.path, err)
	}
	f.size = size
	if f.direct.Load() {
		f.align = dioAlign(f.fd)
	}
	if f.mode != Buffered && (!f.direct.Load() || f.align > base.BlockSize) && !f.refuseDirect() {
		return fmt.Errorf("uring: direct reads of %s are %w: its filesystem refuses O_DIRECT; move the file to a local filesystem (ext4, xfs), or read it buffered", f.path, ErrUnsupported)
	}
	if f.mode == Buffered {
		f.adviseRandom()
	}
	return nil
}

// dioAlign is what offsets, addresses and lengths of direct reads must be
// multiples of. Kernels before 6.1 and some filesystems do not say; a block is
// then right on every device with sectors of up to 4 KiB. A file that cannot be
// read so gets more than any block is aligned to.
func dioAlign(fd int) int {
	var st unix.Statx_t
	err := unix.Statx(fd, "", unix.AT_EMPTY_PATH, unix.STATX_DIOALIGN, &st)
	if err != nil || st.Mask&unix.STATX_DIOALIGN == 0 {
		return base.BlockSize
	}
	if st.Dio_offset_align == 0 {
		return math.MaxInt
	}
	return int(max(st.Dio_mem_align, st.Dio_offset_align))
}

var warnedPaths sync.Map // path → struct{}: one warning each, however often it is opened

// refuseDirect goes over to the page cache for good, for every ring that has
// the file. It reports false where the file's mode forbids that.
func (f *File) refuseDirect() bool {
	if f.mode == DirectOnly {
		return false
	}
	f.refusal.Do(func() {
		// On the open description, so that rings that have it registered follow.
		if flags, err := unix.FcntlInt(uintptr(f.fd), unix.F_GETFL, 0); err == nil {
			_, _ = unix.FcntlInt(uintptr(f.fd), unix.F_SETFL, flags&^unix.O_DIRECT)
		}
		f.direct.Store(false)
		f.adviseRandom()
		if _, again := warnedPaths.LoadOrStore(f.path, struct{}{}); !again {
			cmp.Or(f.log, slog.Default()).Warn("reading through the page cache: the filesystem refuses O_DIRECT", "path", f.path)
		}
	})
	return true
}

// adviseRandom spares the page cache what a read ahead would bring in vain.
func (f *File) adviseRandom() { _ = unix.Fadvise(f.fd, 0, 0, unix.FADV_RANDOM) }

// Size is the file's length in bytes when it was opened.
func (f *File) Size() int64 { return f.size }

// Path is the name that the file was opened by.
func (f *File) Path() string { return f.path }

// Direct reports whether reads go past the page cache. It may turn false with
// the first read.
func (f *File) Direct() bool { return f.direct.Load() }

// Align is what the offset, the addresses and the lengths of a Read must be
// multiples of: at most 4,096, and 1 for a buffered file.
func (f *File) Align() int {
	if !f.Direct() {
		return 1
	}
	return f.align
}

// Close closes the file once the reads under way are done. Later reads fail
// with os.ErrClosed, and so does a second Close.
func (f *File) Close() error {
	if f.closed.Swap(true) {
		return &os.PathError{Op: "close", Path: f.path, Err: os.ErrClosed}
	}
	return f.release()
}

// acquire keeps fd open until release; it fails once the file is closed.
func (f *File) acquire() bool {
	for {
		n := f.refs.Load()
		if n == 0 || f.closed.Load() {
			return false
		}
		if f.refs.CompareAndSwap(n, n+1) {
			return true
		}
	}
}

func (f *File) release() error {
	if f.refs.Add(-1) > 0 {
		return nil
	}
	if err := unix.Close(f.fd); err != nil {
		return &os.PathError{Op: "close", Path: f.path, Err: err}
	}
	return nil
}

// bounceSize is the most that ReadAt reads at once when it cannot read in place.
const bounceSize = 1 << 20

// ReadAt reads len(p) bytes at off, whatever the alignment. As io.ReaderAt asks,
// n < len(p) comes with an error, io.EOF at the end of the file. It is meant for
// headers and indexes; any goroutine may call it.
func (f *File) ReadAt(p []byte, off int64) (int, error) {
	if off < 0 || off > math.MaxInt64-int64(len(p)) {
		return 0, opError(f, off, len(p), unix.EINVAL)
	}
	if !f.acquire() {
		return 0, opError(f, off, len(p), os.ErrClosed)
	}
	defer func() { _ = f.release() }()
	var bounce []byte
	for n := 0; n < len(p); {
		m, err := f.readPiece(p[n:], off+int64(n), &bounce)
		if err != nil {
			return n, opError(f, off, len(p), err)
		}
		if m == 0 {
			return n, io.EOF
		}
		n += m
	}
	return len(p), nil
}

// readPiece reads the first bytes of p, in place where the alignment allows it.
func (f *File) readPiece(p []byte, off int64, bounce *[]byte) (int, error) {
	align := f.Align()
	if whole := len(p) &^ (align - 1); whole > 0 && aligned(p[:whole], off, align) {
		return f.pread(p[:whole], off)
	}
	start := off &^ int64(align-1)
	span := min(roundUp(int(off-start)+min(len(p), bounceSize), align), bounceSize)
	if *bounce == nil {
		*bounce = alignedBytes(span, align)
	}
	b := (*bounce)[:min(span, len(*bounce))]
	n, err := f.pread(b, start)
	return copy(p, b[min(int(off-start), n):n]), err
}

// pread is pread(2), repeated when interrupted and when O_DIRECT is refused.
func (f *File) pread(p []byte, off int64) (int, error) {
	for {
		direct := f.Direct()
		n, err := unix.Pread(f.fd, p, off)
		switch {
		case err == unix.EINTR:
		case err != nil && isRefusal(err) && direct && f.refuseDirect():
		case err != nil:
			return 0, err
		default:
			return n, nil
		}
	}
}

// aligned reports whether a direct read of b at off is allowed; align is a
// power of two.
func aligned(b []byte, off int64, align int) bool {
	addr := uintptr(unsafe.Pointer(unsafe.SliceData(b)))
	return (addr|uintptr(len(b))|uintptr(off))&uintptr(align-1) == 0
}

func roundUp(n, align int) int { return (n + align - 1) &^ (align - 1) }

// alignedBytes makes a buffer on the Go heap, which does not move what it holds.
func alignedBytes(n, align int) []byte {
	b := make([]byte, n+align)
	skip := int(-uintptr(unsafe.Pointer(unsafe.SliceData(b))) & uintptr(align-1))
	return b[skip : skip+n : skip+n]
}
