package bench

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"github.com/aether-ooc/aether-ooc/internal/report"
)

// Format names the JSON of a Document.
const Format = "aether-ooc bench 1"

// Document is everything that one call of Run measured.
type Document struct {
	Format   string           `json:"format"`
	Host     Host             `json:"host"`
	CutShort bool             `json:"cut_short"`
	Sections []*SectionReport `json:"sections"`
}

// SectionReport is what a section's runs measured.
type SectionReport struct {
	SavedSection
	Runs []Result `json:"runs,omitempty"`
}

func newDocument(sections []Section) *Document {
	d := &Document{Format: Format, Host: ThisHost()}
	for _, s := range sections {
		d.Sections = append(d.Sections, &SectionReport{SavedSection: SavedSection{Name: s.Name, Workload: s.Settings.Workload.Name, Options: s.Settings.Given()}})
	}
	return d
}

// note keeps what came of a section's run.
func (d *Document) note(section int, r Result, err error) {
	s := d.Sections[section]
	switch {
	case errors.Is(err, ErrMissing):
		s.Missing = err.Error()
	case err != nil:
		s.Failed = err.Error()
	default:
		s.Runs = append(s.Runs, r)
	}
}

// gone: the section need not be run again.
func (s *SectionReport) gone() bool { return s.Missing != "" || s.Failed != "" }

// finish sums up.
func (d *Document) finish(cut bool) {
	d.CutShort = cut
	var all []*SavedSection
	for _, s := range d.Sections {
		s.summarize()
		all = append(all, &s.SavedSection)
	}
	relate(all)
}

// single is the only run of the only section, or nil.
func (d *Document) single() Result {
	if len(d.Sections) == 1 && len(d.Sections[0].Runs) == 1 {
		return d.Sections[0].Runs[0]
	}
	return nil
}

// JSON writes the document; raw adds histograms' buckets and series over time. A
// document of a single run is flat: the run's own keys stand at its top.
func (d *Document) JSON(raw bool) ([]byte, error) {
	for _, s := range d.Sections {
		for _, r := range s.Runs {
			r.common().expand(raw)
		}
	}
	var b []byte
	var err error
	if r := d.single(); r != nil {
		b, err = d.flat(r)
	} else {
		b, err = json.Marshal(d)
	}
	if err != nil {
		return nil, fmt.Errorf("bench: %w", err)
	}
	var out bytes.Buffer
	err = json.Indent(&out, b, "", "  ")
	out.WriteByte('\n')
	return out.Bytes(), err
}

// flat joins the run's object and the document's into one.
func (d *Document) flat(r Result) ([]byte, error) {
	run, err := json.Marshal(r)
	if err != nil {
		return nil, err
	}
	section := *d.Sections[0]
	section.Runs = nil
	head, err := json.Marshal(struct {
		Format  string         `json:"format"`
		Host    Host           `json:"host"`
		Section *SectionReport `json:"section"`
	}{d.Format, d.Host, &section})
	if err != nil {
		return nil, err
	}
	return append(append(head[:len(head)-1], ','), run[1:]...), nil
}

// Text is the document for people.
func (d *Document) Text() string {
	var b strings.Builder
	for i, s := range d.Sections {
		if len(d.Sections) > 1 {
			fmt.Fprintf(&b, "%s[%s]\n", strings.Repeat("\n", min(i, 1)), s.Name)
		}
		b.WriteString(s.text())
	}
	b.WriteString(d.ratioText())
	var p report.Page
	p.Line("host", "%s", d.Host)
	if d.CutShort && d.single() == nil {
		p.Line("CUT SHORT", "interrupted; runs are missing")
	}
	return b.String() + p.String()
}
