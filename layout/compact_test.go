package layout

import (
	"bytes"
	"errors"
	"fmt"
	"math/bits"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/aether-ooc/aether-ooc/internal/base"
	"github.com/aether-ooc/aether-ooc/internal/binfmt"
)

// compactLists has all that a compact block can hold: short lists, a long one, one
// of several blocks, one whose neighbours are all the same.
func compactLists() (lists, WriterConfig) {
	const nodes = 1 << 20
	r := rand.New(rand.NewPCG(21, 22))
	l := lists{1: {9}, 2: randomList(r, nodes, 9000), 4: {70}, 5: randomList(r, nodes, 200), 6: make([]base.NodeID, 500), 90: {1, 2, 3}, 5000: {8}}
	return l, WriterConfig{Nodes: nodes, InputEdges: l.edges(), EdgeIDs: EdgeIDsStored, Encoding: Compact}
}

func compactSample(t testing.TB) *memFile {
	l, c := compactLists()
	return write(t, c, l, nil, 1000)
}

func TestCompactBlocksHoldEveryForm(t *testing.T) {
	f := compactSample(t)
	g, forms, bitmaps := open(t, f), map[form]int{}, map[bool]int{}
	for no := range base.BlockNo(g.Superblock.Blocks) {
		k, err := ViewBlock(f.block(1 + no))
		require.NoError(t, err)
		require.Equal(t, Compact, k.Encoding())
		bitmaps[k.words > 0]++
		for i := range k.Lists() {
			forms[k.List(i).form]++
		}
	}
	require.Len(t, forms, 2)
	require.Len(t, bitmaps, 2)
	require.Greater(t, g.Superblock.Blocks, uint64(2))
	validate(t, g, f)
}

// The bytes depend on the lists alone, however they came.
func TestPiecesLeaveNoTrace(t *testing.T) {
	r := rand.New(rand.NewPCG(23, 24))
	for name, l := range map[string]lists{
		"skewed": randomLists(r, 3000, 0.5, skewed(r)),
		"dense":  {3: make([]base.NodeID, 150_000), 4: {1}, 5: make([]base.NodeID, 33_000)},
		"hub":    {0: randomList(r, 3000, 200_000), 1: {2}},
	} {
		c := WriterConfig{Nodes: 3000, InputEdges: l.edges(), EdgeIDs: EdgeIDsStored, Encoding: Compact}
		want := write(t, c, l, nil, 1<<20)
		requireSame(t, want, open(t, want), l, allNodes(3000))
		for _, piece := range []int{1, 100, 4096, 40_000} {
			require.True(t, bytes.Equal(want.b, write(t, c, l, nil, piece).b), "%s in pieces of %d", name, piece)
		}
	}
}

// A file with compact blocks says so where a reader that does not know them looks.
func TestCompactIsAFeature(t *testing.T) {
	l, c := compactLists()
	require.EqualValues(t, featureCompact, open(t, write(t, c, l, nil, 1000)).Superblock.Incompat)
	fp := open(t, compactSample(t)).Superblock.Fingerprint
	c.Encoding = Plain
	plain := open(t, write(t, c, l, nil, 1000)).Superblock
	require.Zero(t, plain.Incompat)
	require.Equal(t, plain.Fingerprint, fp)
	require.Equal(t, "encoding 9", Encoding(9).String())
}

func TestIsHub(t *testing.T) {
	r := rand.New(rand.NewPCG(25, 26))
	const nodes = 1 << 20
	for _, e := range []Encoding{Plain, Compact} {
		for _, n := range []int{1, 1000, 1300, 1361, 1362, 1400, 2500, 2600, 2700, 2800, 3000, 4000} {
			list := randomList(r, nodes, n)
			f := write(t, WriterConfig{Nodes: nodes, InputEdges: uint64(n), EdgeIDs: EdgeIDsStored, Encoding: e}, lists{3: list}, nil, n)
			s := open(t, f).Superblock
			require.Equal(t, s.Blocks > 1, s.IsHub(uint64(n), list[0], list[n-1]), "%v, %d entries", e, n)
		}
		require.True(t, Superblock{Nodes: nodes, Incompat: e.features()}.IsHub(1<<40, 0, 5))
	}
}

