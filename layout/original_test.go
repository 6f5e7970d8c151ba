package layout

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/aether-ooc/aether-ooc/internal/base"
	"github.com/aether-ooc/aether-ooc/internal/binfmt"
)

// writeNames gives the nodes names, in the order of their ids.
func writeNames(t testing.TB, w *Writer, seed uint64, names []string) {
	t.Helper()
	names = slices.Clone(names)
	slices.SortFunc(names, func(a, b string) int {
		return int(int64(binfmt.NameID([]byte(a), seed)) - int64(binfmt.NameID([]byte(b), seed)))
	})
	end := uint64(0)
	for _, name := range names {
		require.NoError(t, w.OriginalIDs([]base.NodeID{binfmt.NameID([]byte(name), seed)}))
	}
	for _, name := range names {
		end += uint64(len(name))
		require.NoError(t, w.NameEnds([]uint64{end}))
	}
	require.NoError(t, w.Names([]byte(strings.Join(names, ""))))
}

// sparse are n ids, ascending.
func sparse(r *rand.Rand, n int) []base.NodeID {
	own := map[base.NodeID]bool{0: true, 1<<31 - 1: true, 1 << 31: true, 1 << 32: true, 1<<53 + 1: true, 1<<63 - 2: true}
	for len(own) < n {
		own[base.NodeID(r.Uint64N(1<<63-1))] = true
	}
	var ids []base.NodeID
	for id := range own {
		ids = append(ids, id)
	}
	slices.Sort(ids)
	return ids
}

// column reads a column of original ids.
func (f *memFile) column(t testing.TB, g *Graph, column uint16) (values []uint64) {
	t.Helper()
	s, ok := g.Table.Find(KindOriginal, 0, column)
	require.True(t, ok)
	for i := range s.Values {
		no, slot := s.Place(i)
		require.NoError(t, g.CheckBlock(no, f.block(no)))
		values = append(values, s.Value(f.block(no), slot))
	}
	return values
}

func TestOriginalIDsAreKept(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	own := sparse(r, 5000)
	l := randomLists(r, 5000, 0.5, func() int { return 3 })
	c := WriterConfig{Nodes: 5000, InputEdges: l.edges(), EdgeIDs: EdgeIDsStored}
	plain := open(t, write(t, c, l, nil, 100)).Superblock
	c.Original = OriginalIDs
	f := writeWith(t, c, l, nil, 100, func(w *Writer) {
		for part := range slices.Chunk(own, 700) {
			require.NoError(t, w.OriginalIDs(part))
		}
	})
	g := open(t, f)
	require.Equal(t, OriginalIDs, g.Original())
	require.Equal(t, plain.Fingerprint, g.Superblock.Fingerprint)
	require.NotEqual(t, plain.ContentID, g.Superblock.ContentID)
	ids := f.column(t, g, ColOriginalIDs)
	for i, id := range ids {
		require.EqualValues(t, own[i], id)
	}
	h := NewContentHasher(EdgeIDsStored)
	h.Original(ids)
	require.Equal(t, g.Superblock.ContentID, g.ContentID(h))
}

func TestNamesAreKept(t *testing.T) {
	names := []string{"a", "Zürich", `"quoted", with comma`, strings.Repeat("long ", 3000), "日本"}
	c := WriterConfig{Nodes: 5, InputEdges: 1, EdgeIDs: EdgeIDsStored, Original: OriginalNames, NameSeed: 9}
	f := writeWith(t, c, lists{0: {4}}, nil, 1, func(w *Writer) { writeNames(t, w, 9, names) })
	g := open(t, f)
	require.Equal(t, OriginalNames, g.Original())
	var all []byte
	for _, b := range f.column(t, g, ColNames) {
		all = append(all, byte(b))
	}
	var got []string
	begin := uint64(0)
	for i, end := range f.column(t, g, ColNameEnds) {
		name := all[begin:end]
		require.EqualValues(t, binfmt.NameID(name, 9), f.column(t, g, ColOriginalIDs)[i])
		got, begin = append(got, string(name)), end
	}
	require.ElementsMatch(t, names, got)
	require.Equal(t, []uint64{9}, f.column(t, g, ColNameSeed))
	h := NewContentHasher(EdgeIDsStored)
	h.Original(f.column(t, g, ColOriginalIDs))
	h.Original(f.column(t, g, ColNameEnds))
	h.OriginalNames(all[:7])
	h.OriginalNames(all[7:])
	h.Original(f.column(t, g, ColNameSeed))
	require.Equal(t, g.Superblock.ContentID, g.ContentID(h))
}

func TestNoNodesKeepNoIDs(t *testing.T) {
	for _, o := range []Original{OriginalIDs, OriginalNames} {
		g := open(t, write(t, WriterConfig{Original: o}, lists{}, nil, 1))
		require.Equal(t, o, g.Original())
	}
}

