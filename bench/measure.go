package bench

import (
	"fmt"
	"strings"
	"syscall"
	"time"

	"github.com/HdrHistogram/hdrhistogram-go"
	"github.com/dustin/go-humanize"

	"github.com/aether-ooc/aether-ooc/internal/host"
)

// Percentiles tells a distribution of durations, in nanoseconds.
type Percentiles struct {
	Min  int64   `json:"min"`
	Mean float64 `json:"mean"`
	P50  int64   `json:"p50"`
	P90  int64   `json:"p90"`
	P99  int64   `json:"p99"`
	P999 int64   `json:"p99_9"`
	Max  int64   `json:"max"`
}

func percentiles(h *hdrhistogram.Histogram) Percentiles {
	if h.TotalCount() == 0 {
		return Percentiles{}
	}
	return Percentiles{
		Min: h.Min(), Mean: h.Mean(), Max: h.Max(),
		P50: h.ValueAtQuantile(50), P90: h.ValueAtQuantile(90), P99: h.ValueAtQuantile(99), P999: h.ValueAtQuantile(99.9),
	}
}

// text gives the percentiles for people.
func (p Percentiles) text() string {
	ns := func(v int64) string { return shortDuration(time.Duration(v)) }
	return fmt.Sprintf("p50 %s, p90 %s, p99 %s, p99.9 %s, max %s", ns(p.P50), ns(p.P90), ns(p.P99), ns(p.P999), ns(p.Max))
}

func shortDuration(d time.Duration) string {
	switch {
	case d < time.Millisecond:
		return d.Round(time.Microsecond / 10).String()
	case d < time.Second:
		return d.Round(10 * time.Microsecond).String()
	default:
		return d.Round(time.Millisecond).String()
	}
}

// cpuTime is the processor time, user and system, of who (syscall.RUSAGE_SELF).
func cpuTime(who int) time.Duration {
	var u syscall.Rusage
	if syscall.Getrusage(who, &u) != nil {
		return 0
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

// peakRSS is the most memory that the process has had, 0 where unknown.
func peakRSS() int64 {
	n, err := host.PeakRSS()
	if err != nil {
		return 0
	}
	return n
}

// ratio is a/b, and 0 where b is.
func ratio(a, b float64) float64 {
	if b == 0 {
		return 0
	}
	return a / b
}

// page lays a report out in two columns.
type page struct{ b strings.Builder }

func (p *page) line(name, format string, args ...any) {
	fmt.Fprintf(&p.b, "%-18s%s\n", name, fmt.Sprintf(format, args...))
}

func rate(x float64) string  { return humanize.CommafWithDigits(x, 0) }
func count(n int64) string   { return humanize.Comma(n) }
func memory(n int64) string  { return humanize.IBytes(uint64(max(n, 0))) }
func onOff(on bool) string   { return map[bool]string{true: "on", false: "off"}[on] }
func share(x float64) string { return fmt.Sprintf("%.1f %%", 100*x) }
