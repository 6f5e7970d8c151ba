package bench

import (
	"bufio"
	"fmt"
	"io"
	"os"
	"regexp"
	"slices"
	"strings"
)

// Section is one named measurement of a job.
type Section struct {
	Name     string
	Settings *Settings
}

// A job file is written like fio's:
//
//	; a comment, and so is #
//	[global]                 options of all sections that follow
//	target=${GRAPH}          from the environment
//	[cold]                   a section; its options come after the global ones
//	workload=sample
//	merge=1
//
// A global option that a section's workload does not have is no error as long as
// some workload has it.

// line is an option as it stands in a job file.
type line struct {
	no          int
	name, value string
}

// block is a section of a job file as it stands there.
type block struct {
	name  string
	no    int // of its heading
	lines []line
}

// ReadJobs reads job files and gives their sections in order. override are
// options that take precedence in every section that has them.
func ReadJobs(override map[string]string, paths ...string) ([]Section, error) {
	var all []Section
	for _, path := range paths {
		f, err := os.Open(path)
		if err != nil {
			return nil, fmt.Errorf("bench: job file: %w", err)
		}
		sections, err := ParseJob(f, path, override)
		f.Close()
		if err != nil {
			return nil, err
		}
		for _, s := range sections {
			if slices.Contains(namesOf(all), s.Name) {
				return nil, optionf("%s: a section [%s] is in another of the job files too: give each its own name", path, s.Name)
			}
		}
		all = append(all, sections...)
	}
	return all, nil
}

// ParseJob reads one job file; name is what errors call it. See ReadJobs for
// override.
func ParseJob(r io.Reader, name string, override map[string]string) ([]Section, error) {
	blocks, err := parseBlocks(r, name)
	if err != nil {
		return nil, err
	}
	var global []line
	var sections []Section
	for _, b := range blocks {
		if b.name == "global" {
			global = append(global, b.lines...)
			continue
		}
		if slices.ContainsFunc(sections, func(s Section) bool { return s.Name == b.name }) {
			return nil, optionf("%s:%d: a second section [%s]: give each its own name", name, b.no, b.name)
		}
		s, err := b.settings(global, override, name)
		if err != nil {
			return nil, err
		}
		sections = append(sections, Section{b.name, s})
	}
	for _, b := range blocks {
		if err := b.checkAgainst(global, sections, name); err != nil {
			return nil, err
		}
	}
	if sections == nil {
		return nil, optionf("%s: no section but [global]: add one such as [mine] with workload=sample", name)
	}
	return sections, nil
}

// parseBlocks splits a job file into its sections.
func parseBlocks(r io.Reader, name string) ([]block, error) {
	var blocks []block
	lines := bufio.NewScanner(r)
	for no := 1; lines.Scan(); no++ {
		text := strings.TrimSpace(lines.Text())
		switch {
		case text == "" || text[0] == ';' || text[0] == '#':
		case text[0] == '[':
			heading, ok := strings.CutSuffix(text[1:], "]")
			if heading = strings.TrimSpace(heading); !ok || heading == "" {
				return nil, optionf("%s:%d: %q: write a section as [name]", name, no, text)
			}
			blocks = append(blocks, block{name: heading, no: no})
		case blocks == nil:
			return nil, optionf("%s:%d: %q stands before any section: begin with [global] or [name]", name, no, text)
		default:
			option, value, _ := strings.Cut(text, "=")
			b := &blocks[len(blocks)-1]
			b.lines = append(b.lines, line{no, canonical(option), strings.TrimSpace(value)})
		}
	}
	return blocks, lines.Err()
}

var variable = regexp.MustCompile(`\$\{(\w+)\}`)

// expand puts the environment's values in place of ${NAME}.
func expand(value string) (string, error) {
	var missing error
	value = variable.ReplaceAllStringFunc(value, func(ref string) string {
		v, ok := os.LookupEnv(ref[2 : len(ref)-1])
		if !ok {
			missing = fmt.Errorf("the environment has no %s: set it, or write the value in place of %s", ref[2:len(ref)-1], ref)
		}
		return v
	})
	return value, missing
}

