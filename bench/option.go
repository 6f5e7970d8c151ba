package bench

import (
	"fmt"
	"slices"
	"strings"

	"github.com/aether-ooc/aether-ooc/internal/report"
)

// Option is a row of the table that the command line, job files, --help,
// --cmdhelp, shell completion and docs/CLI.md are made from.
type Option struct {
	Name    string
	Short   string   // a letter for the command line
	Alias   []string // other names, fio's among them
	Kind    Kind
	Min     int64 // of numbers, sizes and durations (in nanoseconds)
	Default string
	Auto    string // what an empty default means
	Choices []string
	Help    string
	For     []string // workloads that have it; nil: all
	Jobs    bool     // of sections among others: a flag of "run" only, not of a lone measurement
}

// has reports whether a workload has the option.
func (o *Option) has(workload string) bool {
	return o.For == nil || slices.Contains(o.For, workload)
}

// names are all words for the option.
func (o *Option) names() []string { return append([]string{o.Name}, o.Alias...) }

// Usage is the line that --help shows.
func (o *Option) Usage() string {
	text := o.Help
	if o.Choices != nil {
		text += ": " + strings.Join(o.Words(), ", ")
	}
	if o.Auto != "" {
		text += " (default " + o.Auto + ")"
	}
	return text
}

// parse turns a word into the option's value.
func (o *Option) parse(word string) (any, error) {
	if o.Choices != nil {
		return o.choose(word)
	}
	v, err := o.Kind.parse(word)
	if err != nil {
		return nil, fmt.Errorf("%w: write %s", err, o.Kind.Like)
	}
	if n, ok := number(v); ok && n < o.Min {
		return nil, fmt.Errorf("%s is too small: the least is %s (%s)", word, o.Kind.show(o.Min), o.Help)
	}
	return v, nil
}

// choose finds the choice that the word means; a choice may have other words,
// written "random|randread".
func (o *Option) choose(word string) (any, error) {
	var known []string
	for _, c := range o.Choices {
		words := strings.Split(c, "|")
		if slices.Contains(words, word) {
			return words[0], nil
		}
		known = append(known, words...)
	}
	return nil, fmt.Errorf("%q is not a choice: take one of %s%s", word, strings.Join(o.Words(), ", "), meant(word, known))
}

// Words are the choices, each by its first word.
func (o *Option) Words() []string {
	words := make([]string, len(o.Choices))
	for i, c := range o.Choices {
		words[i], _, _ = strings.Cut(c, "|")
	}
	return words
}

// Describe is the option's page, which --cmdhelp prints.
func (o *Option) Describe() string {
	var p report.Page
	p.Line("option", "%s", strings.Join(o.names(), ", "))
	p.Line("what", "%s", o.Help)
	p.Line("written", "--%s VALUE%s, or in a job file %s=VALUE", o.Name, map[bool]string{true: " of bench run"}[o.Jobs], o.Name)
	p.Line("type", "%s: %s", o.Kind.Name, o.Kind.Like)
	if o.Choices != nil {
		p.Line("choices", "%s", strings.Join(o.Words(), ", "))
	}
	if o.Min != 0 {
		p.Line("least", "%s", o.Kind.show(o.Min))
	}
	p.Line("default", "%s", o.defaultText())
	p.Line("workloads", "%s", o.workloadText())
	return p.String()
}

func (o *Option) defaultText() string {
	switch {
	case o.Auto != "":
		return o.Auto
	case o.Default == "":
		return "none"
	}
	return o.Default
}

func (o *Option) workloadText() string {
	if o.For == nil {
		return "all"
	}
	return strings.Join(o.For, ", ")
}

// OptionsOf are the rows that a workload has, in the table's order.
func OptionsOf(workload string) []*Option {
	var rows []*Option
	for i := range table {
		if table[i].has(workload) {
			rows = append(rows, &table[i])
		}
	}
	return rows
}

// SharedOptions are a row of each option that most workloads have, though not all
// mean the same by it.
func SharedOptions() []*Option {
	var rows []*Option
	for _, name := range AllOptions() {
		named, _ := OptionsNamed(name)
		have := 0
		for _, w := range workloads() {
			if slices.ContainsFunc(named, func(o *Option) bool { return o.has(w.Name) }) {
				have++
			}
		}
		if 2*have > len(workloads()) {
			rows = append(rows, named[0])
		}
	}
	return rows
}

// OptionsNamed are the rows of a name or an alias: more than one where workloads
// mean different things by it. No row is an error that names the nearest.
func OptionsNamed(name string) ([]*Option, error) {
	var rows []*Option
	for i := range table {
		if slices.Contains(table[i].names(), canonical(name)) {
			rows = append(rows, &table[i])
		}
	}
	if rows == nil {
		return nil, optionf("no option is called %q%s", name, meant(name, allNames(table)))
	}
	return rows, nil
}

// AllOptions lists the names of all options, each once, in the table's order.
func AllOptions() []string {
	var names []string
	for _, o := range table {
		if !slices.Contains(names, o.Name) {
			names = append(names, o.Name)
		}
	}
	return names
}

func allNames(rows []Option) []string {
	var names []string
	for _, o := range rows {
		names = append(names, o.names()...)
	}
	return names
}

// canonical is the table's way of writing an option: fio's ramp_time is
// ramp-time here.
func canonical(name string) string {
	return strings.ReplaceAll(strings.ToLower(strings.TrimSpace(name)), "_", "-")
}

// CheckWord says what is wrong with a word for an option that some workload has.
func CheckWord(name, word string) error {
	rows, err := OptionsNamed(name)
	if err != nil {
		return err
	}
	for _, o := range rows {
		if _, err = o.parse(word); err == nil {
			return nil
		}
	}
	return optionError{err}
}
