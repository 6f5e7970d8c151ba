//go:build linux

package spill

import (
	"bytes"
	"errors"
	"math/rand/v2"
	"os"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/aether-ooc/aether-ooc/internal/offheap"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// aligned is memory that O_DIRECT takes.
func aligned(t *testing.T, n int64) []byte {
	b, free, err := offheap.Reserve(n)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, free()) })
	return b
}

func temporary(t *testing.T) Disk {
	d, err := Temporary(t.TempDir())
	require.NoError(t, err)
	return d
}

func noise(seed uint64, p []byte) []byte {
	r := rand.New(rand.NewPCG(seed, 0))
	for i := range p {
		p[i] = byte(r.Uint32())
	}
	return p
}

func TestWhatIsAppendedIsRead(t *testing.T) {
	f := New(temporary(t), 3)
	var (
		mem  = aligned(t, 40*Page)
		offs []int64
		free = make(chan []byte, 2)
	)
	free <- mem[:10*Page]
	free <- mem[10*Page : 20*Page]
	for i := range uint64(30) {
		b := noise(i, <-free)
		off, err := f.Append(b[:(1+i%10)*Page], func() { free <- b })
		require.NoError(t, err)
		offs = append(offs, off)
	}
	require.NoError(t, f.Flush())
	for i, off := range offs {
		n := int64(1+i%10) * Page
		got := mem[20*Page:][:n]
		require.NoError(t, f.Read([]Piece{{off, got[:Page]}, {off + Page, got[Page:]}}))
		require.True(t, bytes.Equal(noise(uint64(i), make([]byte, 10*Page))[:n], got))
		require.NoError(t, f.Free(off, n))
	}
	total := int64(3*55) * Page
	require.Equal(t, Stats{Written: total, Read: total, Peak: total}, f.Stats())
	require.NoError(t, f.Close())
}

// What was freed takes no disk.
func TestHoles(t *testing.T) {
	dir := t.TempDir()
	d, err := Temporary(dir)
	require.NoError(t, err)
	f := New(d, 2)
	mem := aligned(t, 64*Page)
	off, err := f.Append(mem, func() {})
	require.NoError(t, err)
	require.NoError(t, f.Flush())
	before := blocks(t, d)
	require.NoError(t, f.Free(off, 60*Page))
	require.LessOrEqual(t, blocks(t, d), before-60*Page/512)
	require.NoError(t, f.Close())
	left, err := os.ReadDir(dir)
	require.NoError(t, err)
	require.Empty(t, left)
}

func blocks(t *testing.T, d Disk) int64 {
	st, err := d.(disk).Stat()
	require.NoError(t, err)
	return st.Sys().(*syscall.Stat_t).Blocks
}

// fullDisk has room for so many bytes, and fails the k-th write.
type fullDisk struct {
	Disk
	room   int64
	writes *atomic.Int64
}

var errGone = errors.New("gone")

func (d fullDisk) Grow(size int64) error {
	if size > d.room {
		return syscall.ENOSPC
	}
	return d.Disk.Grow(size)
}

func (d fullDisk) WriteAt(p []byte, off int64) (int, error) {
	if d.writes.Add(-1) == 0 {
		return 0, errGone
	}
	return d.Disk.WriteAt(p, off)
}

func TestAFullDiskIsMetByAppend(t *testing.T) {
	writes := &atomic.Int64{}
	f := New(fullDisk{temporary(t), 10 * Page, writes}, 2)
	mem := aligned(t, 4*Page)
	for range 2 {
		_, err := f.Append(mem, func() {})
		require.NoError(t, err, "the last bytes are had, though not in a large piece")
	}
	_, err := f.Append(mem, func() { t.Error("called") })
	require.ErrorIs(t, err, syscall.ENOSPC)
	require.NoError(t, f.Close())
}

func TestAFailedWriteIsTold(t *testing.T) {
	writes := &atomic.Int64{}
	writes.Store(3)
	f := New(fullDisk{temporary(t), 1 << 30, writes}, 2)
	mem := aligned(t, Page)
	var wg sync.WaitGroup
	var err error
	for range 100 {
		wg.Add(1)
		if _, err = f.Append(mem, wg.Done); err != nil {
			wg.Done()
			break
		}
	}
	wg.Wait()
	require.ErrorIs(t, err, errGone)
	require.ErrorIs(t, f.Flush(), errGone)
	require.NoError(t, f.Close())
}

func TestNoPlaceForAFile(t *testing.T) {
	_, err := Temporary(t.TempDir() + "/none")
	require.ErrorIs(t, err, os.ErrNotExist)
	require.ErrorContains(t, err, "another folder")
}

func TestOutputWritesAll(t *testing.T) {
	file, err := os.Create(t.TempDir() + "/f")
	require.NoError(t, err)
	defer file.Close()
	Direct(file)
	o, err := NewOutput(file, 2)
	require.NoError(t, err)
	want := noise(1, make([]byte, 5<<20+Page))
	at := int64(Page)
	for p := want[Page:]; len(p) > 0; {
		n := min(len(p), 7*Page+len(p)/3/Page*Page)
		k, err := o.WriteAt(p[:n], at)
		require.NoError(t, err)
		require.Equal(t, n, k)
		p, at = p[n:], at+int64(n)
	}
	_, err = o.WriteAt(want[:Page], 0)
	require.NoError(t, err)
	require.NoError(t, o.Close())
	require.NoError(t, o.Close())
	got, err := os.ReadFile(file.Name())
	require.NoError(t, err)
	require.True(t, bytes.Equal(want, got))
}

func TestOutputTellsOfFailures(t *testing.T) {
	writes := &atomic.Int64{}
	writes.Store(2)
	d := fullDisk{temporary(t), 0, writes}
	o, err := NewOutput(d, 2)
	require.NoError(t, err)
	for err == nil {
		_, err = o.WriteAt(make([]byte, Page), 0)
	}
	require.ErrorIs(t, err, errGone)
	require.ErrorIs(t, o.Close(), errGone)
	require.NoError(t, d.Close())
}