func TestWriterRefusesOriginalIDsThatCannotBe(t *testing.T) {
	ids := func(x ...base.NodeID) func(*Writer) error { return func(w *Writer) error { return w.OriginalIDs(x) } }
	ends := func(x ...uint64) func(*Writer) error { return func(w *Writer) error { return w.NameEnds(x) } }
	bytes := func(s string) func(*Writer) error { return func(w *Writer) error { return w.Names([]byte(s)) } }
	for name, c := range map[string]struct {
		o     Original
		steps []func(*Writer) error
		want  string
	}{
		"not asked for":   {NoOriginal, []func(*Writer) error{ids(1)}, "keeps none"},
		"names of ids":    {OriginalIDs, []func(*Writer) error{ids(1, 2), ends(1)}, "keeps ids"},
		"too few":         {OriginalIDs, []func(*Writer) error{ids(1)}, "1 values, it must have 2"},
		"too many":        {OriginalIDs, []func(*Writer) error{ids(1, 2, 3)}, "3 values, it must have 2"},
		"twice":           {OriginalIDs, []func(*Writer) error{ids(1), ids(1)}, "1 after 1"},
		"descending":      {OriginalIDs, []func(*Writer) error{ids(2, 1)}, "1 after 2"},
		"too large":       {OriginalIDs, []func(*Writer) error{ids(1, 1<<63-1)}, "after 1"},
		"empty name":      {OriginalNames, []func(*Writer) error{ids(1, 2), ends(0)}, "ends at 0"},
		"missing name":    {OriginalNames, []func(*Writer) error{ids(1, 2), ends(3), bytes("abc")}, "1 values, it must have 2"},
		"missing bytes":   {OriginalNames, []func(*Writer) error{ids(1, 2), ends(3, 4), bytes("abc")}, "3 values, it must have 4"},
		"ids after names": {OriginalNames, []func(*Writer) error{ids(1, 2), ends(3, 4), ids(5)}, "column 1 after column 2"},
	} {
		t.Run(name, func(t *testing.T) {
			w, err := NewWriter(&memFile{}, WriterConfig{Nodes: 2, Original: c.o, EdgeIDs: EdgeIDsStored})
			require.NoError(t, err)
			for _, step := range c.steps {
				if err == nil {
					err = step(w)
				}
			}
			if err == nil {
				_, err = w.Finish(nil)
			}
			require.ErrorContains(t, err, c.want)
		})
	}
}

func TestOpenRefusesHalfOfTheColumns(t *testing.T) {
	c := WriterConfig{Nodes: 2, Original: OriginalNames, EdgeIDs: EdgeIDsStored}
	f := writeWith(t, c, lists{}, nil, 1, func(w *Writer) { writeNames(t, w, 0, []string{"a", "b"}) })
	s := open(t, f).Superblock
	at := bytes.Index(f.block(s.TableFirst), []byte{6, 0, 0, 0, 3, 0})
	f.patch(s.TableFirst, at, 99)
	_, err := OpenGraph(f, int64(len(f.b)), "graph.bin")
	requireCorrupt(t, err, "columns of original ids")
}

func TestSearch(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 4))
	for _, n := range []int{6, 511, 512, 5000, 40_000} {
		own := sparse(r, n)
		f := writeWith(t, WriterConfig{Nodes: uint64(n), Original: OriginalIDs, EdgeIDs: EdgeIDsStored}, lists{}, nil, 1,
			func(w *Writer) { require.NoError(t, w.OriginalIDs(own)) })
		g := open(t, f)
		s, _ := g.Table.Find(KindOriginal, 0, ColOriginalIDs)
		for _, count := range []int{0, 1, 20, n, 3 * n} {
			keys := make([]uint64, count)
			for i := range keys {
				if keys[i] = uint64(own[r.IntN(n)]); r.IntN(3) == 0 {
					keys[i] += r.Uint64N(3)
				}
			}
			slices.Sort(keys)
			x, seen, rounds := NewSearch(s, keys), map[base.BlockNo]bool{}, 0
			for blocks := x.Blocks(); len(blocks) > 0; blocks = x.Blocks() {
				require.True(t, slices.IsSorted(blocks))
				for _, i := range r.Perm(len(blocks)) {
					require.False(t, seen[blocks[i]], "block %d again", blocks[i])
					seen[blocks[i]] = true
					x.See(i, f.block(blocks[i]))
				}
				rounds++
			}
			require.LessOrEqual(t, rounds, 9)
			for i, key := range keys {
				want, found := slices.BinarySearch(own, base.NodeID(key))
				if !found {
					require.EqualValues(t, uint64(NotFound), x.Ranks[i], fmt.Sprint(key))
				} else {
					require.EqualValues(t, want, x.Ranks[i])
				}
			}
		}
	}
}
