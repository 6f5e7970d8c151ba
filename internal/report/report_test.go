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

func TestRatioOfNothing(t *testing.T) { require.Zero(t, Ratio[int64](7, 0)) }
