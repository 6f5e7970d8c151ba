package bench

import (
	"bytes"
	"fmt"
	"html/template"
	"image/color"
	"math"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/palette/moreland"
	"gonum.org/v1/plot/plotter"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
	"gonum.org/v1/plot/vg/vgsvg"
)

// chart is what a plot shows, of one kind: curves, bars, or a heat map.
type chart struct {
	Title, X, Y string
	LogX        bool
	Curves      []curve
	Bars        []bars
	Heat        *heat
	Names       []string // of the places on the x axis, for bars and heat
}

// curve is a named line.
type curve struct {
	name   string
	points plotter.XYs
}

// bars are named values, one for each of a chart's Names.
type bars struct {
	name   string
	values []float64
}

// heat is a table of values, row by row from below.
type heat struct {
	rows   []string
	values [][]float64
}

// charter is a result with charts of its own, besides those that all have.
type charter interface{ charts() []chart }

// chartsOf are all charts of a section: of its runs together, then of the typical
// one.
func chartsOf(s *SectionReport) []chart {
	all := []chart{seriesChart(s.Runs)}
	typical := s.typical()
	all = append(all, latencyChart(typical.common().distributions))
	if c, ok := typical.(charter); ok {
		all = append(all, c.charts()...)
	}
	var shown []chart
	for _, c := range all {
		if !c.empty() {
			shown = append(shown, c)
		}
	}
	return shown
}

func (c chart) empty() bool { return len(c.Curves) == 0 && len(c.Bars) == 0 && c.Heat == nil }

// seriesChart is how fast each run went at each time.
func seriesChart(runs []Result) chart {
	c := chart{Title: "Over time", X: "seconds"}
	for i, r := range runs {
		k := r.common()
		c.Y = k.counted + " a second"
		line := curve{name: fmt.Sprintf("run %d", i+1)}
		for _, p := range k.series {
			line.points = append(line.points, plotter.XY{X: p.AtSeconds, Y: p.PerSecond})
		}
		if len(line.points) > 1 {
			c.Curves = append(c.Curves, line)
		}
	}
	return c
}

// latencyChart is which part of all stayed below each latency.
func latencyChart(all []namedDistribution) chart {
	c := chart{Title: "Latency", X: "µs", Y: "% at most so long", LogX: true}
	for _, d := range all {
		line := curve{name: d.name}
		var total, sofar int64
		buckets := d.buckets()
		for _, b := range buckets {
			total += b.Count
		}
		for _, b := range buckets {
			sofar += b.Count
			line.points = append(line.points, plotter.XY{X: float64(b.To) / 1e3, Y: 100 * float64(sofar) / float64(total)})
		}
		if len(line.points) > 1 {
			c.Curves = append(c.Curves, line)
		}
	}
	return c
}

// depthChart is how deep a lane's queue was.
func depthChart(all []DepthShare) chart {
	c := chart{Title: "Reads in flight of a lane", X: "at most", Y: "% of reads"}
	var values []float64
	for _, d := range all {
		c.Names = append(c.Names, fmt.Sprint(d.To))
		values = append(values, 100*d.Share)
	}
	if values != nil {
		c.Bars = []bars{{"reads", values}}
	}
	return c
}

// The size of a plot, and the colours of its lines and bars, which colour-blind
// people can tell apart (Okabe and Ito).
const plotWidth, plotHeight = 5.2 * vg.Inch, 3 * vg.Inch

var colours = []color.Color{
	color.RGBA{0, 114, 178, 255}, color.RGBA{230, 159, 0, 255}, color.RGBA{0, 158, 115, 255},
	color.RGBA{204, 121, 167, 255}, color.RGBA{86, 180, 233, 255}, color.RGBA{213, 94, 0, 255},
}

func colour(i int) color.Color { return colours[i%len(colours)] }

// svg draws the chart.
func (c chart) svg() (template.HTML, error) {
	p := plot.New()
	p.Title.Text, p.X.Label.Text, p.Y.Label.Text = c.Title, c.X, c.Y
	p.Title.Padding = vg.Points(6)
	p.Legend.Top = true
	p.Y.Tick.Marker = shortTicks{}
	if err := c.fill(p); err != nil {
		return "", fmt.Errorf("bench: plot %q: %w", c.Title, err)
	}
	canvas := vgsvg.New(plotWidth, plotHeight)
	p.Draw(draw.New(canvas))
	var b bytes.Buffer
	if _, err := canvas.WriteTo(&b); err != nil {
		return "", err
	}
	_, body, _ := bytes.Cut(b.Bytes(), []byte("<svg")) // without the XML heading
	return template.HTML("<svg" + string(body)), nil
}

