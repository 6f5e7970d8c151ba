package layout

import (
	"encoding/binary"
	"encoding/hex"
	"hash/crc32"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"
	"github.com/zeebo/xxh3"

	"github.com/aether-ooc/aether-ooc/internal/base"
)

// words hashes as docs/FORMAT.md says it, all at once.
func words(recipe string, xs ...uint64) base.Fingerprint {
	b := []byte(recipe)
	for _, x := range xs {
		b = binary.LittleEndian.AppendUint64(b, x)
	}
	return xxh3.Hash128(b).Bytes()
}

func TestFingerprintIsOfTheContentAlone(t *testing.T) {
	l := lists{2: {0, 5}, 4: {4, 4, 9}}
	want := words("aefp0001", 2, 0, 5, 2, 4, 4, 4, 9, 3, 1, 10, 5)
	for piece := 1; piece <= 3; piece++ {
		f := write(t, WriterConfig{Nodes: 10, InputEdges: 5, EdgeIDs: EdgeIDsStored, Direction: Out}, l, nil, piece)
		require.Equal(t, want, open(t, f).Superblock.Fingerprint)
	}
	for name, other := range map[string]base.Fingerprint{
		"another direction": fingerprint(In, 10, l),
		"another count":     fingerprint(Out, 11, l),
		"lists cut apart":   fingerprint(Out, 10, lists{2: {0, 5, 2}, 4: {4, 9}}),
		"no edges":          fingerprint(Out, 10, lists{}),
	} {
		require.NotEqual(t, want, other, name)
	}
	require.Equal(t, words("aefp0001", 0, 7, 0), fingerprint(In, 7, lists{3: nil}))
	long := randomList(rand.New(rand.NewPCG(1, 1)), 10, 5_000)
	flat := []uint64{6}
	for _, n := range long {
		flat = append(flat, uint64(n))
	}
	require.Equal(t, words("aefp0001", append(flat, 5_000, 0, 10, 5_000)...), fingerprint(In, 10, lists{6: long}))
}

func fingerprint(d Direction, nodes uint64, l lists) base.Fingerprint {
	f := NewFingerprinter(d)
	for _, v := range l.nodes() {
		f.List(v, l[v])
	}
	return f.Sum(nodes)
}

func TestContentIDCoversIDsAndAttachments(t *testing.T) {
	l := lists{1: {0, 1, 2}}
	x := FeaturesAttachment()
	x.Hash = "00"
	content := func(ids []base.EdgeID, mode EdgeIDMode, a ...Attachment) base.Fingerprint {
		f := write(t, WriterConfig{Nodes: 3, InputEdges: 3, EdgeIDs: mode}, l, ids, 2, a...)
		return open(t, f).Superblock.ContentID
	}
	first := content([]base.EdgeID{2, 0, 1}, EdgeIDsInput, x)
	fp, ids := fingerprint(In, 3, l), words("", 2, 0, 1)
	json := `[{"role":"features","name":"x","suffix":".features.npy","dtype":"","shape":null,"bytes":0,"hash":"00"}]`
	want := xxh3.Hash128([]byte("aect0001" + string(fp[:]) + string(make([]byte, 8)) + string(ids[:]) + json))
	require.Equal(t, base.Fingerprint(want.Bytes()), first)
	seen := map[base.Fingerprint]bool{first: true}
	for _, c := range []base.Fingerprint{
		content([]base.EdgeID{1, 0, 2}, EdgeIDsInput, x), content([]base.EdgeID{2, 0, 1}, EdgeIDsInput),
		content(nil, EdgeIDsStored, x), content(nil, EdgeIDsCanonical, x),
	} {
		require.False(t, seen[c])
		seen[c] = true
	}
}

