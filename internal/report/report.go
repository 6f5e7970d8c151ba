package report

import (
	"fmt"
	"strings"
	"text/tabwriter"

	"github.com/dustin/go-humanize"
)

// Page is a report of aligned lines. The zero value is an empty one.
type Page struct{ lines []string }

// Line adds a line; with an empty label it belongs to the one above.
func (p *Page) Line(label, format string, args ...any) {
	p.lines = append(p.lines, label+"\t"+fmt.Sprintf(format, args...))
}

// Text adds lines that stand as they are, such as a table's.
func (p *Page) Text(lines string) {
	p.lines = append(p.lines, strings.Split(strings.TrimSuffix(lines, "\n"), "\n")...)
}

// String lays the lines out, each with its end.
func (p *Page) String() string {
	var s strings.Builder
	w := tabwriter.NewWriter(&s, 0, 0, 2, ' ', 0)
	for _, line := range p.lines {
		_, _ = fmt.Fprintln(w, line) // a strings.Builder takes everything
	}
	_ = w.Flush()
	return s.String()
}

type integer interface{ int | int64 | uint64 }

// Count is a number as 1,234,567.
func Count[T integer](n T) string { return humanize.Comma(int64(n)) }

// Bytes is a number of bytes as 1.2 MiB.
func Bytes[T integer](n T) string { return humanize.IBytes(uint64(n)) }

// Percent is a share as 12.34 %.
func Percent(share float64) string { return fmt.Sprintf("%.2f %%", 100*share) }

// Ratio is a/b, and 0 where b is.
func Ratio[T integer](a, b T) float64 {
	if b == 0 {
		return 0
	}
	return float64(a) / float64(b)
}

// If is text where on holds, else nothing.
func If(on bool, text string) string {
	if on {
		return text
	}
	return ""
}