// settings are the global lines, as far as they concern the workload, then the
// section's own, then what overrides them.
func (b block) settings(global []line, override map[string]string, file string) (*Settings, error) {
	at := func(l line, err error) error {
		return optionError{fmt.Errorf("%s:%d: [%s] %w", file, l.no, b.name, err)}
	}
	w, ok := lastOf("workload", slices.Concat(global, b.lines))
	if !ok {
		return nil, at(line{no: b.no}, fmt.Errorf("has no workload: write workload=%s", workloads()[0].Name))
	}
	s, err := NewSettings(w.value)
	if err != nil {
		return nil, at(w, err)
	}
	global = slices.DeleteFunc(slices.Clone(global), func(l line) bool { return elsewhere(l.name, w.value) })
	for _, l := range slices.Concat(global, b.lines) {
		if err := s.setLine(l, override); err != nil {
			return nil, at(l, err)
		}
	}
	for name, word := range override {
		if elsewhere(name, w.value) {
			continue
		}
		if err := s.Set(name, word); err != nil {
			return nil, at(line{no: b.no}, err)
		}
	}
	return s, nil
}

// checkAgainst refuses a ratio to a section that the job does not have.
func (b block) checkAgainst(global []line, sections []Section, file string) error {
	i := slices.IndexFunc(sections, func(s Section) bool { return s.Name == b.name })
	if i < 0 {
		return nil // [global]
	}
	against := sections[i].Settings.text("against")
	if against == "" || slices.ContainsFunc(sections, func(s Section) bool { return s.Name == against }) {
		return nil
	}
	l, ok := lastOf("against", slices.Concat(global, b.lines))
	if !ok {
		l.no = b.no // from the command line
	}
	return optionf("%s:%d: [%s] against: no section is called %q%s", file, l.no, b.name, against, meant(against, namesOf(sections)))
}

func namesOf(sections []Section) []string {
	var names []string
	for _, s := range sections {
		names = append(names, s.Name)
	}
	return names
}

// setLine sets what a line says, unless that will be overridden anyway: then its
// variables need not be there.
func (s *Settings) setLine(l line, override map[string]string) error {
	if l.name == "workload" {
		return nil
	}
	o, err := s.option(l.name)
	if err != nil {
		return err
	}
	if _, ok := override[o.Name]; ok {
		return nil
	}
	word, err := expand(l.value)
	if err != nil {
		return err
	}
	return s.Set(l.name, word)
}

// elsewhere: the option is not the workload's, but another's.
func elsewhere(name, workload string) bool {
	rows, err := OptionsNamed(name)
	return err == nil && !slices.ContainsFunc(rows, func(o *Option) bool { return o.has(workload) })
}

func lastOf(name string, lines []line) (line, bool) {
	for i := len(lines) - 1; i >= 0; i-- {
		if lines[i].name == name {
			return lines[i], true
		}
	}
	return line{}, false
}

// Select keeps the sections of the given names; no name keeps all.
func Select(sections []Section, names []string) ([]Section, error) {
	if len(names) == 0 {
		return sections, nil
	}
	known := namesOf(sections)
	for _, n := range names {
		if !slices.Contains(known, n) {
			return nil, optionf("no section is called %q%s", n, meant(n, known))
		}
	}
	return slices.DeleteFunc(slices.Clone(sections), func(s Section) bool { return !slices.Contains(names, s.Name) }), nil
}

// Print writes sections as a job file that means the same.
func Print(sections []Section) string {
	var b strings.Builder
	for i, s := range sections {
		if i > 0 {
			b.WriteByte('\n')
		}
		fmt.Fprintf(&b, "[%s]\nworkload=%s\n", s.Name, s.Settings.Workload.Name)
		for _, o := range OptionsOf(s.Settings.Workload.Name) {
			if v := s.Settings.Get(o.Name); v != "" {
				fmt.Fprintf(&b, "%s=%s\n", o.Name, v)
			}
		}
	}
	return b.String()
}
