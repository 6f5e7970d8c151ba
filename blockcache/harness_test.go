package blockcache

import (
	"bytes"
	"context"
	"encoding/binary"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"sync"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/aether-ooc/aether-ooc/internal/base"
	"github.com/aether-ooc/aether-ooc/uring"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// content is what block no of a test's file number f holds: a word that names
// file, block and place, over and over.
func content(f int, no base.BlockNo) []byte {
	b := make([]byte, 0, base.BlockSize)
	for i := range uint64(base.BlockSize / 8) {
		b = binary.LittleEndian.AppendUint64(b, uint64(f)<<48^uint64(no)<<16^i^0x5a5a5a5a5a5a5a5a)
	}
	return b
}

// bytesOf is a file's content up to the end of its last block: zeros past size.
func bytesOf(f int, size int64) []byte {
	var b []byte
	for no := base.BlockNo(0); int64(no.Off()) < size; no++ {
		b = append(b, content(f, no)...)
	}
	clear(b[size:])
	return b
}

// makeFile writes a file and opens it.
func makeFile(t testing.TB, f int, b []byte) *uring.File {
	t.Helper()
	path := filepath.Join(t.TempDir(), fmt.Sprintf("file%d", f))
	require.NoError(t, os.WriteFile(path, b, 0o600))
	file, err := uring.OpenFile(path, uring.Direct)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, file.Close()) })
	return file
}

// rig is a cache over files with known content.
type rig struct {
	t     testing.TB
	cache *Cache
	files []*uring.File
	bytes [][]byte // of each file
}

func newRig(t testing.TB, c Config, sizes ...int64) *rig {
	t.Helper()
	cache, err := New(c)
	require.NoError(t, err)
	r := &rig{t: t, cache: cache}
	for _, size := range sizes {
		r.addFile(size)
	}
	t.Cleanup(r.close)
	return r
}

func (r *rig) addFile(size int64) {
	i := len(r.files)
	r.bytes = append(r.bytes, bytesOf(i, size))
	r.files = append(r.files, makeFile(r.t, i, r.bytes[i][:size]))
	require.Equal(r.t, FileID(i), r.cache.AddFile(r.files[i], nil))
}

// close shows that nothing is held, and that the cache is in order.
func (r *rig) close() {
	require.Zero(r.t, r.cache.pinned())
	require.NoError(r.t, r.cache.audit())
	require.NoError(r.t, r.cache.Close())
}

func (r *rig) blocks(f int) base.BlockNo { return base.BlockNo(len(r.bytes[f]) / base.BlockSize) }

// lanes runs one goroutine per lane, each with a ring of its own that has no
// read in flight at the end.
func (r *rig) lanes(kind string, p *plan, work func(i int, l *Lane)) {
	var done sync.WaitGroup
	for i := range r.cache.cfg.Lanes {
		done.Add(1)
		go func() {
			defer done.Done()
			runtime.LockOSThread()
			ring := openRing(r.t, kind, p, uint64(i), r.cache.Arena())
			work(i, r.cache.NewLane(ring))
			if p == nil || p.breaks == 0 {
				assert.Zero(r.t, ring.InFlight())
			}
			assert.NoError(r.t, ring.Close())
		}()
	}
	done.Wait()
}

// lane is lanes for one.
func (r *rig) lane(p *plan, work func(l *Lane)) {
	r.lanes("fake", p, func(_ int, l *Lane) { work(l) })
}

// visit checks that each block of the list is shown once, with its bytes.
func (r *rig) visit(l *Lane, f int, list []base.BlockNo) error {
	seen := make([]bool, len(list))
	err := l.Visit(context.Background(), FileID(f), list, func(i int, b []byte) error {
		if seen[i] {
			r.t.Errorf("file %d: block %d was shown twice", f, list[i])
		}
		seen[i] = true
		if !bytes.Equal(b, r.bytes[f][list[i].Off():][:base.BlockSize]) {
			r.t.Errorf("file %d: block %d has other bytes", f, list[i])
		}
		return nil
	})
	if err == nil && slices.Contains(seen, false) {
		r.t.Errorf("file %d: block %d of %v was not shown", f, slices.Index(seen, false), list)
	}
	return err
}

func all(n base.BlockNo) []base.BlockNo {
	list := make([]base.BlockNo, n)
	for i := range list {
		list[i] = base.BlockNo(i)
	}
	return list
}

// some is an ascending choice of about n/every blocks below n.
func some(dice *rand.Rand, n base.BlockNo, every int) []base.BlockNo {
	var list []base.BlockNo
	for no := range n {
		if dice.IntN(every) == 0 {
			list = append(list, no)
		}
	}
	return list
}
