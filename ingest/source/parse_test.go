//go:build linux

package source

import (
	"errors"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/aether-ooc/aether-ooc/internal/base"
)

// anyID allows every id.
var anyID = ids{0, MaxNodeID}

func TestLinesThatAreEdges(t *testing.T) {
	for text, want := range map[string][]pair{
		"":                                      nil,
		"1 2":                                   {{1, 2}},
		"1 2\n":                                 {{1, 2}},
		"1\t2\r\n3\t4\r\n":                      {{1, 2}, {3, 4}},
		"1 2\r3 4\r5 6":                         {{1, 2}, {3, 4}, {5, 6}},
		"1 2\n\r3 4\r\n\r\n\n5 6":               {{1, 2}, {3, 4}, {5, 6}},
		"# c\n1 2\n% c\n3 4 # c\n5 6% c\n7 8#":  {{1, 2}, {3, 4}, {5, 6}, {7, 8}},
		"  # c\n\t%\n   \n":                     nil,
		" \t 1 \t 2 \t \n":                      {{1, 2}},
		"1,2\n1, 2\n1 ,2\n1 , 2,\n1;2;3":        {{1, 2}, {1, 2}, {1, 2}, {1, 2}, {1, 2}},
		"1 2 0.5 x -3 \x00\xff\n3 4":            {{1, 2}, {3, 4}},
		"007 000000000000000000000000000000008": {{7, 8}},
		"999999999999999999 1000000000000000000\n": {{999999999999999999, 1000000000000000000}},
		"9223372036854775806 0":                    {{1<<63 - 2, 0}},
	} {
		var b Batch
		bad := parseLines([]byte(text), &b, anyID)
		require.Nil(t, bad, "%q: %v", text, bad)
		require.Equal(t, want, pairsOf(&b), "%q", text)
	}
}

func TestLinesThatAreRefused(t *testing.T) {
	for _, c := range []struct {
		text   string
		line   int64
		column int
		value  string
		says   string
	}{
		{"1 2\n3\n", 2, 2, "", "missing"},
		{"1 2\r\n\r\n3 \r\n", 3, 2, "", "missing"},
		{"1 # 2", 1, 2, "", "missing"},
		{"1,,2", 1, 2, "", "missing"},
		{",1,2", 1, 1, "", "missing"},
		{"-1 2", 1, 1, "-1", "negative"},
		{"2 -1", 1, 2, "-1", "negative"},
		{"+1 2", 1, 1, "+1", "plain integer"},
		{"1.0 2", 1, 1, "1.0", "plain integer"},
		{"1 1e3", 1, 2, "1e3", "plain integer"},
		{"0x1p4 1", 1, 1, "0x1p4", "plain integer"},
		{"nan 1", 1, 1, "nan", "missing value"},
		{"9223372036854775807 1", 1, 1, "9223372036854775807", "too large"},
		{"9223372036854775808 1", 1, 1, "9223372036854775808", "too large"},
		{"1 18446744073709551617", 1, 2, "18446744073709551617", "too large"},
		{"1 99999999999999999999999999999999999999999999", 1, 2, "9999999999999999999999999999999999999999…", "too large"},
		{"src dst\n1 2", 1, 1, "src", "--header yes"},
		{"\"1\" 2", 1, 1, "\"1\"", "not a number"},
		{"12ab 2", 1, 1, "12ab", "not a number"},
		{"1\u00a02", 1, 1, "1\u00a02", "not a number"},
		{"1|2", 1, 1, "1|2", "not a number"},
		{"1 \x00\x01\x02", 1, 2, "\x00\x01\x02", "binary"},
		{"\x80\xff 1", 1, 1, "\x80\xff", "binary"},
		{"1 2\n\xef\xbb\xbf3 4", 2, 1, "\xef\xbb\xbf3", "not a number"},
	} {
		var b Batch
		bad := parseLines([]byte(c.text), &b, anyID)
		require.NotNil(t, bad, "%q", c.text)
		require.Equal(t, []any{c.line, c.column, c.value}, []any{bad.Line, bad.Column, bad.Value}, "%q", c.text)
		require.Contains(t, bad.Reason, c.says, "%q", c.text)
		require.ErrorIs(t, bad, ErrInput)
	}
}

var (
	lineEnds = regexp.MustCompile(`\r\n|\r|\n`)
	noEdge   = regexp.MustCompile(`^[ \t]*([#%].*)?$`)
	edgeLine = regexp.MustCompile(`(?s)^[ \t]*([0-9]+)(?:[ \t]+|[ \t]*[,;][ \t]*)([0-9]+)(?:[ \t,;#%].*)?$`)
)

var errNotAnEdge = errors.New("not an edge")

// slowParse reads text by regular expressions.
func slowParse(text string, limit base.NodeID) (edges []pair, line int, err error) {
	for i, s := range lineEnds.Split(text, -1) {
		if noEdge.MatchString(s) {
			continue
		}
		m := edgeLine.FindStringSubmatch(s)
		if m == nil {
			return edges, i + 1, errNotAnEdge
		}
		var e pair
		for k := range e {
			if e[k], err = strconv.ParseUint(m[k+1], 10, 63); err != nil || e[k] > uint64(limit) {
				return edges, i + 1, errNotAnEdge
			}
		}
		edges = append(edges, e)
	}
	return edges, 0, nil
}

func FuzzParseLines(f *testing.F) {
	for _, text := range []string{"1 2\n3 4", "# c\r1,2\r\n% x\n\n5;6 7", "1 -2", "9223372036854775807 1", "\xef\xbb\xbf1 2", "1,,2", "1 2#"} {
		f.Add(text, uint64(MaxNodeID))
	}
	f.Add("3 4\n5 6\n", uint64(5))
	f.Fuzz(func(t *testing.T, text string, limit uint64) {
		limit = min(limit, uint64(MaxNodeID))
		var b Batch
		bad := parseLines([]byte(text), &b, ids{0, base.NodeID(limit)})
		want, line, err := slowParse(text, base.NodeID(limit))
		require.Equal(t, err != nil, bad != nil)
		require.Equal(t, want, pairsOf(&b))
		if bad != nil {
			require.Equal(t, int64(line), bad.Line)
			require.NotEmpty(t, bad.Error())
			return
		}
		top := base.NodeID(0)
		for _, e := range want {
			top = max(top, base.NodeID(e[0]), base.NodeID(e[1]))
		}
		require.Equal(t, top, b.Max)
	})
}

func BenchmarkParseLines(b *testing.B) {
	var text strings.Builder
	for i := range 100_000 {
		text.WriteString(strconv.Itoa(i*7919%4_000_000) + "\t" + strconv.Itoa(i*104729%4_000_000) + "\n")
	}
	in := []byte(text.String())
	b.SetBytes(int64(len(in)))
	var out Batch
	for b.Loop() {
		out.reset()
		if bad := parseLines(in, &out, anyID); bad != nil {
			b.Fatal(bad)
		}
	}
}
