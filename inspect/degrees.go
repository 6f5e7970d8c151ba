package inspect

import (
	"fmt"
	"math/bits"
	"strings"

	"github.com/aether-ooc/aether-ooc/internal/report"
)

// DegreeRange counts the lists with From to To entries.
type DegreeRange struct {
	From  uint64 `json:"from"`
	To    uint64 `json:"to"`
	Nodes uint64 `json:"nodes"`
	Edges uint64 `json:"edges"`
}

// histogram counts lists by the length of their degree's binary number.
type histogram [65]struct{ nodes, edges uint64 }

func (h *histogram) add(degree uint64) {
	at := &h[bits.Len64(degree)]
	at.nodes++
	at.edges += degree
}

// ranges is the histogram up to the longest list, empty lists first.
func (h *histogram) ranges(empty uint64) []DegreeRange {
	list := []DegreeRange{{Nodes: empty}}
	for n := 1; n < len(h); n++ {
		list = append(list, DegreeRange{1 << (n - 1), 1<<n - 1, h[n].nodes, h[n].edges})
	}
	last := len(list) - 1
	for last > 0 && list[last].Nodes == 0 {
		last--
	}
	return list[:last+1]
}

const barWidth = 40

// histogramLines shows how many nodes, and what part of the edges, have each
// degree.
func (r *Result) histogramLines(p *report.Page) {
	most := uint64(1)
	for _, x := range r.Degrees.Histogram {
		most = max(most, x.Nodes)
	}
	for i, x := range r.Degrees.Histogram {
		label := report.If(i == 0, "degree")
		span := report.Count(x.From)
		if x.To > x.From {
			span += "–" + report.Count(x.To)
		}
		bar := strings.Repeat("█", int((x.Nodes*barWidth+most-1)/most))
		p.Line(label, "%-21s %15s nodes %9s of edges  %s", span, report.Count(x.Nodes), fmt.Sprintf("%.2f %%", 100*report.Ratio(x.Edges, r.Edges)), bar)
	}
}
