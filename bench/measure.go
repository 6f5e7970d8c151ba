package bench

import (
	"fmt"
	"syscall"
	"time"

	"github.com/dustin/go-humanize"

	"github.com/aether-ooc/aether-ooc/internal/host"
)

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

func rate(x float64) string  { return humanize.CommafWithDigits(x, 0) }
func onOff(on bool) string   { return map[bool]string{true: "on", false: "off"}[on] }
func share(x float64) string { return fmt.Sprintf("%.1f %%", 100*x) }
