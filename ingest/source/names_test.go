//go:build linux

package source

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/aether-ooc/aether-ooc/internal/base"
	"github.com/aether-ooc/aether-ooc/internal/binfmt"
)

// readNames reads an edge list of names.
func readNames(t *testing.T, name, text string) (edges [][2]string, err error) {
	t.Helper()
	path := filepath.Join(t.TempDir(), name)
	require.NoError(t, os.WriteFile(path, []byte(text), 0o666))
	s, err := Open(Config{Inputs: []string{path}, Names: true, NameSeed: 5, Workers: 2})
	if err != nil {
		return nil, err
	}
	defer s.Close()
	err = s.Each(context.Background(), func(b *Batch) error {
		names := map[base.NodeID]string{}
		for _, n := range b.Names() {
			require.NotContains(t, names, n.ID)
			require.Equal(t, binfmt.NameID(n.Bytes, 5), n.ID)
			names[n.ID] = string(n.Bytes)
		}
		for i := range b.Src {
			edges = append(edges, [2]string{names[b.Src[i]], names[b.Dst[i]]})
		}
		return nil
	})
	return edges, err
}

func TestNames(t *testing.T) {
	long := strings.Repeat("x", 1<<20)
	for text, want := range map[string][][2]string{
		"a b\nb c\n# no edge\na c\n":                   {{"a", "b"}, {"b", "c"}, {"a", "c"}},
		"source,target\na,b\nsource,target\n":          {{"a", "b"}, {"source", "target"}},
		"a\tb c\nb c\t d \n":                           {{"a", "b c"}, {"b c", "d"}},
		"Zürich,日本\r\n\"with \"\"quotes\"\", #\",12\n": {{"Zürich", "日本"}, {`with "quotes", #`, "12"}},
		"12 012\n-1 1e3\n":                             {{"12", "012"}, {"-1", "1e3"}},
		"\"NA\",\"null\"\n":                            {{"NA", "null"}},
		long + " " + long + "y\n":                      {{long, long + "y"}},
		"":                                             nil,
	} {
		got, err := readNames(t, "e.txt", text)
		require.NoError(t, err, shorten(text))
		require.Equal(t, want, got, shorten(text))
	}
}

func TestNamesThatCannotBe(t *testing.T) {
	for text, want := range map[string]string{
		"a,b\n,c\n":       "empty",
		"a,b\n\"\",c\n":   "empty",
		"a,b\nc\n":        "empty",
		"a,b\nc,NA\n":     "missing value",
		"a,b\nc,d#e\n":    "sign for comments",
		"a,b\nc,d\"e\"\n": "all of it in double quotes",
		"a,b\nc,d\xff\n":  "UTF-8",
		"a,b\nc,\"d\n":    "quoted column",
	} {
		_, err := readNames(t, "e.csv", text)
		require.ErrorIs(t, err, ErrInput, text)
		require.ErrorContains(t, err, want)
		require.ErrorContains(t, err, "line 2", text)
	}
	_, err := readNames(t, "e.mtx", "%%MatrixMarket matrix coordinate pattern general\n1 1 1\n1 1\n")
	require.ErrorContains(t, err, "--relabel ids")
}

func TestNamesOfOneHash(t *testing.T) {
	m := met{names: []Name{{7, []byte("other")}}, at: map[base.NodeID]int{binfmt.NameID([]byte("a"), 0): 0}}
	_, reason := m.meet([]byte("a"), 0)
	require.Contains(t, reason, "--relabel-seed")
}
