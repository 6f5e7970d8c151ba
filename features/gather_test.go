package features

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"runtime"
	"sync"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/aether-ooc/aether-ooc/blockcache"
	"github.com/aether-ooc/aether-ooc/internal/base"
	"github.com/aether-ooc/aether-ooc/internal/faultio"
	"github.com/aether-ooc/aether-ooc/internal/npy"
	"github.com/aether-ooc/aether-ooc/layout"
	"github.com/aether-ooc/aether-ooc/uring"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

var graphID = base.Fingerprint{1, 2, 3}

// array is a .npy with random values, and the same in memory.
type array struct {
	header, values []byte
	rows           int64
	rowBytes       int64
	shape          []int64
	dtype          string
}

func makeArray(dtype string, size int64, shape ...int64) array {
	a := array{header: npy.AppendHeader(nil, dtype, shape), rows: shape[0], rowBytes: size, shape: shape, dtype: dtype}
	for _, d := range shape[1:] {
		a.rowBytes *= d
	}
	dice := rand.New(rand.NewPCG(uint64(shape[0]), uint64(size)))
	a.values = make([]byte, a.rows*a.rowBytes)
	for i := range a.values {
		a.values[i] = byte(dice.Uint32())
	}
	return a
}

// naive is what Gather must give, read one row after the other.
func (a array) naive(rows []int64) []byte {
	var b []byte
	for _, r := range rows {
		b = append(b, a.values[r*a.rowBytes:(r+1)*a.rowBytes]...)
	}
	return b
}

func (a array) bytes() []byte { return append(bytes.Clone(a.header), a.values...) }

func write(t testing.TB, name string, b []byte) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), name)
	require.NoError(t, os.WriteFile(path, b, 0o600))
	return path
}

// seal writes the sums of the file at path and returns its hash.
func seal(t testing.TB, path string, fp base.Fingerprint) string {
	t.Helper()
	b, err := os.ReadFile(path)
	require.NoError(t, err)
	f, err := os.Create(layout.SumsPath(path))
	require.NoError(t, err)
	w := layout.NewSumsWriter(f, fp)
	_, err = w.Write(b)
	require.NoError(t, err)
	_, hash, err := w.Finish()
	require.NoError(t, err)
	require.NoError(t, f.Close())
	return hash
}

// withLanes runs work in each of c.Lanes lanes of a cache that knows s.
func withLanes(t testing.TB, s *Source, c blockcache.Config, plan *faultio.Plan, work func(i int, l *blockcache.Lane)) blockcache.Counters {
	t.Helper()
	cache, err := blockcache.New(c)
	require.NoError(t, err)
	s.AddTo(cache)
	var done sync.WaitGroup
	for i := range max(1, c.Lanes) {
		done.Go(func() {
			runtime.LockOSThread()
			ring, err := uring.Open(uring.Config{Depth: 32})
			if err != nil {
				t.Error(err)
				return
			}
			if plan != nil {
				ring = faultio.Wrap(ring, plan)
			}
			work(i, cache.NewLane(ring))
			if n := ring.InFlight(); n != 0 || ring.Close() != nil {
				t.Errorf("%d reads in flight at the end", n)
			}
		})
	}
	done.Wait()
	n := cache.Stats().Files[s.File()]
	require.NoError(t, cache.Close())
	return n
}

func openSource(t testing.TB, path string, o Options) *Source {
	t.Helper()
	s, err := Open(path, o)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, s.Close()) })
	return s
}

// gatherSame gathers rows and compares them with the naive reading.
func gatherSame(t testing.TB, l *blockcache.Lane, s *Source, a array, rows []int64) {
	t.Helper()
	dst := make([]byte, int64(len(rows))*s.RowBytes())
	if err := s.Gather(context.Background(), l, rows, dst); err != nil {
		t.Error(err)
	} else if !bytes.Equal(dst, a.naive(rows)) {
		t.Errorf("%d rows of %d bytes differ from a naive reading", len(rows), s.RowBytes())
	}
}

