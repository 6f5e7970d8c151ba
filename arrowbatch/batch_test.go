package arrowbatch

import (
	"encoding/binary"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"testing"
	"unsafe"

	"github.com/apache/arrow/go/v17/arrow"
	"github.com/apache/arrow/go/v17/arrow/array"
	"github.com/apache/arrow/go/v17/arrow/memory"
	"github.com/stretchr/testify/require"
	"github.com/zeebo/xxh3"
	"go.uber.org/goleak"

	"github.com/aether-ooc/aether-ooc/engine"
	"github.com/aether-ooc/aether-ooc/internal/base"
	"github.com/aether-ooc/aether-ooc/internal/host"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// testGraph says what a graph with a column of every dtype gives.
func testGraph() (engine.Info, engine.Request) {
	info := engine.Info{Features: &engine.TableInfo{DType: "float32", Dim: 5}}
	r := engine.Request{EdgeIDs: true, Features: true}
	for dtype := range dtypes {
		info.Attrs = append(info.Attrs, engine.TableInfo{Name: "a_" + dtype, DType: dtype, Dim: int64(len(dtype) % 3)})
		r.Attrs = append(r.Attrs, "a_"+dtype)
	}
	return info, r
}

func randomInts(rnd *rand.Rand, n int) []int64 {
	list := make([]int64, n)
	for i := range list {
		list[i] = int64(rnd.Uint64())
	}
	return list
}

func randomRows(rnd *rand.Rand, c engine.TableInfo, n int) engine.Rows {
	data := make([]byte, n*int(max(1, c.Dim))*dtypes[c.DType].Bytes())
	for i := range data {
		data[i] = byte(rnd.Uint32())
	}
	return engine.Rows{Data: data, Dim: c.Dim, DType: c.DType}
}

func randomBatch(rnd *rand.Rand, info engine.Info, nodes, edges, hops int) *engine.Batch {
	b := &engine.Batch{Index: base.BatchIdx(rnd.Int64()), Epoch: rnd.Uint64(), InputID: randomInts(rnd, nodes/2)}
	b.NID, b.Row, b.Col, b.EID = randomInts(rnd, nodes), randomInts(rnd, edges), randomInts(rnd, edges), randomInts(rnd, edges)
	b.SampledNodes, b.SampledEdges, b.Seeds = randomInts(rnd, hops+1), randomInts(rnd, hops), nodes/2
	binary.LittleEndian.PutUint64(b.Fingerprint[3:], rnd.Uint64())
	binary.LittleEndian.PutUint64(b.ContentID[5:], rnd.Uint64())
	b.Generator = fmt.Sprintf("generator/%d", rnd.Uint32())
	b.X = randomRows(rnd, *info.Features, nodes)
	for _, c := range info.Attrs {
		b.Attrs = append(b.Attrs, engine.Attr{Name: c.Name, Rows: randomRows(rnd, c, nodes)})
	}
	return b
}

// plain is what a batch says, short: its counts and a hash of the rest. Nil and
// empty lists are the same.
func plain(b *engine.Batch) string {
	all := fmt.Sprint(b.Subgraph, b.Index, b.Epoch, b.InputID, b.X, b.Attrs, b.Fingerprint, b.ContentID, b.Generator)
	return fmt.Sprintf("batch %d: %d nodes, %d edges, %x", b.Index, len(b.NID), len(b.Row), xxh3.HashString(all))
}

func checked(t *testing.T) *memory.CheckedAllocator {
	mem := memory.NewCheckedAllocator(memory.NewGoAllocator())
	t.Cleanup(func() { mem.AssertSize(t, 0) })
	return mem
}

var shapes = [][3]int{{0, 0, 0}, {1, 0, 1}, {2, 3, 1}, {7, 1, 2}, {64, 64, 3}, {1000, 4321, 2}}

func TestDecodeUndoesEncode(t *testing.T) {
	info, r := testGraph()
	mem := checked(t)
	enc, err := NewEncoder(info, r, mem)
	require.NoError(t, err)
	rnd := rand.New(rand.NewPCG(1, 2))
	for _, s := range shapes {
		b := randomBatch(rnd, info, s[0], s[1], s[2])
		rec := enc.Encode(b)
		got, err := Decode(rec)
		require.NoError(t, err)
		require.Equal(t, plain(b), plain(got))
		require.True(t, rec.Schema().Equal(enc.Schema()))
		rec.Release()
	}
}

func TestDecodeFindsTheRow(t *testing.T) {
	info, r := testGraph()
	mem := checked(t)
	enc, err := NewEncoder(info, r, mem)
	require.NoError(t, err)
	rnd := rand.New(rand.NewPCG(3, 4))
	a, b := randomBatch(rnd, info, 9, 20, 2), randomBatch(rnd, info, 4, 5, 2)
	two := concatenate(t, mem, enc.Encode(a), enc.Encode(b))
	defer two.Release()
	_, err = Decode(two)
	require.ErrorContains(t, err, "2 rows")
	for i, want := range []*engine.Batch{a, b} {
		row := two.NewSlice(int64(i), int64(i+1))
		got, err := Decode(row)
		require.NoError(t, err)
		require.Equal(t, plain(want), plain(got))
		row.Release()
	}
}

// concatenate joins records, which it releases, column by column.
func concatenate(t *testing.T, mem memory.Allocator, recs ...arrow.Record) arrow.Record {
	var cols []arrow.Array
	for i := range recs[0].NumCols() {
		var parts []arrow.Array
		for _, rec := range recs {
			parts = append(parts, rec.Column(int(i)))
		}
		col, err := array.Concatenate(parts, mem)
		require.NoError(t, err)
		defer col.Release()
		cols = append(cols, col)
	}
	for _, rec := range recs {
		defer rec.Release()
	}
	return array.NewRecord(recs[0].Schema(), cols, int64(len(recs)))
}

func TestDecodeRefusesOthers(t *testing.T) {
	info, r := testGraph()
	mem := checked(t)
	enc, err := NewEncoder(info, r, mem)
	require.NoError(t, err)
	rec := enc.Encode(randomBatch(rand.New(rand.NewPCG(5, 6)), info, 3, 3, 1))
	defer rec.Release()
	for i := range rec.NumCols() {
		name := rec.ColumnName(int(i))
		fields := rec.Schema().Fields()
		fields[i].Name = "other"
		broken := array.NewRecord(arrow.NewSchema(fields, nil), rec.Columns(), 1)
		got, err := Decode(broken)
		if err == nil { // optional columns: then the batch is without them
			require.NotEqual(t, plain(got), plain(must(Decode(rec))), name)
		}
		broken.Release()
	}
}

func must[T any](v T, err error) T {
	if err != nil {
		panic(err)
	}
	return v
}

// counting counts the allocations that reach it.
type counting struct {
	memory.Allocator
	calls int
}

func (c *counting) Allocate(n int) []byte {
	c.calls++
	return c.Allocator.Allocate(n)
}

func TestEncodeAllocatesOnceAndAligns(t *testing.T) {
	info, r := testGraph()
	mem := &counting{Allocator: checked(t)}
	enc, err := NewEncoder(info, r, mem)
	require.NoError(t, err)
	rec := enc.Encode(randomBatch(rand.New(rand.NewPCG(7, 8)), info, 33, 77, 2))
	defer rec.Release()
	require.Equal(t, 1, mem.calls)
	for i := range rec.NumCols() {
		data := rec.Column(int(i)).Data()
		for _, d := range append(data.Children(), data) {
			for _, b := range d.Buffers() {
				if b != nil {
					require.Zero(t, uintptr(unsafe.Pointer(unsafe.SliceData(b.Bytes())))%align, rec.ColumnName(int(i)))
				}
			}
		}
	}
}

func TestBuffersOutliveTheirRecord(t *testing.T) {
	info, r := testGraph()
	mem := checked(t)
	enc, err := NewEncoder(info, r, mem)
	require.NoError(t, err)
	b := randomBatch(rand.New(rand.NewPCG(9, 10)), info, 10, 10, 1)
	rec := enc.Encode(b)
	col := rec.Column(1)
	col.Retain()
	rec.Release()
	require.NotZero(t, mem.CurrentAlloc())
	require.Equal(t, b.NID, col.(*array.LargeList).ListValues().(*array.Int64).Int64Values())
	col.Release()
}

func TestRecycler(t *testing.T) {
	under := &counting{Allocator: checked(t)}
	r := NewRecycler(under, 1)
	a := r.Allocate(1000)
	require.Len(t, a, 1000)
	r.Free(a)
	b := r.Allocate(1001) // within the room that the first was given
	require.Equal(t, 1, under.calls)
	require.Same(t, &a[0], &b[0])
	c := r.Allocate(10)
	require.Equal(t, 2, under.calls)
	r.Free(b)
	r.Free(c) // one too many: given up
	d := r.Allocate(1 << 20)
	require.Equal(t, 3, under.calls)
	copy(d, "kept")
	d = r.Reallocate(4<<20, d)
	require.Equal(t, "kept", string(d[:4]))
	r.Close()
	r.Free(d)
}

func TestFile(t *testing.T) {
	info, r := testGraph()
	dir := t.TempDir()
	path := filepath.Join(dir, "batches.arrow")
	for range 2 { // the second takes the place of the first
		f, err := Create(path, info, r)
		require.NoError(t, err)
		defer f.Abort()
		rnd := rand.New(rand.NewPCG(11, 12))
		var want []string
		for _, s := range shapes {
			b := randomBatch(rnd, info, s[0], s[1], s[2])
			want = append(want, plain(b))
			require.NoError(t, f.Write(b))
		}
		require.NoError(t, f.Commit())
		require.Equal(t, want, readBack(t, path))
	}
	require.Equal(t, []string{"batches.arrow"}, listing(t, dir))
}

func TestFileWithoutBatches(t *testing.T) {
	info, r := testGraph()
	path := filepath.Join(t.TempDir(), "none.arrow")
	f, err := Create(path, info, r)
	require.NoError(t, err)
	require.NoError(t, f.Commit())
	require.Empty(t, readBack(t, path))
}

func readBack(t *testing.T, path string) (got []string) {
	for b, err := range ReadFile(path) {
		require.NoError(t, err)
		got = append(got, plain(b))
	}
	return got
}

func listing(t *testing.T, dir string) (names []string) {
	entries, err := os.ReadDir(dir)
	require.NoError(t, err)
	for _, e := range entries {
		names = append(names, e.Name())
	}
	return names
}

func TestFailedFileLeavesNothing(t *testing.T) {
	info, r := testGraph()
	dir := t.TempDir()
	f, err := Create(filepath.Join(dir, "a.arrow"), info, r)
	require.NoError(t, err)
	require.Len(t, listing(t, dir), 1)
	f.Abort()
	f.Abort()
	require.Empty(t, listing(t, dir))

	f, err = Create(filepath.Join(dir, "taken"), info, r)
	require.NoError(t, err)
	require.NoError(t, os.MkdirAll(filepath.Join(dir, "taken", "full"), 0o755))
	require.ErrorContains(t, f.Commit(), "taken")
	require.Equal(t, []string{"taken"}, listing(t, dir))
	_, err = Create(filepath.Join(dir, "taken"), info, r)
	require.ErrorIs(t, err, host.ErrTarget, "said before the sampling, not after it")

	info.Path = filepath.Join(dir, "graph.bin")
	require.NoError(t, os.WriteFile(info.Path, []byte("precious"), 0o600))
	_, err = Create(info.Path, info, r)
	require.ErrorIs(t, err, host.ErrTarget)

	_, err = Create(filepath.Join(dir, "none", "a.arrow"), info, r)
	require.ErrorIs(t, err, os.ErrNotExist)
	for _, err := range ReadFile(filepath.Join(dir, "none")) {
		require.ErrorIs(t, err, os.ErrNotExist)
	}
}

func BenchmarkEncode(b *testing.B) {
	info := engine.Info{Features: &engine.TableInfo{DType: "float32", Dim: 100}}
	rnd := rand.New(rand.NewPCG(13, 14))
	batch := randomBatch(rnd, info, 50_000, 250_000, 2)
	for _, c := range []struct {
		name string
		mem  memory.Allocator
	}{{"fresh", memory.NewGoAllocator()}, {"recycled", NewRecycler(memory.NewGoAllocator(), 2)}} {
		b.Run(c.name, func(b *testing.B) {
			enc, err := NewEncoder(info, engine.Request{EdgeIDs: true, Features: true}, c.mem)
			require.NoError(b, err)
			b.SetBytes(int64(len(batch.X.Data) + 8*(50_000+3*250_000)))
			for b.Loop() {
				enc.Encode(batch).Release()
			}
		})
	}
}
