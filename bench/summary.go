package bench

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"text/tabwriter"

	"github.com/dustin/go-humanize"
)

// Summary is one figure over the runs of a section.
type Summary struct {
	Name   string    `json:"name"`
	Better Better    `json:"better"`
	Median float64   `json:"median"`
	Min    float64   `json:"min"`
	Max    float64   `json:"max"`
	Spread float64   `json:"spread"` // (max − min) ÷ median
	Values []float64 `json:"values"` // in the order of the runs

	// Of is what a ratio divides. Its median is that of the two medians, its
	// other values are those of the repetitions.
	Of string `json:"of,omitempty"`
}

// wide is the spread from which a median says little.
const wide = 0.1

func summary(m Metric, values []float64) Summary {
	s := Summary{Name: m.Name, Better: m.Better, Values: values, Median: median(values), Min: slices.Min(values), Max: slices.Max(values)}
	s.Spread = ratio(s.Max-s.Min, math.Abs(s.Median))
	return s
}

func median(values []float64) float64 {
	sorted := slices.Sorted(slices.Values(values))
	n := len(sorted)
	if n == 0 {
		return 0
	}
	return (sorted[(n-1)/2] + sorted[n/2]) / 2
}

// summarize fills in the summary of the runs that ended in full, and warns.
func (s *SectionReport) summarize() {
	s.Summary = []Summary{}
	if len(s.Runs) == 0 {
		if !s.gone() {
			s.Warnings = append(s.Warnings, "no run of this section has begun")
		}
		return
	}
	whole := slices.DeleteFunc(slices.Clone(s.Runs), func(r Result) bool { return r.common().CutShort })
	if len(whole) == 0 {
		whole = s.Runs
	}
	for _, m := range whole[0].Metrics() {
		s.Summary = append(s.Summary, summary(m, valuesOf(m.Name, whole)))
	}
	s.warnOfOthers()
	if first := s.Summary[0]; first.Spread > wide {
		s.Warnings = append(s.Warnings, fmt.Sprintf("%s differs by %s between runs, which is too much to say anything: quiet the machine, or measure longer and more often", first.Name, share(first.Spread)))
	}
}

// noisy is the part of the machine's CPUs from which others make figures doubtful.
const noisy = 0.1

// warnOfOthers says so where the machine had other work meanwhile.
func (s *SectionReport) warnOfOthers() {
	most := 0.
	for _, r := range s.Runs {
		most = max(most, r.common().OthersCPUShare)
	}
	if most > noisy {
		s.Warnings = append(s.Warnings, fmt.Sprintf("other programs took up to %s of the machine's CPUs meanwhile: times and rates are of a busy machine", share(most)))
	}
}

// valuesOf are a figure's values in the runs that have it.
func valuesOf(name string, runs []Result) []float64 {
	var values []float64
	for _, r := range runs {
		for _, m := range r.Metrics() {
			if m.Name == name {
				values = append(values, m.Value)
			}
		}
	}
	return values
}

// typical is the run whose foremost figure is the (lower) median.
func (s *SectionReport) typical() Result {
	runs := slices.Clone(s.Runs)
	slices.SortStableFunc(runs, func(a, b Result) int {
		return compareFloats(a.Metrics()[0].Value, b.Metrics()[0].Value)
	})
	return runs[(len(runs)-1)/2]
}

func compareFloats(a, b float64) int {
	switch {
	case a < b:
		return -1
	case a > b:
		return 1
	}
	return 0
}

// text is the page of the typical run, and under it what all runs say.
func (s *SectionReport) text() string {
	var b strings.Builder
	if len(s.Runs) > 0 {
		b.WriteString(s.typical().Text())
	}
	if len(s.Runs) > 1 {
		fmt.Fprintf(&b, "\n%d runs; the page above is of the median one\n", len(s.Runs))
		w := tabwriter.NewWriter(&b, 0, 0, 2, ' ', tabwriter.AlignRight)
		fmt.Fprintln(w, "\tmedian\tleast\tmost\tspread\t")
		for _, m := range s.Summary {
			fmt.Fprintf(w, "%s\t%s\t%s\t%s\t%s\t\n", m.Name, figure(m.Median), figure(m.Min), figure(m.Max), share(m.Spread))
		}
		w.Flush()
	}
	if s.Missing != "" {
		fmt.Fprintf(&b, "MISSING: %s\n", s.Missing)
	}
	if s.Failed != "" {
		fmt.Fprintf(&b, "FAILED: %s\n", s.Failed)
	}
	for _, warning := range s.Warnings {
		fmt.Fprintf(&b, "WARNING: %s\n", warning)
	}
	return b.String()
}

// figure shows a number with as many digits as mean something.
func figure(x float64) string {
	switch size := math.Abs(x); {
	case size >= 1000 || x == math.Trunc(x):
		return humanize.CommafWithDigits(x, 0)
	case size >= 1:
		return fmt.Sprintf("%.2f", x)
	default:
		return fmt.Sprintf("%.4f", x)
	}
}