func TestValidateFindsInCompactBlocks(t *testing.T) {
	f := compactSample(t)
	k, err := ViewBlock(f.block(1))
	require.NoError(t, err)
	long := k.List(1)
	require.Equal(t, formElias, long.form)
	for _, c := range []struct {
		name  string
		at    int
		bytes []byte
		want  string
	}{
		{"bits of an entry: none", 1, []byte{0}, "bits of an entry"},
		{"bits of an entry: too many", 1, []byte{63}, "bits of an entry"},
		{"delta width", 2, []byte{3}, "delta width"},
		{"deltas and a bitmap", 2, []byte{2}, "delta width"},
		{"flags", 3, []byte{8}, "flags"},
		{"no lists", 12, []byte{0}, "lists"},
		{"more lists than entries", 12, []byte{255, 255}, "lists"},
		{"another number of entries", 14, []byte{1}, ""},
		{"no bitmap", 16, []byte{0}, "delta width"},
		{"long bitmap", 16, []byte{255, 255}, "directory"},
		{"another first node", k.dir, []byte{10}, "first node"},
		{"one node more", k.dir + 7, []byte{128}, ""},
		{"lists before a word", k.dir + 8, []byte{1}, ""},
		{"no lists", k.ends + 4, []byte{0, 0}, "ends of lists"},
		{"end of a list: entries", k.ends + 4, []byte{2}, ""},
		{"end of a list: bytes", k.ends + 6, []byte{255, 255}, "ends of lists"},
		{"begin of the lists", k.ends + 2, []byte{0, 0}, "ends of lists"},
		{"form of a list", k.ends + 5, []byte{128}, ""},
		{"low bits", k.data + 3, []byte{63}, "ends of lists"},
		{"low bits of another list", k.data + 3, []byte{3}, ""},
		{"hint", int(long.upper) - 2, []byte{1, 2}, ""},
		{"high bits", int(long.upper), []byte{0}, ""},
		{"padding", binfmt.PayloadSize - 1, []byte{7}, ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			f := compactSample(t)
			g := open(t, f)
			copy(f.block(1)[c.at:], c.bytes)
			k, err := ViewBlock(f.block(1))
			if err == nil {
				err = k.Validate(g.Superblock.Nodes)
			}
			requireCorrupt(t, g.Place(1, err), c.want)
		})
	}
}

// Of flips of single bits, those that pass leave a block that is as good as one
// that was written so: it has another node or neighbour, which only the seal and
// the fingerprint know.
func TestFlippedBitsOfCompactBlocks(t *testing.T) {
	f := compactSample(t)
	g := open(t, f)
	for no := base.BlockNo(1); no <= base.BlockNo(g.Superblock.Blocks); no++ {
		whole, err := ViewBlock(f.block(no))
		require.NoError(t, err)
		for bit := 0; bit < 8*binfmt.PayloadSize; bit += 1 + bit/(8*whole.data)*100 { // not all of thousands of neighbours
			f.block(no)[bit/8] ^= 1 << (bit % 8)
			k, err := ViewBlock(f.block(no))
			if err == nil {
				err = errors.Join(k.Validate(g.Superblock.Nodes), g.CheckRow(no, k))
			}
			require.True(t, err == nil || errors.Is(err, ErrCorrupt))
			if at := bit / 8; err == nil && at < whole.data {
				delta := whole.delta > 0 && at >= whole.dir && at < whole.ends
				require.True(t, delta || at == 1, "block %d: bit %d was flipped", no, bit) // 1: of little meaning where all lists are long
			}
			f.block(no)[bit/8] ^= 1 << (bit % 8)
		}
	}
}

func TestSelectBit(t *testing.T) {
	r := rand.New(rand.NewPCG(27, 28))
	for _, w := range []uint64{0, 1, 1 << 63, ^uint64(0), r.Uint64(), r.Uint64() & r.Uint64(), r.Uint64() | r.Uint64()} {
		rest := w
		for i := range uint64(bits.OnesCount64(w)) {
			require.EqualValues(t, bits.TrailingZeros64(rest), selectBit(w, i), "bit %d of %x", i, w)
			rest &= rest - 1
		}
		for i := range uint64(64) { // hostile ones: any place, no panic
			require.Less(t, selectBit(w, i), uint64(64+8))
		}
	}
}

// No number of low bits makes a list shorter than the one that is taken.
func TestEliasBest(t *testing.T) {
	r := rand.New(rand.NewPCG(29, 30))
	for range 2_000 {
		width := 1 + r.IntN(eliasMost)
		n := 1 + r.IntN(3000)
		last := r.Uint64() & bitMask(uint8(width))
		first := last - last>>r.IntN(64)
		low, size := eliasBest(width, n, first, last)
		require.Equal(t, eliasBytes(width, low, n, first, last), size)
		if n < 32 {
			continue
		}
		for l := max(0, bits.Len64(last-first)-20); l <= width; l++ {
			require.LessOrEqual(t, size, eliasBytes(width, l, n, first, last), fmt.Sprintf("width %d, %d entries, %d to %d: %d bits, not %d", width, n, first, last, low, l))
		}
	}
}
