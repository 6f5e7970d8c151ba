package layout

import (
	"fmt"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/cockroachdb/datadriven"
	"github.com/stretchr/testify/require"

	"github.com/aether-ooc/aether-ooc/internal/base"
	"github.com/aether-ooc/aether-ooc/internal/binfmt"
)

// The bytes of whole small files, with the meaning of each. Run with -rewrite
// after a change that is meant; the diff is the review.
func TestGolden(t *testing.T) {
	datadriven.Walk(t, filepath.Join("..", "testdata", "layout"), func(t *testing.T, path string) {
		datadriven.RunTest(t, path, func(t *testing.T, d *datadriven.TestData) string {
			switch d.Cmd {
			case "graph":
				return goldenGraph(t, d)
			case "sums":
				return goldenSums(t, d)
			}
			t.Fatalf("unknown command %q", d.Cmd)
			return ""
		})
	})
}

// goldenGraph builds a file from lines "node: neighbour …" or "node: FROMxTIMES",
// "ids: …", "own: …" (ids of the nodes' own) or "names: …", and "attr NAME".
func goldenGraph(t *testing.T, d *datadriven.TestData) string {
	l, ids, atts := lists{}, []base.EdgeID(nil), []Attachment(nil)
	c, more := WriterConfig{}, func(*Writer) {}
	for line := range strings.Lines(d.Input) {
		head, rest, _ := strings.Cut(strings.TrimSpace(line), ":")
		switch {
		case head == "ids":
			for _, x := range numbers(t, rest) {
				ids = append(ids, base.EdgeID(x))
			}
		case head == "own":
			var own []base.NodeID
			for _, x := range numbers(t, rest) {
				own = append(own, base.NodeID(x))
			}
			c.Original, more = OriginalIDs, func(w *Writer) { require.NoError(t, w.OriginalIDs(own)) }
		case head == "names":
			c.Original, c.NameSeed = OriginalNames, 7
			more = func(w *Writer) { writeNames(t, w, c.NameSeed, strings.Fields(rest)) }
		case strings.HasPrefix(head, "attr "):
			a, err := AttrAttachment(strings.TrimPrefix(head, "attr "))
			require.NoError(t, err)
			a.DType, a.Shape, a.Bytes, a.Hash = "int64", []uint64{6}, 176, strings.Repeat("0f", 16)
			atts = append(atts, a)
		default:
			v, err := strconv.ParseUint(head, 10, 64)
			require.NoError(t, err)
			for _, x := range numbers(t, rest) {
				l[base.NodeID(v)] = append(l[base.NodeID(v)], base.NodeID(x))
			}
		}
	}
	c.InputEdges = l.edges()
	d.ScanArgs(t, "nodes", &c.Nodes)
	if ids == nil {
		c.EdgeIDs = EdgeIDsStored
	}
	if d.HasArg("compact") {
		c.Encoding = Compact
	}
	if d.HasArg("out") {
		c.Direction = Out
	}
	f := writeWith(t, c, l, ids, 1<<20, more, atts...)
	return dumpGraph(open(t, f), f)
}

func numbers(t *testing.T, s string) (out []uint64) {
	for _, word := range strings.Fields(s) {
		word, times, repeated := strings.Cut(word, "x")
		n := 1
		if repeated {
			var err error
			n, err = strconv.Atoi(times)
			require.NoError(t, err)
		}
		x, err := strconv.ParseUint(word, 10, 64)
		require.NoError(t, err)
		for range n {
			out = append(out, x)
		}
	}
	return out
}

func goldenSums(t *testing.T, d *datadriven.TestData) string {
	f := &memFile{}
	s := NewSumsWriter(f, base.Fingerprint{1, 2, 3})
	var n int
	d.ScanArgs(t, "bytes", &n)
	for i := range n {
		_, err := s.Write([]byte{byte(i)})
		require.NoError(t, err)
	}
	_, _, err := s.Finish()
	require.NoError(t, err)
	p := dumper{b: f.b}
	p.title("header")
	p.fields(field{8, "magic"}, field{4, "version"}, field{4, "block size"}, field{8, "length of the file"}, field{16, "fingerprint of the graph"}, field{16, "XXH3-128 of the file"})
	p.endBlock()
	p.title("sums")
	for range (n + base.BlockSize - 1) / base.BlockSize {
		p.fields(field{4, "crc32c of a block"})
	}
	p.endBlock()
	return p.String()
}

type field struct {
	bytes int
	label string
}

// dumper prints a file field by field.
type dumper struct {
	strings.Builder
	b  []byte
	at int
}

func (p *dumper) title(s string) {
	fmt.Fprintf(p, "block %d: %s\n", p.at/base.BlockSize, s)
}

