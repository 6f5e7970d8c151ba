package report

import (
	"testing"

	"github.com/stretchr/testify/require"
)

func TestPage(t *testing.T) {
	var p Page
	require.Empty(t, p.String())
	p.Line("nodes", "%s%s", Count(16384), If(true, ", undirected"))
	p.Line("", "%s", If(false, "nothing"))
	p.Line("a longer label", "%s, %s", Bytes(uint64(3<<20)), Percent(Ratio(1, 3)))
	require.Equal(t, "nodes           16,384, undirected\n                \na longer label  3.0 MiB, 33.33 %\n", p.String())
}

func TestPageWithText(t *testing.T) {
	var p Page
	p.Line("a", "1")
	p.Text("\nx  y\n")
	p.Line("longer", "2")
	require.Equal(t, "a  1\n\nx  y\nlonger  2\n", p.String())
}

func TestRatioOfNothing(t *testing.T) { require.Zero(t, Ratio[int64](7, 0)) }

func TestParse(t *testing.T) {
	for word, want := range map[string]int64{
		"0": 0, "4096": 4096, "4k": 4096, "1 M": 1 << 20, "2GB": 2_000_000_000, "2GiB": 2 << 30, "1.5 MiB": 3 << 19, Bytes(7 << 20): 7 << 20,
	} {
		got, err := ParseBytes(word)
		require.NoError(t, err, word)
		require.Equal(t, want, got, word)
	}
	for _, word := range []string{"", "k", "-1", "4 parsecs", "99999999999999999999"} {
		_, err := ParseBytes(word)
		require.ErrorContains(t, err, "is no size", word)
	}
	all, err := ParseFanouts("25, 10,-1")
	require.NoError(t, err)
	require.Equal(t, []int{25, 10, -1}, all)
	for _, word := range []string{"", "1,", "-2", "x"} {
		_, err := ParseFanouts(word)
		require.ErrorContains(t, err, "is no fanout", word)
	}
}