func TestAttachmentsComeBack(t *testing.T) {
	x, y := FeaturesAttachment(), Attachment{}
	y, err := AttrAttachment("train.mask-1")
	require.NoError(t, err)
	x.DType, x.Shape, x.Bytes, x.Hash = "bfloat16", []uint64{3, 16}, 224, "ab"
	y.DType, y.Shape, y.Bytes, y.Hash = "bool", []uint64{3}, 131, "cd"
	c := WriterConfig{Nodes: 3}
	f := write(t, c, lists{}, nil, 1, x, y)
	require.Equal(t, []Attachment{y, x}, open(t, f).Attachments)
	require.Equal(t, f.b, write(t, c, lists{}, nil, 1, y, x).b, "the order that they are given in is nothing")
	require.Equal(t, "/a/g.bin.features.npy", x.Path("/a/g.bin"))
	require.Equal(t, "g.bin.attr.train.mask-1.npy.sums", SumsPath(y.Path("g.bin")))

	for _, name := range []string{"", "a/b", "..", ".hidden", "ä", string(make([]byte, 101))} {
		_, err := AttrAttachment(name)
		require.ErrorContains(t, err, "attribute name")
	}
	for section, want := range map[string]string{
		`[{"role":"attr","name":"y","suffix":"/etc/passwd"}]`:                                  "must not lie",
		`[{"role":"future","name":"y","suffix":"/etc/passwd"}]`:                                "must not lie",
		`[{"role":"attr","name":"../y","suffix":".attr.../y.npy"}]`:                            "must not lie",
		`[{"role":"features","suffix":".features.npy"},{"role":"x","suffix":".features.npy"}]`: "twice",
		`{}`: "cannot unmarshal",
	} {
		_, err := decodeAttachments([]byte(section))
		require.ErrorContains(t, err, want)
	}
	_, err = decodeAttachments([]byte(`[{"role":"future","name":"y","suffix":".future"}]`))
	require.NoError(t, err)
}

func makeSums(t *testing.T, data []byte) (*memFile, string) {
	f := &memFile{}
	w := NewSumsWriter(f, base.Fingerprint{7})
	for rest := data; len(rest) > 0; {
		n := min(len(rest), 1+len(rest)/3)
		_, err := w.Write(rest[:n])
		require.NoError(t, err)
		rest = rest[n:]
	}
	n, hash, err := w.Finish()
	require.NoError(t, err)
	require.EqualValues(t, len(data), n)
	return f, hash
}

func TestSums(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 9))
	for _, n := range []int{0, 1, 4095, 4096, 4097, 1023 * 4096, 1023*4096 + 1, 3_000_000} {
		data := make([]byte, n)
		for i := range data {
			data[i] = byte(r.Uint32())
		}
		f, hash := makeSums(t, data)
		s, err := OpenSums(f, int64(len(f.b)), "x.npy.sums")
		require.NoError(t, err)
		sum := xxh3.Hash128(data).Bytes()
		require.Equal(t, hex.EncodeToString(sum[:]), hash)
		require.Equal(t, hash, s.Hash)
		require.Equal(t, base.Fingerprint{7}, s.Fingerprint)
		require.NoError(t, s.CheckLength(int64(n)))
		require.ErrorContains(t, s.CheckLength(int64(n)+1), "x.npy: data: ")
		blocks := (n + base.BlockSize - 1) / base.BlockSize
		require.EqualValues(t, 4*blocks, s.Bytes())
		for no := range base.BlockNo(blocks) {
			b := make([]byte, base.BlockSize)
			copy(b, data[no.Off():])
			require.NoError(t, s.Check(no, b))
			require.Equal(t, crc32.Checksum(b, crc32.MakeTable(crc32.Castagnoli)), s.crc[no])
			b[no%base.BlockSize] ^= 1
			require.ErrorIs(t, s.Check(no, b), ErrCorrupt)
		}
		require.ErrorContains(t, s.Check(base.BlockNo(blocks), make([]byte, 4096)), "no such block")
	}
}

func TestOpenSumsRefuses(t *testing.T) {
	whole, _ := makeSums(t, make([]byte, 10_000))
	open := func(b []byte) error {
		_, err := OpenSums(&memFile{b: b}, int64(len(b)), "graph.bin: x.npy.sums")
		return err
	}
	for n := range len(whole.b) {
		if n%97 == 0 || n > len(whole.b)-5 {
			requireCorrupt(t, open(whole.b[:n]), "cut short")
		}
	}
	for at := range whole.b {
		whole.b[at] ^= 0x10
		require.ErrorIs(t, open(whole.b), ErrCorrupt)
		whole.b[at] ^= 0x10
	}
	whole.patch(0, 8, 2)
	require.ErrorIs(t, open(whole.b), ErrVersion)
	whole.patch(0, 8, 1)
	whole.patch(0, 16, u64(1<<62)...)
	requireCorrupt(t, open(whole.b), "16 TiB")
	whole.patch(0, 16, u64(1<<40)...)
	requireCorrupt(t, open(whole.b), "cut short")
}

func TestNoBitmapOfAnEmptyNodeSpace(t *testing.T) {
	require.Zero(t, WriterConfig{Nodes: 1 << 62, InputEdges: 1000}.presenceBytes())
	require.Positive(t, WriterConfig{Nodes: 1 << 20, InputEdges: 1 << 24}.presenceBytes())
}
