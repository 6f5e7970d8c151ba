package bench

import (
	"fmt"
	"time"

	"github.com/HdrHistogram/hdrhistogram-go"
)

// Distribution tells how durations are distributed, in nanoseconds.
type Distribution struct {
	Min  int64   `json:"min"`
	Mean float64 `json:"mean"`
	P50  int64   `json:"p50"`
	P90  int64   `json:"p90"`
	P99  int64   `json:"p99"`
	P999 int64   `json:"p99_9"`
	Max  int64   `json:"max"`

	Buckets []Bucket `json:"buckets,omitempty"` // in json+

	histogram *hdrhistogram.Histogram
}

// Bucket is how many values lay in From … To.
type Bucket struct {
	From  int64 `json:"from"`
	To    int64 `json:"to"`
	Count int64 `json:"count"`
}

// maxLatency is the longest time that a histogram can tell.
const maxLatency = int64(time.Minute)

// newHistogram keeps three digits of each value.
func newHistogram() *hdrhistogram.Histogram { return hdrhistogram.New(1, maxLatency, 3) }

func record(h *hdrhistogram.Histogram, d time.Duration) {
	_ = h.RecordValue(min(max(int64(d), 1), maxLatency)) // cannot fail within the bounds
}

func distribution(h *hdrhistogram.Histogram) Distribution {
	if h.TotalCount() == 0 {
		return Distribution{}
	}
	return Distribution{
		Min: h.Min(), Mean: h.Mean(), Max: h.Max(), histogram: h,
		P50: h.ValueAtQuantile(50), P90: h.ValueAtQuantile(90), P99: h.ValueAtQuantile(99), P999: h.ValueAtQuantile(99.9),
	}
}

// buckets are those of the histogram that are not empty.
func (d *Distribution) buckets() []Bucket {
	if d.histogram == nil {
		return nil
	}
	var all []Bucket
	for _, b := range d.histogram.Distribution() {
		if b.Count > 0 {
			all = append(all, Bucket{b.From, b.To, b.Count})
		}
	}
	return all
}

func (d *Distribution) expand(raw bool) {
	d.Buckets = nil
	if raw {
		d.Buckets = d.buckets()
	}
}

// text gives the percentiles for people.
func (d Distribution) text() string {
	ns := func(v int64) string { return shortDuration(time.Duration(v)) }
	return fmt.Sprintf("p50 %s, p90 %s, p99 %s, p99.9 %s, max %s", ns(d.P50), ns(d.P90), ns(d.P99), ns(d.P999), ns(d.Max))
}

// nanoseconds shows a time that need not be whole.
func nanoseconds(ns float64) string { return shortDuration(time.Duration(ns)) }

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
