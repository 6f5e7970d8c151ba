//go:build linux

package uring

import (
	"bytes"
	"io"
	"log/slog"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"testing/iotest"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"
)

// captureLog takes over slog's default; the function counts the lines that
// contain a word.
func captureLog(t *testing.T) func(word string) int {
	t.Helper()
	log, count := countingLog()
	old := slog.Default()
	slog.SetDefault(log)
	t.Cleanup(func() { slog.SetDefault(old) })
	return count
}

func countingLog() (log *slog.Logger, count func(word string) int) {
	var mu sync.Mutex
	var out bytes.Buffer
	return slog.New(slog.NewTextHandler(lockedWriter{&mu, &out}, nil)), func(word string) int {
		mu.Lock()
		defer mu.Unlock()
		n := 0
		for line := range strings.Lines(out.String()) {
			if strings.Contains(line, word) {
				n++
			}
		}
		return n
	}
}

type lockedWriter struct {
	mu *sync.Mutex
	w  io.Writer
}

func (l lockedWriter) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.w.Write(p)
}

func TestReadAt(t *testing.T) {
	data := content(1<<20 + 1234)
	rng := rand.New(rand.NewPCG(12, 13))
	for place, f := range places(t) {
		t.Run(place, func(t *testing.T) {
			require.EqualValues(t, len(data), f.Size())
			require.NoError(t, iotest.TestReader(io.NewSectionReader(f, 5000, 2000), data[5000:7000]))
			for range 300 {
				off, n := rng.IntN(len(data)+5000), rng.IntN(20_000)
				p := make([]byte, n)
				got, err := f.ReadAt(p, int64(off))
				want := data[min(off, len(data)):min(off+n, len(data))]
				require.Equal(t, len(want), got)
				require.True(t, bytes.Equal(want, p[:got]))
				if got < n {
					require.ErrorIs(t, err, io.EOF)
				} else {
					require.NoError(t, err)
				}
			}
		})
	}
}

// In place where the buffer is aligned, by pieces where more than a bounce
// buffer is asked for.
func TestReadAtLarge(t *testing.T) {
	data := content(3*bounceSize + 77)
	f := tempFile(t, t.TempDir(), data, Direct)
	for _, skip := range []int{0, 1, 512, 4095} {
		p := alignedBytes(len(data)+block, block)[skip:]
		for _, off := range []int{0, 1, 4096, bounceSize + 3} {
			n, err := f.ReadAt(p, int64(off))
			require.ErrorIs(t, err, io.EOF)
			require.Equal(t, len(data)-off, n)
			require.True(t, bytes.Equal(data[off:], p[:n]))
		}
	}
}

func TestReadAtErrors(t *testing.T) {
	f := tempFile(t, t.TempDir(), content(block), Direct)
	for _, off := range []int64{-1, 1<<63 - 1} {
		_, err := f.ReadAt(make([]byte, 10), off)
		require.ErrorIs(t, err, unix.EINVAL)
	}
	require.NoError(t, f.Close())
	_, err := f.ReadAt(make([]byte, 10), 0)
	require.ErrorIs(t, err, os.ErrClosed)
	require.ErrorContains(t, err, f.Path())
}

func TestOpenFileRefusals(t *testing.T) {
	dir := t.TempDir()
	pipe := filepath.Join(dir, "pipe")
	require.NoError(t, unix.Mkfifo(pipe, 0o600))
	for _, c := range []struct {
		path string
		want error
	}{
		{filepath.Join(dir, "none"), os.ErrNotExist},
		{dir, unix.EISDIR},
		{pipe, unix.EINVAL},
		{"/dev/null", unix.EINVAL},
	} {
		for _, m := range []Mode{Direct, DirectOnly, Buffered} {
			_, err := OpenFile(c.path, m)
			require.ErrorIs(t, err, c.want)
			require.ErrorContains(t, err, c.path)
		}
	}
}

// sysfs knows no O_DIRECT and says so at open.
func TestDirectRefusedAtOpen(t *testing.T) {
	const path = "/sys/kernel/mm/transparent_hugepage/enabled"
	want, err := os.ReadFile(path)
	if err != nil {
		t.Skip("no file of sysfs to read: ", err)
	}
	warnings := captureLog(t)
	for range 2 {
		f, err := OpenFile(path, Direct)
		require.NoError(t, err)
		require.False(t, f.Direct())
		got := make([]byte, len(want))
		_, err = f.ReadAt(got, 0)
		require.NoError(t, err)
		require.Equal(t, want, got)
		require.NoError(t, f.Close())
	}
	require.Equal(t, 1, warnings(path), "one warning for a path")
	warnedPaths.Delete(path)
	log, told := countingLog()
	f, err := OpenFile(path, Direct, WarnTo(log))
	require.NoError(t, err)
	require.NoError(t, f.Close())
	require.Equal(t, []int{1, 1}, []int{warnings(path), told(path)}, "the second to the logger that was given")
	_, err = OpenFile(path, DirectOnly)
	require.ErrorIs(t, err, ErrUnsupported)
	require.ErrorContains(t, err, path)
}

func TestDirectIsDirect(t *testing.T) {
	f := tempFile(t, t.TempDir(), content(block), DirectOnly)
	require.True(t, f.Direct())
	require.LessOrEqual(t, f.Align(), block)
	flags, err := unix.FcntlInt(uintptr(f.fd), unix.F_GETFL, 0)
	require.NoError(t, err)
	require.NotZero(t, flags&unix.O_DIRECT)
	require.Equal(t, 1, tempFile(t, t.TempDir(), nil, Buffered).Align())
}
