package bench

import (
	"os"
	"runtime"
	"runtime/metrics"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/aether-ooc/aether-ooc/internal/host"
	"github.com/aether-ooc/aether-ooc/internal/report"
)

// Common is what every result tells: what, where, when, and what it took of the
// machine.
type Common struct {
	Workload string    `json:"workload"`
	Target   string    `json:"target"`
	Place    Place     `json:"place"` // where the target lies
	Started  time.Time `json:"started"`
	Seconds  float64   `json:"seconds"` // of the measured part
	CutShort bool      `json:"cut_short"`
	Verdict  string    `json:"verdict"`

	CPUSeconds      float64 `json:"cpu_seconds"`       // of the process, in the measured part
	CPUs            int     `json:"cpus"`              // that the process may use
	CPUShare        float64 `json:"cpu_share"`         // of those
	OthersCPUShare  float64 `json:"others_cpu_share"`  // of the machine's CPUs: taken by other processes, or the hypervisor
	GCCPUShare      float64 `json:"gc_cpu_share"`      // of CPUSeconds; known as of the last collection
	Allocs          int64   `json:"allocs"`            // on the Go heap, in the measured part
	PeakRSSBytes    int64   `json:"peak_rss_bytes"`    // of the process, in this run
	CgroupPeakBytes int64   `json:"cgroup_peak_bytes"` // of the process's control group, since it exists; 0: not known

	Series []Point `json:"series,omitempty"` // in json+

	series        []Point
	counted       string // what series counts
	distributions []namedDistribution
}

// Point is one place of a series over time.
type Point struct {
	AtSeconds float64 `json:"at_seconds"`
	PerSecond float64 `json:"per_second"`
}

func (c *Common) common() *Common { return c }

// namedDistribution is a distribution of a result, and what it is called.
type namedDistribution struct {
	name string
	*Distribution
}

// keep makes a distribution known to json+ and to the report.
func (c *Common) keep(name string, d *Distribution) {
	c.distributions = append(c.distributions, namedDistribution{name, d})
}

// expand shows, or hides again, what only json+ has.
func (c *Common) expand(raw bool) {
	c.Series = nil
	if raw {
		c.Series = c.series
	}
	for _, d := range c.distributions {
		d.expand(raw)
	}
}

// usage is what the process has taken until one moment.
type usage struct {
	at      time.Time
	cpu     time.Duration
	gc      float64 // seconds
	allocs  uint64
	machine float64 // seconds that all CPUs together were busy
}

func takeUsage() usage {
	samples := []metrics.Sample{{Name: "/cpu/classes/gc/total:cpu-seconds"}, {Name: "/gc/heap/allocs:objects"}}
	metrics.Read(samples)
	return usage{at: time.Now(), cpu: cpuTime(syscall.RUSAGE_SELF), gc: samples[0].Value.Float64(), allocs: samples[1].Value.Uint64(), machine: machineBusy()}
}

// machineBusy is for how many seconds all CPUs together have done something, be it
// for other machines on the same host; 0 where the kernel does not say.
func machineBusy() float64 {
	b, err := os.ReadFile("/proc/stat")
	if err != nil {
		return 0
	}
	line, _, _ := strings.Cut(string(b), "\n")
	const ticks = 100 // a second, on every Linux that Go runs on
	var busy float64
	for i, word := range strings.Fields(line) { // cpu user nice system idle iowait irq softirq steal …
		if n, err := strconv.ParseFloat(word, 64); err == nil && i < 9 && i != 4 && i != 5 {
			busy += n / ticks
		}
	}
	return busy
}

// took fills in what the measured part took, from a to b.
func (c *Common) took(a, b usage) {
	c.Seconds = b.at.Sub(a.at).Seconds()
	c.CPUSeconds = (b.cpu - a.cpu).Seconds()
	c.CPUs = host.CPUs()
	c.CPUShare = ratio(c.CPUSeconds, c.Seconds*float64(c.CPUs))
	c.OthersCPUShare = max(0, ratio(b.machine-a.machine-c.CPUSeconds, c.Seconds*float64(runtime.NumCPU())))
	c.GCCPUShare = min(1, ratio(b.gc-a.gc, c.CPUSeconds))
	c.Allocs = int64(b.allocs - a.allocs)
	c.PeakRSSBytes = peakRSS()
	if peak, err := host.CgroupPeak(); err == nil {
		c.CgroupPeakBytes = peak
	}
}

// resetPeakRSS makes the kernel count the process's peak memory anew. Where it
// refuses, a peak is that of the whole process, as before.
func resetPeakRSS() { _ = os.WriteFile("/proc/self/clear_refs", []byte("5"), 0) }

// closing are the last lines of a page.
func (c *Common) closing(p *report.Page) {
	if c.CgroupPeakBytes > 0 {
		p.Line("cgroup peak", "%s, since the group exists, page cache included", report.Bytes(c.CgroupPeakBytes))
	}
	p.Line("place", "%s", c.Place)
	if c.CutShort {
		p.Line("CUT SHORT", "interrupted; the figures are of the part that ran")
	}
}