// choices are lists of rows as batches bring them.
func choices(n int64) map[string][]int64 {
	dice := rand.New(rand.NewPCG(5, uint64(n)))
	random := func(k int, below int64) (rows []int64) {
		for range k {
			rows = append(rows, dice.Int64N(below))
		}
		return rows
	}
	all := make([]int64, n)
	for i := range all {
		all[i] = n - 1 - int64(i)
	}
	return map[string][]int64{
		"none": nil, "first": {0}, "last": {n - 1}, "ends": {n - 1, 0, n - 1},
		"all, backwards": all, "random": random(int(n)/3+1, n), "one hub": random(500, 1), "few hubs": random(500, min(n, 3)),
	}
}

// TestGather: rows of all widths, from a value of one byte to several blocks,
// whatever the cache and its lanes.
func TestGather(t *testing.T) {
	for _, a := range []array{
		makeArray("bool", 1, 10_000),
		makeArray("int64", 8, 3000),
		makeArray("float16", 2, 2000, 7),
		makeArray("float32", 4, 700, 100),
		makeArray("float64", 8, 100, 512),     // a block each, shifted by the header
		makeArray("uint8", 1, 30, 3*4096+1),   // over four blocks or five
		makeArray("int32", 4, 50, 3, 5, 2, 7), // an attribute
		makeArray("float32", 4, 1, 1),
	} {
		for _, c := range []blockcache.Config{
			{Slots: 1}, {Slots: 64, Lanes: 2}, {Slots: 300, Merge: 8}, {Slots: 4000, Lanes: 2, Policy: blockcache.PolicyClock},
		} {
			t.Run(fmt.Sprintf("%s%v/%d", a.dtype, a.shape, c.Slots), func(t *testing.T) {
				s := openSource(t, write(t, "x.npy", a.bytes()), Options{Role: layout.Attr, Nodes: uint64(a.rows)})
				require.Equal(t, a.rowBytes, s.RowBytes())
				require.Equal(t, a.dtype, s.DType())
				require.Equal(t, a.shape[1:], append([]int64{}, s.Dims()...))
				require.False(t, s.Checked())
				require.Zero(t, s.Bytes())
				withLanes(t, s, c, nil, func(_ int, l *blockcache.Lane) {
					for _, rows := range choices(a.rows) {
						gatherSame(t, l, s, a, rows)
					}
				})
			})
		}
	}
}

// TestEachBlockOnce: repeats and neighbours cost no read of their own.
func TestEachBlockOnce(t *testing.T) {
	a := makeArray("float32", 4, 500, 64) // 16 rows a block
	s := openSource(t, write(t, "x.npy", a.bytes()), Options{Nodes: 500})
	n := withLanes(t, s, blockcache.Config{Slots: 4}, nil, func(_ int, l *blockcache.Lane) {
		gatherSame(t, l, s, a, []int64{499, 3, 4, 3, 3, 5, 499, 498})
	})
	require.EqualValues(t, 2, n.Reads)
	require.EqualValues(t, 2, n.Asked())

	blocks := int64(len(a.bytes())+base.BlockSize-1) / base.BlockSize
	n = withLanes(t, s, blockcache.Config{Slots: 4}, nil, func(_ int, l *blockcache.Lane) {
		gatherSame(t, l, s, a, choices(500)["all, backwards"])
	})
	require.Equal(t, blocks, n.Reads)

	n = withLanes(t, s, blockcache.Config{Slots: 4000, Merge: 8}, nil, func(_ int, l *blockcache.Lane) {
		gatherSame(t, l, s, a, choices(500)["all, backwards"])
	})
	require.Equal(t, (blocks+7)/8, n.Reads)
}

