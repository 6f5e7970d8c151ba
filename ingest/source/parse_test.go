//go:build linux

package source

import (
	"context"
	"errors"
	"fmt"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/aether-ooc/aether-ooc/internal/base"
)

var (
	lineEnds = regexp.MustCompile(`\r\n|\r|\n`)
	noEdge   = regexp.MustCompile(`^[ \t]*([#%].*)?$`)
)

// sepForms match what may stand between two columns.
var sepForms = map[byte]string{blanks: `[ \t]+`, ',': `[ \t]*,[ \t]*`, ';': `[ \t]*;[ \t]*`, '\t': ` *\t *`}

// edgeLine matches a line whose first two columns, perhaps quoted, are digits.
func edgeLine(sep byte) *regexp.Regexp {
	lead, form := `[ \t]*`, sepForms[sep]
	if sep == '\t' {
		lead = ` *`
	}
	tail := `(?:` + form + `.*)?`
	if isCSV(sep) {
		tail = `(?:` + form + `(?:"(?:[^"]|"")*"(?:[^"` + string(sep) + `#%][^` + string(sep) + `#%]*)?|[^" \t` + string(sep) + `#%][^` + string(sep) + `#%]*|))*(?:[#%].*)?`
		return regexp.MustCompile(`(?s)^` + lead + `("?)([0-9]+)("?)` + form + `("?)([0-9]+)("?)` + lead + tail + `$`)
	}
	return regexp.MustCompile(`(?s)^` + lead + `("?)([0-9]+)("?)` + form + `("?)([0-9]+)("?)(?:` + lead + `[#%].*|` + lead + `|` + tail + `)$`)
}

var errNotAnEdge = errors.New("not an edge")

// slowParse reads text, whose columns are parted by sep, by regular expressions.
func slowParse(text string, sep byte, count base.NodeID) (edges []pair, line int, err error) {
	form := edgeLine(sep)
	for i, s := range lineEnds.Split(text, -1) {
		if noEdge.MatchString(s) {
			continue
		}
		m := form.FindStringSubmatch(s)
		if m == nil || m[1] != m[3] || m[4] != m[6] {
			return edges, i + 1, errNotAnEdge
		}
		var e pair
		for k := range e {
			if e[k], err = strconv.ParseUint(m[2+3*k], 10, 63); err != nil || e[k] >= uint64(count) {
				return edges, i + 1, errNotAnEdge
			}
		}
		edges = append(edges, e)
	}
	return edges, 0, nil
}

// sameAsSlow compares a parser with slowParse.
func sameAsSlow(t *testing.T, p *rowParser, text string) {
	var b Batch
	bad := p.parse([]byte(text), &b)
	want, line, err := slowParse(text, p.sep, p.count)
	require.Equal(t, err != nil, bad != nil, "%v %q", bad, text)
	require.Equal(t, want, pairsOf(&b), "%q", text)
	if bad != nil {
		require.Equal(t, int64(line), bad.Line)
		require.NotEmpty(t, bad.Error())
		require.ErrorIs(t, bad, ErrInput)
		return
	}
	top := base.NodeID(0)
	for _, e := range want {
		top = max(top, base.NodeID(e[0]), base.NodeID(e[1]))
	}
	require.Equal(t, top, b.Max)
	require.Equal(t, b.Lines-b.Skipped, int64(len(want)))
}

var parserSeeds = []string{"1 2\n3 4", "# c\r1,2\r\n% x\n\n5;6 7", "1 -2", "9223372036854775807 1", "\xef\xbb\xbf1 2", "1,,2", "1 2#", "1\t2 \n3 \t4\t5", "\"1\",\"2\"\n3,\"4\"", "1,2,\"a\n3,4", "1,2,\"a\"\"b\",c\n", "1;2 ;\"x\" y\n", "1 2\"", "1\t\t2", "1 , 2 , 3", "\"1\" \"2\" # \""}

func FuzzRows(f *testing.F) {
	for _, text := range parserSeeds {
		for _, sep := range []byte{blanks, ',', ';', '\t'} {
			f.Add(text, sep, uint64(MaxNodeID)+1)
		}
	}
	f.Add("3 4\n5 6\n", byte(blanks), uint64(5))
	f.Fuzz(func(t *testing.T, text string, sep byte, count uint64) {
		if sepForms[sep] == "" {
			t.Skip()
		}
		sameAsSlow(t, &rowParser{ids: ids{count: min(base.NodeID(count), MaxNodeID+1)}, sep: sep, want: want{src: 1, dst: 2}}, text)
	})
}

