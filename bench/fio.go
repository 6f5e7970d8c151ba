package bench

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/aether-ooc/aether-ooc/internal/report"
)

// ErrMissing marks a section that needs a program which is not installed.
var ErrMissing = errors.New("not installed")

var fioWorkload = Workload{
	Name: "fio", Target: "FILE", Short: "Let fio measure reads of a file",
	Long: `Let an installed fio read parts of a file: the same question as "bench device" with
the same options, answered by somebody else. In a job file, beside sections that ask
the device themselves or sample, their runs take turns; with against=SECTION the
ratio of two sections is reported.

Where fio is not installed, the section is reported as missing.`,
	Example: `  aether-ooc bench fio graph.bin --depth 128 --runtime 10s
  aether-ooc bench run bench/jobs/device.job --target graph.bin --repeat 5`,
	prepare: func(s *Settings) (runner, error) {
		c := deviceConfig(s)
		return func(ctx context.Context, _ env) (Result, error) { return result(runFio(ctx, c)) }, c.Check()
	},
}

// FioResult is what fio measured.
type FioResult struct {
	Common
	Version     string    `json:"fio_version"`
	Command     []string  `json:"command"`
	BlockBytes  int64     `json:"block_bytes"` // of a mix the largest
	Mix         []Portion `json:"mix,omitempty"`
	Depth       int       `json:"depth"`
	Lanes       int       `json:"lanes"`
	Reads       int64     `json:"reads"`
	IOPS        float64   `json:"iops"`
	BytesPerSec float64   `json:"bytes_per_second"`

	Clat     FioLatency `json:"clat_ns"` // from being sent to the kernel to being fetched from it
	SlatMean float64    `json:"slat_mean_ns"`
	LatMean  float64    `json:"lat_mean_ns"`

	AchievedDepth float64 `json:"achieved_depth"` // IOPS × mean latency (Little's law)
}

// FioLatency is as much of a distribution as fio tells.
type FioLatency struct {
	Mean float64 `json:"mean"`
	P50  float64 `json:"p50"`
	P99  float64 `json:"p99"`
	P999 float64 `json:"p99_9"`
	Max  float64 `json:"max"`
}

// runFio asks fio what runDevice asks the device.
func runFio(ctx context.Context, c DeviceConfig) (*FioResult, error) {
	program, err := exec.LookPath("fio")
	if err != nil {
		return nil, fmt.Errorf("fio is %w: install it (its package is called fio), or leave out its sections", ErrMissing)
	}
	if _, err := os.Stat(c.Path); err != nil {
		return nil, fmt.Errorf("bench: %w", err)
	}
	var out, complaints bytes.Buffer
	run := exec.CommandContext(ctx, program, c.fioArgs()...)
	run.Stdout, run.Stderr = &out, &complaints
	run.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}                 // an interrupt of the terminal reaches it through us, once
	run.Cancel = func() error { return run.Process.Signal(os.Interrupt) } // then it reports what it has measured
	run.WaitDelay = 10 * time.Second
	from := takeUsage()
	err = run.Run()
	to := takeUsage()
	r, bad := parseFio(out.Bytes())
	switch {
	case ctx.Err() != nil && bad != nil:
		r = &FioResult{} // interrupted before it had anything to report
	case bad != nil || err != nil && ctx.Err() == nil:
		return nil, fmt.Errorf("bench: fio: %w: %s", errors.Join(err, bad), lastLine(out.String()+complaints.String()))
	}
	r.describe(c, run.Args)
	r.use(from, to, run.ProcessState)
	r.CutShort = ctx.Err() != nil
	return r, nil
}

// fioArgs are the words that ask fio the question of c.
func (c DeviceConfig) fioArgs() []string {
	args := []string{
		"--name=aether-ooc", "--filename=" + strings.ReplaceAll(c.Path, ":", `\:`), "--readonly", "--group_reporting", "--output-format=json",
		"--rw=" + map[bool]string{false: "randread", true: "read"}[c.Sequential],
		"--ioengine=" + map[bool]string{false: "io_uring", true: "psync"}[c.Backend == "pread"],
		"--direct=" + map[bool]string{false: "1", true: "0"}[c.Buffered],
		fmt.Sprintf("--iodepth=%d", c.Depth), fmt.Sprintf("--numjobs=%d", c.Lanes), fmt.Sprintf("--randseed=%d", c.Seed),
		"--time_based", fmt.Sprintf("--runtime=%dms", c.Runtime.Milliseconds()), fmt.Sprintf("--ramp_time=%dms", c.Ramp.Milliseconds()),
	}
	if !c.Plain {
		args = append(args, "--fixedbufs", "--registerfiles")
	}
	if c.Mix == nil {
		return append(args, fmt.Sprintf("--bs=%d", c.BlockBytes))
	}
	var parts []string
	for _, p := range c.Mix {
		parts = append(parts, fmt.Sprintf("%d/%d", p.Bytes, p.Weight))
	}
	return append(args, "--bssplit="+strings.Join(parts, ":"))
}