// TestNoBytes: rows without values need no read.
func TestNoBytes(t *testing.T) {
	a := makeArray("float32", 4, 5, 0)
	s := openSource(t, write(t, "x.npy", a.bytes()), Options{Nodes: 5})
	n := withLanes(t, s, blockcache.Config{Slots: 4}, nil, func(_ int, l *blockcache.Lane) {
		require.NoError(t, s.Gather(context.Background(), l, []int64{4, 0}, nil))
		require.ErrorIs(t, s.Gather(context.Background(), l, []int64{5}, nil), ErrRange)
	})
	require.Zero(t, n.Asked())
	openSource(t, write(t, "none.npy", makeArray("float32", 4, 0, 3).bytes()), Options{})
}

func TestGatherRefuses(t *testing.T) {
	a := makeArray("float32", 4, 10, 2)
	s := openSource(t, write(t, "x.npy", a.bytes()), Options{Nodes: 10})
	withLanes(t, s, blockcache.Config{Slots: 4}, nil, func(_ int, l *blockcache.Lane) {
		gather := func(rows []int64, room int) error {
			return s.Gather(context.Background(), l, rows, make([]byte, room))
		}
		require.ErrorIs(t, gather([]int64{10}, 8), ErrRange)
		require.ErrorIs(t, gather([]int64{0, -1}, 16), ErrRange)
		require.ErrorContains(t, gather([]int64{0}, 7), "take 8 bytes, not 7")
		ctx, cancel := context.WithCancel(context.Background())
		cancel()
		require.ErrorIs(t, s.Gather(ctx, l, []int64{0}, make([]byte, 8)), context.Canceled)
	})
}

// TestStep: where a row and a place do not fit a word, rows go in portions.
func TestStep(t *testing.T) {
	for _, c := range []struct {
		rows int64
		want int
	}{{1, 1 << 32}, {1 << 31, 1 << 32}, {1 << 40, 1 << 23}, {1 << 62, 2}} {
		s := Source{rows: c.rows}
		require.Equal(t, c.want, s.step())
	}
}

// TestFailEachRead fails and shortens each read in turn: an error each time,
// and right rows from the next call.
func TestFailEachRead(t *testing.T) {
	a := makeArray("float32", 4, 300, 64)
	s := openSource(t, write(t, "x.npy", a.bytes()), Options{Nodes: 300})
	rows := choices(300)["random"]
	for k := int64(0); ; k++ {
		for _, plan := range []*faultio.Plan{faultio.FailAt(k, syscall.EIO), faultio.ShortenAt(k, 5)} {
			withLanes(t, s, blockcache.Config{Slots: 16, Merge: 1}, plan, func(_ int, l *blockcache.Lane) {
				dst := make([]byte, int64(len(rows))*s.RowBytes())
				err := s.Gather(context.Background(), l, rows, dst)
				if plan.Fired() == 0 {
					require.NoError(t, err)
					return
				}
				require.Error(t, err)
				require.ErrorContains(t, err, s.Path())
				gatherSame(t, l, s, a, rows)
			})
			if plan.Fired() == 0 {
				require.Greater(t, k, int64(15))
				return
			}
		}
	}
}

// TestAttachment: what build lays beside a graph is checked whole.
func TestAttachment(t *testing.T) {
	a := makeArray("uint16", 2, 900, 30)
	graph := filepath.Join(t.TempDir(), "graph.bin")
	about := layout.FeaturesAttachment()
	path := about.Path(graph)
	require.NoError(t, os.WriteFile(path, a.bytes(), 0o600))
	about.Hash = seal(t, path, graphID)
	about.DType, about.Shape, about.Bytes = BFloat16, []uint64{900, 30}, uint64(len(a.bytes()))
	sb := layout.Superblock{Nodes: 900, Fingerprint: graphID}

	s, err := OpenAttachment(graph, sb, about, uring.Direct, nil)
	require.NoError(t, err)
	require.True(t, s.Checked())
	require.Equal(t, BFloat16, s.DType())
	require.EqualValues(t, 30, s.Dim())
	require.EqualValues(t, 4*14, s.Bytes())
	withLanes(t, s, blockcache.Config{Slots: 4}, nil, func(_ int, l *blockcache.Lane) {
		gatherSame(t, l, s, a, choices(900)["random"])
	})
	require.NoError(t, s.Close())

	for name, spoil := range map[string]func(sb *layout.Superblock, a *layout.Attachment){
		"graph": func(sb *layout.Superblock, _ *layout.Attachment) { sb.Fingerprint[0]++ },
		"hash":  func(_ *layout.Superblock, a *layout.Attachment) { a.Hash = "00" },
		"dtype": func(_ *layout.Superblock, a *layout.Attachment) { a.DType = "uint32" },
		"shape": func(_ *layout.Superblock, a *layout.Attachment) { a.Shape = []uint64{900, 15} },
	} {
		t.Run(name, func(t *testing.T) {
			sb, about := sb, about
			spoil(&sb, &about)
			_, err := OpenAttachment(graph, sb, about, uring.Direct, nil)
			require.ErrorIs(t, err, ErrForeign)
			require.ErrorContains(t, err, path)
		})
	}
	require.NoError(t, os.Remove(layout.SumsPath(path)))
	_, err = OpenAttachment(graph, sb, about, uring.Direct, nil)
	require.ErrorIs(t, err, os.ErrNotExist)
}