// Whatever columns are wanted, they say the same as the first two of the same
// columns in another order.
func FuzzColumns(f *testing.F) {
	for _, text := range parserSeeds {
		f.Add(text, byte(','), uint8(2), uint8(1), uint8(0), uint8(3))
		f.Add(text, byte(blanks), uint8(1), uint8(3), uint8(2), uint8(0))
	}
	f.Add("0.5,1,2,-7\n1e-3,\"4\",5,9223372036854775807", byte(','), uint8(2), uint8(3), uint8(1), uint8(4))
	f.Fuzz(func(t *testing.T, text string, sep byte, src, dst, weight, time uint8) {
		if sepForms[sep] == "" || src == 0 || dst == 0 {
			t.Skip()
		}
		p := &rowParser{ids: anyID, sep: sep, want: want{int(src), int(dst), int(weight), int(time)}}
		var b Batch
		if bad := p.parse([]byte(text), &b); bad != nil {
			require.Positive(t, bad.Line)
			require.NotEmpty(t, bad.Reason)
			return
		}
		require.Len(t, b.Dst, len(b.Src))
		require.Len(t, b.Weight, len(b.Src)*int(min(weight, 1)))
		require.Len(t, b.Time, len(b.Src)*int(min(time, 1)))
	})
}

// However a text is cut into blocks, it is the same text.
func FuzzBlocks(f *testing.F) {
	f.Add("1 2\r\n3 4\r5 6\n# c\n\n7 8", uint8(3))
	f.Add("src dst\r1 2\r\r\n3 4", uint8(1))
	f.Add("1 2\n3 x\n", uint8(2))
	f.Add("\n\r\n#\r1,2", uint8(2))
	f.Fuzz(func(t *testing.T, text string, block uint8) {
		if block == 0 {
			t.Skip()
		}
		whole, wholeErr := readBlocks(text, maxLine)
		cut, cutErr := readBlocks(text, int(block))
		require.Equal(t, wholeErr, cutErr)
		if wholeErr == nil {
			require.Equal(t, whole, cut)
		}
	})
}

// readBlocks reads text in blocks of a size; the counts of lines come last.
func readBlocks(text string, block int) (edges []pair, err error) {
	d, err := openText(&Config{Workers: 2}, streamOf("a.txt", text))
	if err != nil {
		return nil, err
	}
	d.(*lines).block = block
	counts := pair{}
	err = d.each(context.Background(), func(b *Batch) error {
		edges = append(edges, pairsOf(b)...)
		counts[0] += uint64(b.Lines)
		counts[1] += uint64(b.Skipped)
		return nil
	})
	return append(edges, counts), err
}

// Every other format must end in edges or an error, too, and not in a panic.
func FuzzFormats(f *testing.F) {
	f.Add("%%MatrixMarket matrix coordinate real symmetric\n% c\n3 3 2\n1 1 0.5\n2 1 -1\n", uint8(0))
	f.Add("%%MatrixMarket matrix coordinate pattern general\n2 2 1\n2 1", uint8(0))
	f.Add("3 2\n2 3\n1\n1\n", uint8(1))
	f.Add("2 1 111 2\n9 1 1 2 0.5\n9 1 1 1 0.5\n", uint8(1))
	f.Add(encode([]pair{{1, 2}, {3, 4}, {5, 6}}, "int32", true, false, true), uint8(2))
	f.Fuzz(func(t *testing.T, content string, which uint8) {
		format := []Format{FormatMTX, FormatMETIS, FormatNPY}[which%3]
		d, err := find(format).open(&Config{Workers: 2}, streamOf("a", content))
		if err != nil {
			return
		}
		x, n := d.extent(), int64(0)
		err = d.each(context.Background(), func(b *Batch) error {
			n += int64(len(b.Src))
			for i := range b.Src {
				require.LessOrEqual(t, max(b.Src[i], b.Dst[i]), b.Max)
			}
			require.True(t, x.nodes == 0 || len(b.Src) == 0 || int64(b.Max) < x.nodes)
			return nil
		})
		if err == nil && x.rows >= 0 {
			require.Equal(t, x.rows, n)
		}
		if err == nil && x.most >= 0 {
			require.LessOrEqual(t, n, x.most)
		}
	})
}

// bench is about what an edge list looks like.
func bench(sep string, extra string) []byte {
	var text strings.Builder
	for i := range 100_000 {
		fmt.Fprintf(&text, "%d%s%d%s\n", i*7919%4_000_000, sep, i*104729%4_000_000, extra)
	}
	return []byte(text.String())
}

func BenchmarkRows(b *testing.B) {
	for _, c := range []struct {
		name, sep, extra string
		want             want
	}{
		{"snap", "\t", "", want{src: 1, dst: 2}},
		{"blanks", " ", "", want{src: 1, dst: 2}},
		{"csv", ",", "", want{src: 1, dst: 2}},
		{"passed_over", ",", ",0.125", want{src: 1, dst: 2}},
		{"weights", ",", ",0.125", want{src: 1, dst: 2, weight: 3}},
		{"turned", ",", "", want{src: 2, dst: 1}},
	} {
		b.Run(c.name, func(b *testing.B) {
			in := bench(c.sep, c.extra)
			p := rowParser{ids: anyID, sep: c.sep[0], want: c.want}
			b.SetBytes(int64(len(in)))
			var out Batch
			for b.Loop() {
				out.reset()
				if bad := p.parse(in, &out); bad != nil {
					b.Fatal(bad)
				}
			}
		})
	}
}