// fioReport is what is needed of fio's JSON.
type fioReport struct {
	Version string `json:"fio version"`
	Jobs    []struct {
		UserCPU   float64 `json:"usr_cpu"` // per cent
		SystemCPU float64 `json:"sys_cpu"`
		Read      struct {
			IOPS      float64                `json:"iops"`
			Bandwidth float64                `json:"bw_bytes"`
			Total     int64                  `json:"total_ios"`
			RuntimeMs float64                `json:"runtime"`
			Slat      struct{ Mean float64 } `json:"slat_ns"`
			Lat       struct{ Mean float64 } `json:"lat_ns"`
			Clat      struct {
				Mean, Max  float64
				Percentile map[string]float64
			} `json:"clat_ns"`
		}
	}
}

// parseFio reads what fio printed; it may say something before its JSON.
func parseFio(out []byte) (*FioResult, error) {
	var f fioReport
	if err := json.Unmarshal(out[max(0, bytes.IndexByte(out, '{')):], &f); err != nil {
		return nil, fmt.Errorf("its report is not understood: %w", err)
	}
	if len(f.Jobs) != 1 {
		return nil, fmt.Errorf("its report has %d jobs", len(f.Jobs))
	}
	read := f.Jobs[0].Read
	r := &FioResult{
		Version: f.Version, Reads: read.Total, IOPS: read.IOPS, BytesPerSec: read.Bandwidth, SlatMean: read.Slat.Mean, LatMean: read.Lat.Mean,
		Clat: FioLatency{Mean: read.Clat.Mean, Max: read.Clat.Max},
	}
	for word, p := range map[string]*float64{"50": &r.Clat.P50, "99": &r.Clat.P99, "99.9": &r.Clat.P999} {
		*p = percentile(read.Clat.Percentile, word)
	}
	r.AchievedDepth = r.IOPS * r.LatMean / 1e9
	r.Seconds = read.RuntimeMs / 1e3
	r.CPUSeconds = (f.Jobs[0].UserCPU + f.Jobs[0].SystemCPU) / 100 * r.Seconds
	return r, nil
}

// percentile finds a value under a key such as 99.900000.
func percentile(all map[string]float64, want string) float64 {
	for key, v := range all {
		if x, err := strconv.ParseFloat(key, 64); err == nil && strconv.FormatFloat(x, 'f', -1, 64) == want {
			return v
		}
	}
	return 0
}

// describe says what was asked.
func (r *FioResult) describe(c DeviceConfig, command []string) {
	r.Command, r.BlockBytes, r.Mix, r.Depth, r.Lanes, r.counted = command, c.largest(), c.Mix, c.Depth, c.Lanes, "reads"
	r.CPUSeconds *= float64(c.Lanes) // what fio gives is of a lane
	r.Verdict = fmt.Sprintf("fio gets %s reads a second, for %s of one core", rate(r.IOPS), share(ratio(r.CPUSeconds, r.Seconds)))
}

// use fills in what it took of the machine: time and CPU as fio says, of its
// measured part; what others took is of its whole run.
func (r *FioResult) use(from, to usage, ended *os.ProcessState) {
	if ended == nil {
		return // interrupted before it was started
	}
	seconds, cpu := r.Seconds, r.CPUSeconds
	to.cpu += ended.UserTime() + ended.SystemTime()
	r.took(from, to)
	r.Seconds, r.CPUSeconds, r.CPUShare = seconds, cpu, ratio(cpu, seconds*float64(r.CPUs))
	if u, ok := ended.SysUsage().(*syscall.Rusage); ok {
		r.PeakRSSBytes = u.Maxrss << 10
	}
}

func lastLine(text string) string {
	lines := strings.Split(strings.TrimSpace(text), "\n")
	return lines[len(lines)-1]
}

// Metrics implements Result.
func (r *FioResult) Metrics() []Metric {
	return []Metric{
		{"iops", r.IOPS, Higher}, {"bytes_per_second", r.BytesPerSec, Higher},
		{"clat_ns.p50", r.Clat.P50, Lower}, {"clat_ns.p99", r.Clat.P99, Lower},
		{"cpu_seconds_per_million_reads", ratio(r.CPUSeconds*1e6, float64(r.Reads)), Lower}, {"achieved_depth", r.AchievedDepth, Neither},
	}
}

// Text is the report for people.
func (r *FioResult) Text() string {
	var p report.Page
	p.Line("verdict", "%s", r.Verdict)
	p.Line("command", "%s", strings.Join(r.Command, " "))
	p.Line("IOPS", "%s (%s/s, %s reads), %s", rate(r.IOPS), report.Bytes(int64(r.BytesPerSec)), report.Count(r.Reads), r.Version)
	p.Line("latency", "mean %s, of which %s to be sent", nanoseconds(r.LatMean), nanoseconds(r.SlatMean))
	p.Line("  in the kernel", "p50 %s, p99 %s, p99.9 %s, max %s", nanoseconds(r.Clat.P50), nanoseconds(r.Clat.P99), nanoseconds(r.Clat.P999), nanoseconds(r.Clat.Max))
	p.Line("depth", "%.1f achieved of %d × %d lanes", r.AchievedDepth, r.Depth, r.Lanes)
	p.Line("CPU", "%s of one core", share(ratio(r.CPUSeconds, r.Seconds)))
	p.Line("time", "%.2f s measured", r.Seconds)
	p.Line("peak memory", "%s", report.Bytes(r.PeakRSSBytes))
	r.closing(&p)
	return p.String()
}