// TestFlippedByte: wherever a byte of a file with sums is flipped, opening it
// or gathering its rows says so.
func TestFlippedByte(t *testing.T) {
	a := makeArray("float32", 4, 300, 20)
	good := a.bytes()
	path := write(t, "x.npy", good)
	seal(t, path, graphID)
	for at := 0; at < len(good); at += 331 {
		bad := bytes.Clone(good)
		bad[at] ^= 0x10
		require.NoError(t, os.WriteFile(path, bad, 0o600))
		s, err := Open(path, Options{Nodes: 300, Fingerprint: graphID})
		if err == nil {
			withLanes(t, s, blockcache.Config{Slots: 8}, nil, func(_ int, l *blockcache.Lane) {
				err = s.Gather(context.Background(), l, choices(300)["all, backwards"], make([]byte, len(a.values)))
			})
			require.NoError(t, s.Close())
		}
		var corrupt *layout.CorruptError
		require.True(t, errors.As(err, &corrupt), "byte %d: %v", at, err)
		require.Equal(t, path, corrupt.File)
		require.EqualValues(t, at/base.BlockSize, corrupt.Block)
	}
	require.NoError(t, os.WriteFile(path, good[:len(good)-1], 0o600))
	_, err := Open(path, Options{Nodes: 300, Fingerprint: graphID})
	require.ErrorIs(t, err, layout.ErrCorrupt)
}

// TestConcurrentLanes: lanes share a Source, reordered completions included.
func TestConcurrentLanes(t *testing.T) {
	a := makeArray("float32", 4, 2000, 50)
	s := openSource(t, write(t, "x.npy", a.bytes()), Options{Nodes: 2000})
	withLanes(t, s, blockcache.Config{Slots: 40, Lanes: 4}, faultio.Shuffle(1, 3), func(i int, l *blockcache.Lane) {
		dice := rand.New(rand.NewPCG(9, uint64(i)))
		for range 20 {
			rows := make([]int64, dice.IntN(300))
			for j := range rows {
				rows[j] = dice.Int64N(a.rows)
			}
			gatherSame(t, l, s, a, rows)
		}
	})
}

func BenchmarkGather(b *testing.B) {
	a := makeArray("float32", 4, 100_000, 32)
	path := write(b, "x.npy", a.bytes())
	s := openSource(b, path, Options{Nodes: 100_000, Mode: uring.Buffered})
	rows := choices(a.rows)["random"]
	dst := make([]byte, int64(len(rows))*s.RowBytes())
	withLanes(b, s, blockcache.Config{Slots: 4096, Policy: blockcache.PolicyClock}, nil, func(_ int, l *blockcache.Lane) {
		_ = s.Gather(context.Background(), l, rows, dst)
		b.ReportAllocs()
		b.SetBytes(int64(len(dst)))
		b.ResetTimer()
		for range b.N {
			_ = s.Gather(context.Background(), l, rows, dst)
		}
		b.StopTimer()
	})
}
