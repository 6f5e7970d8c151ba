package bench

import (
	"bytes"
	_ "embed"
	"fmt"
	"html/template"
	"time"
)

//go:embed report.html
var reportPage string

var reportTemplate = template.Must(template.New("report").Funcs(template.FuncMap{
	"figure": figure, "digits": digits, "share": share, "text": func(r Result) string { return r.Text() },
}).Parse(reportPage))

// reportSection is a section as the page shows it.
type reportSection struct {
	*SectionReport
	Typical Result
	Verdict string
	Plots   []template.HTML
}

// HTML writes the document as one page that needs nothing else.
func (d *Document) HTML() ([]byte, error) {
	page := struct {
		*Document
		Made     string
		Sections []reportSection
		Ratios   []related
	}{Document: d, Ratios: d.ratios(), Made: time.Now().UTC().Format("2006-01-02 15:04 MST")}
	for _, s := range d.Sections {
		shown, err := s.shown()
		if err != nil {
			return nil, err
		}
		page.Sections = append(page.Sections, shown)
	}
	var b bytes.Buffer
	if err := reportTemplate.Execute(&b, page); err != nil {
		return nil, fmt.Errorf("bench: report: %w", err)
	}
	return b.Bytes(), nil
}

func (s *SectionReport) shown() (reportSection, error) {
	r := reportSection{SectionReport: s}
	if len(s.Runs) == 0 {
		return r, nil
	}
	r.Typical = s.typical()
	r.Verdict = r.Typical.common().Verdict
	for _, c := range chartsOf(s) {
		svg, err := c.svg()
		if err != nil {
			return r, err
		}
		r.Plots = append(r.Plots, svg)
	}
	return r, nil
}
