package bench

import (
	"encoding/json"
	"fmt"
	"math"
	"os"
	"slices"
	"strings"
	"text/tabwriter"
)

// significant is the p below which a difference counts.
const significant = 0.05

// leastRuns is how many runs each side needs for any difference to reach it.
const leastRuns = 4

// Saved is what compare needs of a Document's JSON.
type Saved struct {
	Path     string          `json:"-"`
	Format   string          `json:"format"`
	Host     Host            `json:"host"`
	Sections []*SavedSection `json:"sections"`
	Section  *SavedSection   `json:"section"` // of a flat document
}

// SavedSection is a section without its runs.
type SavedSection struct {
	Name     string            `json:"name"`
	Workload string            `json:"workload"`
	Options  map[string]string `json:"options"`           // those that were given
	Missing  string            `json:"missing,omitempty"` // why it was not run: the program it needs is not there
	Failed   string            `json:"failed,omitempty"`  // why it was not run, or not again
	Warnings []string          `json:"warnings,omitempty"`
	Summary  []Summary         `json:"summary"`
}

// Load reads the JSON that Document.JSON has written. The runs of several files
// count together, as if they were one's.
func Load(paths ...string) (*Saved, error) {
	var all *Saved
	for _, path := range paths {
		s, err := load(path)
		if err != nil {
			return nil, err
		}
		if all == nil {
			all = s
			continue
		}
		all.Path += ", " + path
		all.join(s)
	}
	if len(paths) > 1 {
		relate(all.Sections)
	}
	return all, nil
}

func load(path string) (*Saved, error) {
	b, err := os.ReadFile(path)
	if err != nil {
		return nil, fmt.Errorf("bench: %w", err)
	}
	s := &Saved{Path: path}
	if err := json.Unmarshal(b, s); err != nil || s.Format != Format {
		return nil, optionf("%s is no report of bench: make one with --json", path)
	}
	if s.Section != nil {
		s.Sections = append(s.Sections, s.Section)
	}
	return s, nil
}

// join adds the values of another file's sections.
func (s *Saved) join(o *Saved) {
	for _, b := range o.Sections {
		a := section(s, b.Name)
		if a == nil {
			s.Sections = append(s.Sections, b)
			continue
		}
		if a.Warnings == nil {
			a.Warnings = b.Warnings
		}
		for i, m := range a.Summary {
			if j := slices.IndexFunc(b.Summary, func(x Summary) bool { return x.Name == m.Name }); j >= 0 {
				a.Summary[i] = summary(Metric{m.Name, 0, m.Better}, slices.Concat(m.Values, b.Summary[j].Values))
			}
		}
	}
}

// Comparison is what two documents say about the same sections.
type Comparison struct {
	Old      string            `json:"old"`
	New      string            `json:"new"`
	Notes    []string          `json:"notes"`
	Sections []ComparedSection `json:"sections"`
}

// ComparedSection is a section that both have.
type ComparedSection struct {
	Name    string           `json:"name"`
	Metrics []ComparedMetric `json:"metrics"`
}

// ComparedMetric is one figure, old and new.
type ComparedMetric struct {
	Name   string  `json:"name"`
	Better Better  `json:"better"`
	Old    Summary `json:"old"`
	New    Summary `json:"new"`
	Change float64 `json:"change"` // new ÷ old − 1, of the medians
	P      float64 `json:"p"`      // Mann-Whitney, two-sided
	Says   Says    `json:"says"`
}

// Says is what can be concluded.
type Says string

// The conclusions.
const (
	Same      Says = "same"      // every value of both
	Unknown   Says = "unknown"   // no difference that chance does not explain
	TooFew    Says = "too few"   // too few runs to say anything
	Improved  Says = "better"    //
	Worsened  Says = "worse"     //
	Different Says = "different" // neither direction is the better one
)

// Compare compares two documents section by section.
func Compare(old, new *Saved) *Comparison {
	c := &Comparison{Old: old.Path, New: new.Path, Notes: circumstances(old, new), Sections: []ComparedSection{}}
	for _, a := range old.Sections {
		b := section(new, a.Name)
		if b == nil {
			c.Notes = append(c.Notes, fmt.Sprintf("section [%s] is in %s only", a.Name, old.Path))
			continue
		}
		c.Notes = append(c.Notes, options(a, b)...)
		c.Notes = append(c.Notes, warned("old", a)...)
		c.Notes = append(c.Notes, warned("new", b)...)
		c.Sections = append(c.Sections, ComparedSection{a.Name, compareSummaries(a.Summary, b.Summary)})
	}
	for _, b := range new.Sections {
		if section(old, b.Name) == nil {
			c.Notes = append(c.Notes, fmt.Sprintf("section [%s] is in %s only", b.Name, new.Path))
		}
	}
	return c
}