func (c chart) fill(p *plot.Plot) error {
	switch {
	case c.Heat != nil:
		return c.fillHeat(p)
	case c.Bars != nil:
		return c.fillBars(p)
	default:
		return c.fillCurves(p)
	}
}

func (c chart) fillCurves(p *plot.Plot) error {
	p.Add(plotter.NewGrid())
	if c.LogX {
		p.X.Scale, p.X.Tick.Marker = plot.LogScale{}, plot.LogTicks{Prec: -1}
	} else {
		p.Y.Min = 0
	}
	for i, curve := range c.Curves {
		line, err := plotter.NewLine(curve.points)
		if err != nil {
			return err
		}
		line.Color, line.Width = colour(i), vg.Points(1.5)
		p.Add(line)
		if len(c.Curves) > 1 {
			p.Legend.Add(curve.name, line)
		}
	}
	if c.LogX {
		p.Legend.Top = false // the curves end at the top
		p.Y.Min, p.Y.Max = 0, 100
	} else {
		p.Y.Min, p.Y.Max = 0, 1.25*p.Y.Max // room for the legend
	}
	return nil
}

func (c chart) fillBars(p *plot.Plot) error {
	width := plotWidth * 0.6 / vg.Length(len(c.Names)*len(c.Bars)+1)
	for i, b := range c.Bars {
		chart, err := plotter.NewBarChart(plotter.Values(b.values), width)
		if err != nil {
			return err
		}
		chart.Color, chart.LineStyle.Width = colour(i), 0
		chart.Offset = width * (vg.Length(i) - vg.Length(len(c.Bars)-1)/2)
		p.Add(chart)
		if len(c.Bars) > 1 {
			p.Legend.Add(b.name, chart)
		}
	}
	p.Y.Min = 0
	p.Legend.Left = true
	p.NominalX(c.Names...)
	p.X.Min, p.X.Max = -0.6, float64(len(c.Names))-0.4
	return nil
}

// grid is a heat map's table as gonum wants it.
type grid struct{ *heat }

func (g grid) Dims() (columns, rows int) { return len(g.values[0]), len(g.values) }
func (g grid) Z(c, r int) float64        { return g.values[r][c] }
func (g grid) X(c int) float64           { return float64(c) }
func (g grid) Y(r int) float64           { return float64(r) }

func (c chart) fillHeat(p *plot.Plot) error {
	g := grid{c.Heat}
	colours := moreland.SmoothBlueRed()
	low, high := math.Inf(1), math.Inf(-1)
	var labels plotter.XYLabels
	for r, row := range c.Heat.values {
		for col, v := range row {
			low, high = min(low, v), max(high, v)
			labels.XYs = append(labels.XYs, plotter.XY{X: float64(col), Y: float64(r)})
			labels.Labels = append(labels.Labels, short(v))
		}
	}
	colours.SetMin(low)
	colours.SetMax(max(high, low+1))
	p.Add(plotter.NewHeatMap(g, colours.Palette(64)))
	text, err := plotter.NewLabels(labels)
	if err != nil {
		return err
	}
	for i := range text.TextStyle {
		text.TextStyle[i].XAlign, text.TextStyle[i].YAlign = draw.XCenter, draw.YCenter
	}
	p.Add(text)
	p.NominalX(c.Names...)
	p.NominalY(c.Heat.rows...)
	return nil
}

// shortTicks are gonum's, with large numbers in few letters.
type shortTicks struct{ plot.DefaultTicks }

// Ticks implements plot.Ticker.
func (t shortTicks) Ticks(least, most float64) []plot.Tick {
	ticks := t.DefaultTicks.Ticks(least, most)
	for i := range ticks {
		if ticks[i].Label != "" && ticks[i].Value >= 1000 {
			ticks[i].Label = short(ticks[i].Value)
		}
	}
	return ticks
}

// short shows a large number in few letters.
func short(v float64) string {
	switch {
	case v >= 1e6:
		return fmt.Sprintf("%.1fM", v/1e6)
	case v >= 1e4:
		return fmt.Sprintf("%.0fk", v/1e3)
	case v >= 1e3:
		return fmt.Sprintf("%.1fk", v/1e3)
	default:
		return fmt.Sprintf("%.0f", v)
	}
}
