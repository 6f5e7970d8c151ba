package bench

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strings"
	"text/tabwriter"
)

// ratioTo begins the name of the figure that against asks for.
const ratioTo = "ratio_to_"

// relate gives each section that asks for it, by against, its ratio to another.
func relate(all []*SavedSection) {
	for _, s := range all {
		s.Summary = slices.DeleteFunc(s.Summary, Summary.isRatio)
	}
	for _, s := range all {
		against := s.Options["against"]
		if against == "" || against == s.Name {
			continue
		}
		if err := s.relateTo(against, all); err != nil {
			s.Warnings = append(s.Warnings, fmt.Sprintf("no ratio to [%s]: %v", against, err))
		}
	}
}

// relateTo adds the ratio to a section, or says why there is none.
func (s *SavedSection) relateTo(name string, all []*SavedSection) error {
	i := slices.IndexFunc(all, func(o *SavedSection) bool { return o.Name == name })
	if i < 0 {
		return errors.New("it was not run")
	}
	o := all[i]
	if len(o.Summary) == 0 {
		return errors.New(cmp.Or(o.Missing, o.Failed, "it has no runs"))
	}
	figure := s.Options["figure"]
	a, b := s.find(figure), o.find(figure)
	if b == nil {
		b = o.find("")
	}
	if a == nil || b == nil {
		return fmt.Errorf("there is no figure %q%s", figure, meant(figure, s.figures()))
	}
	s.Summary = append(s.Summary, ratioOf(name, *a, *b))
	return nil
}

// find is the figure of a name, or the foremost where that is empty; nil where
// there is none.
func (s *SavedSection) find(name string) *Summary {
	for i := range s.Summary {
		if name == "" || s.Summary[i].Name == name {
			return &s.Summary[i]
		}
	}
	return nil
}

func (s *SavedSection) figures() []string {
	var names []string
	for _, m := range s.Summary {
		names = append(names, m.Name)
	}
	return names
}

// ratioOf divides medians by medians, and repetitions by repetitions.
func ratioOf(section string, a, b Summary) Summary {
	var values []float64
	for i := range min(len(a.Values), len(b.Values)) {
		values = append(values, ratio(a.Values[i], b.Values[i]))
	}
	r := summary(Metric{ratioTo + section, 0, a.Better}, values)
	r.Of, r.Median = a.Name+" ÷ "+b.Name, ratio(a.Median, b.Median)
	r.Spread = ratio(r.Max-r.Min, r.Median)
	return r
}

func (s Summary) isRatio() bool { return strings.HasPrefix(s.Name, ratioTo) }

// related is a ratio as the report's table of them shows it.
type related struct {
	Section, To string
	Summary
}

// ratios are all there are, in the order of the sections.
func (d *Document) ratios() []related {
	var all []related
	for _, s := range d.Sections {
		for _, m := range s.Summary {
			if m.isRatio() {
				all = append(all, related{s.Name, strings.TrimPrefix(m.Name, ratioTo), m})
			}
		}
	}
	return all
}

// ratioText is the table of them; nothing where there is none.
func (d *Document) ratioText() string {
	all := d.ratios()
	if all == nil {
		return ""
	}
	var b strings.Builder
	b.WriteString("\nRatios: of medians, and from the least to the most of a repetition\n")
	w := tabwriter.NewWriter(&b, 0, 0, 2, ' ', 0)
	for _, r := range all {
		fmt.Fprintf(w, "[%s] ÷ [%s]\t%s\t%s … %s\t%s\n", r.Section, r.To, digits(r.Median), digits(r.Min), digits(r.Max), r.Of)
	}
	w.Flush()
	b.WriteByte('\n')
	return b.String()
}

// digits shows a ratio with three digits or more.
func digits(x float64) string {
	if x >= 100 {
		return figure(x)
	}
	return fmt.Sprintf("%.3f", x)
}