func (p *dumper) fields(fs ...field) {
	for _, f := range fs {
		const shown = 16
		hex := fmt.Sprintf("% x", p.b[p.at:p.at+min(f.bytes, shown)])
		if f.bytes > shown {
			hex += fmt.Sprintf(" … %d more", f.bytes-shown)
		}
		fmt.Fprintf(p, "  %4d  %-24s %s\n", p.at%base.BlockSize, f.label, hex)
		p.at += f.bytes
	}
}

// endBlock prints zeros and seal.
func (p *dumper) endBlock() {
	if n := binfmt.PayloadSize - p.at%base.BlockSize; n > 0 {
		fmt.Fprintf(p, "  %4d  %-24s %d bytes\n", p.at%base.BlockSize, "zeros", n)
		p.at += n
	}
	p.fields(field{4, "seal"})
}

var superblockFields = []field{{8, "magic"}, {4, "version"}, {4, "block size"}, {8, "compatible features"}, {8, "incompatible features"},
	{8, "file length"}, {8, "nodes"}, {8, "edges"}, {8, "adjacency blocks"}, {8, "input edges"}, {1, "direction"}, {1, "edge id mode"},
	{2, "flags"}, {4, "table: first block"}, {8, "table: blocks"}, {8, "table: entries"}, {16, "fingerprint"}, {16, "content id"}}

var tableFields = []field{{2, "kind"}, {2, "relation"}, {2, "column"}, {1, "width"}, {1, "zero"}, {8, "first block"}, {8, "blocks"}, {8, "values"}}

func dumpGraph(g *Graph, f *memFile) string {
	p := &dumper{b: f.b}
	p.title("superblock")
	p.fields(superblockFields...)
	p.endBlock()
	for _, s := range g.Table {
		for i := range s.Blocks {
			p.title(s.String())
			p.section(s, i)
			p.endBlock()
		}
	}
	p.title("section table")
	for _, s := range g.Table {
		fmt.Fprintf(p, "      (%v)\n", s)
		p.fields(tableFields...)
	}
	p.endBlock()
	return p.String()
}

func (p *dumper) section(s Section, i uint64) {
	if s.Kind == KindAdjacency {
		p.adjacency()
		return
	}
	per := uint64(binfmt.PerBlock(int(s.Width)))
	n := min(per, s.Values-i*per)
	if s.Kind == KindAttachments || s.Kind == KindOriginal && s.Column == ColNames {
		fmt.Fprintf(p, "  %4d  %q\n", p.at%base.BlockSize, p.b[p.at:p.at+int(n)])
		p.at += int(n)
		return
	}
	for v := range n {
		p.fields(field{int(s.Width), fmt.Sprint("value ", i*per+v)})
	}
}

func (p *dumper) adjacency() {
	k, err := ViewBlock(p.b[p.at : p.at+base.BlockSize])
	if err != nil {
		panic(err)
	}
	p.fields(field{1, "encoding"}, field{1, "entry width"}, field{1, "delta width"}, field{1, "flags"}, field{8, "first node"}, field{2, "lists"}, field{2, "entries"})
	if k.Encoding() == Compact {
		p.fields(field{2, "words of bitmap"})
	}
	for i := range k.words {
		p.fields(field{8, "bitmap"}, field{2, fmt.Sprint("lists before word ", i)})
	}
	for i := range k.Lists() {
		if k.delta > 0 {
			p.fields(field{int(k.delta), fmt.Sprint("delta of node ", k.Node(i))})
		}
	}
	if k.Encoding() == Compact {
		p.compactLists(&k)
		return
	}
	for i := range k.Lists() {
		p.fields(field{2, fmt.Sprint("end of list ", k.Node(i))})
	}
	for i := range k.Lists() {
		p.fields(field{k.List(i).Len() * k.EntryBits() / 8, fmt.Sprint("neighbours of ", k.Node(i))})
	}
}

func (p *dumper) compactLists(k *Block) {
	p.fields(field{2, "no entries"}, field{2, "begin of the lists"})
	for i := range k.Lists() {
		p.fields(field{2, fmt.Sprint("entries up to ", k.Node(i))}, field{2, "end of its list"})
	}
	for i := range k.Lists() {
		l, v := k.List(i), k.Node(i)
		if !l.EliasFano() {
			p.fields(field{packedBytes(k.EntryBits(), l.Len()), fmt.Sprint("neighbours of ", v)})
			continue
		}
		high, low := baseBytes(k.EntryBits(), int(l.width)), packedBytes(int(l.width), l.Len())
		p.fields(field{1, fmt.Sprint("low bits of ", v)}, field{high, "base"})
		for h := range hintCount(l.Len()) {
			p.fields(field{2, fmt.Sprint("hint of entry ", (h+1)*hintEvery)})
		}
		p.fields(field{int(l.at - l.upper), fmt.Sprint("high bits of ", v)}, field{low, fmt.Sprint("low bits of ", v)})
	}
}