func section(s *Saved, name string) *SavedSection {
	i := slices.IndexFunc(s.Sections, func(x *SavedSection) bool { return x.Name == name })
	if i < 0 {
		return nil
	}
	return s.Sections[i]
}

// circumstances are differences that make a comparison doubtful.
func circumstances(old, new *Saved) []string {
	notes := []string{}
	for _, f := range []struct{ what, old, new string }{
		{"host", old.Host.Name, new.Host.Name}, {"kernel", old.Host.Kernel, new.Host.Kernel}, {"CPU", old.Host.CPU, new.Host.CPU},
		{"CPUs", fmt.Sprint(old.Host.CPUs), fmt.Sprint(new.Host.CPUs)}, {"Go", old.Host.Go, new.Host.Go},
	} {
		if f.old != f.new {
			notes = append(notes, fmt.Sprintf("%s differs: %s, %s", f.what, f.old, f.new))
		}
	}
	return notes
}

// options are those that differ between a section's two sides.
func options(a, b *SavedSection) []string {
	var notes []string
	if a.Workload != b.Workload {
		return []string{fmt.Sprintf("section [%s] differs in workload: %s, %s", a.Name, a.Workload, b.Workload)}
	}
	for _, o := range OptionsOf(a.Workload) {
		if x, y := a.Options[o.Name], b.Options[o.Name]; x != y && o.Name != "repeat" {
			notes = append(notes, fmt.Sprintf("section [%s] differs in %s: %q, %q", a.Name, o.Name, x, y))
		}
	}
	return notes
}

// warned repeats what a side's report warned of.
func warned(side string, s *SavedSection) []string {
	var notes []string
	for _, w := range s.Warnings {
		notes = append(notes, fmt.Sprintf("section [%s], %s: %s", s.Name, side, w))
	}
	return notes
}

func compareSummaries(old, new []Summary) []ComparedMetric {
	all := []ComparedMetric{}
	for _, a := range old {
		i := slices.IndexFunc(new, func(s Summary) bool { return s.Name == a.Name })
		if i < 0 {
			continue
		}
		m := ComparedMetric{Name: a.Name, Better: a.Better, Old: a, New: new[i], P: mannWhitney(a.Values, new[i].Values)}
		m.Change = ratio(m.New.Median-a.Median, math.Abs(a.Median))
		m.Says = m.conclude()
		all = append(all, m)
	}
	return all
}

func (m ComparedMetric) conclude() Says {
	switch {
	case m.Old.Min == m.Old.Max && m.New.Min == m.New.Max && m.Old.Min == m.New.Min:
		return Same
	case min(len(m.Old.Values), len(m.New.Values)) < leastRuns:
		return TooFew
	case m.P >= significant:
		return Unknown
	case m.Better == Neither:
		return Different
	case (m.New.Median > m.Old.Median) == (m.Better == Higher):
		return Improved
	default:
		return Worsened
	}
}

// Text is the comparison for people.
func (c *Comparison) Text() string {
	var b strings.Builder
	fmt.Fprintf(&b, "old: %s\nnew: %s\n", c.Old, c.New)
	for _, n := range c.Notes {
		fmt.Fprintf(&b, "NOTE: %s\n", n)
	}
	few := false
	for _, s := range c.Sections {
		fmt.Fprintf(&b, "\n[%s]\n", s.Name)
		w := tabwriter.NewWriter(&b, 0, 0, 2, ' ', tabwriter.AlignRight)
		fmt.Fprintln(w, "\told\tnew\tchange\t\tp\truns\t")
		for _, m := range s.Metrics {
			fmt.Fprintf(w, "%s\t%s\t%s\t%+.1f %%\t%s\t%.3f\t%d+%d\t\n", m.Name, m.Old.short(), m.New.short(), 100*m.Change, m.Says.mark(), m.P, len(m.Old.Values), len(m.New.Values))
			few = few || m.Says == TooFew
		}
		w.Flush()
	}
	fmt.Fprintf(&b, "\nMedians, ± half of the spread. ~: chance explains it (p ≥ %.2f, Mann-Whitney); =: every value is the same.\n", significant)
	if few {
		fmt.Fprintf(&b, "?: with fewer than %d runs on each side nothing can be told from chance: use --repeat.\n", leastRuns)
	}
	return b.String()
}

func (s Summary) short() string { return fmt.Sprintf("%s ±%.0f %%", figure(s.Median), 50*s.Spread) }

func (s Says) mark() string {
	switch s {
	case Same:
		return "="
	case Unknown:
		return "~"
	case TooFew:
		return "?"
	}
	return string(s)
}
