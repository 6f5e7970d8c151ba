package bench

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"slices"
	"strings"
	"text/tabwriter"

	"github.com/aether-ooc/aether-ooc/internal/host"
	"github.com/aether-ooc/aether-ooc/internal/report"
)

// SweepConfig says which reads to measure, one after the other.
type SweepConfig struct {
	Device  DeviceConfig // all but size and depth
	Sizes   []int64      // bytes
	Depths  []int64
	Profile string // where to write the device profile; "": nowhere
}

// Check says what is wrong with the configuration.
func (c SweepConfig) Check() error {
	for _, size := range c.Sizes {
		if err := c.cell(size, c.Depths[0]).Check(); err != nil {
			return err
		}
	}
	if c.Profile == "" {
		return nil
	}
	if err := host.CheckTarget(c.Profile, c.Device.Path); err != nil {
		return optionf("profile: %w", err)
	}
	return nil
}

// cell is the configuration of one size and depth.
func (c SweepConfig) cell(size, depth int64) DeviceConfig {
	d := c.Device
	d.BlockBytes, d.Mix, d.Depth = size, nil, int(depth)
	return d
}

// SweepResult is a table of sizes and depths.
type SweepResult struct {
	Common
	Direct  bool        `json:"direct"`
	Backend string      `json:"backend"`
	Lanes   int         `json:"lanes"`
	Cells   []SweepCell `json:"cells"`
}

// SweepCell is what one size and depth gave.
type SweepCell struct {
	BlockBytes  int64        `json:"block_bytes"`
	Depth       int64        `json:"depth"`
	IOPS        float64      `json:"iops"`
	BytesPerSec float64      `json:"bytes_per_second"`
	Latency     Distribution `json:"lat_ns"`
}

// runSweep measures the reads of every size at every depth. When ctx ends early the
// result holds the cells that were measured in full.
func runSweep(ctx context.Context, c SweepConfig, e env) (*SweepResult, error) {
	file, err := c.cell(slices.Max(c.Sizes), 1).open() // rather now than after minutes
	if err != nil {
		return nil, err
	}
	file.Close()
	r := &SweepResult{Lanes: c.Device.Lanes}
	from := takeUsage()
	total := int64(len(c.Sizes) * len(c.Depths))
	for _, size := range c.Sizes {
		for _, depth := range c.Depths {
			d, err := runDevice(ctx, c.cell(size, depth), env{})
			if err != nil {
				return nil, err
			}
			if d.CutShort {
				break
			}
			r.Direct, r.Backend = d.Direct, d.Backend
			r.Cells = append(r.Cells, SweepCell{size, depth, d.IOPS, d.BytesPerSec, d.Latency})
			e.progress("sweep", int64(len(r.Cells)), total)
		}
	}
	r.took(from, takeUsage())
	r.CutShort = ctx.Err() != nil
	r.Verdict = r.verdict()
	if c.Profile == "" || r.CutShort {
		return r, nil
	}
	return r, r.profile(placeOf(c.Device.Path)).save(c.Profile)
}

// best is the cell of a size with the most IOPS.
func (r *SweepResult) best(size int64) SweepCell {
	var best SweepCell
	for _, c := range r.Cells {
		if c.BlockBytes == size && c.IOPS > best.IOPS {
			best = c
		}
	}
	return best
}

func (r *SweepResult) sizes() []int64 {
	var all []int64
	for _, c := range r.Cells {
		if !slices.Contains(all, c.BlockBytes) {
			all = append(all, c.BlockBytes)
		}
	}
	return all
}

// at is the cell of a size and depth, or an empty one.
func (r *SweepResult) at(size, depth int64) SweepCell {
	for _, c := range r.Cells {
		if c.BlockBytes == size && c.Depth == depth {
			return c
		}
	}
	return SweepCell{}
}

func (r *SweepResult) depths() []int64 {
	var all []int64
	for _, c := range r.Cells {
		if !slices.Contains(all, c.Depth) {
			all = append(all, c.Depth)
		}
	}
	return all
}

// verdict compares the smallest read with a larger one: whether a byte or a
// request is what the device charges for.
func (r *SweepResult) verdict() string {
	sizes := r.sizes()
	if len(sizes) == 0 {
		return "nothing was measured"
	}
	small, large := r.best(sizes[0]), r.best(sizes[len(sizes)-1])
	return fmt.Sprintf("a read of %s costs %s at best, one of %s %s: reading on costs %s for each further %s",
		report.Bytes(small.BlockBytes), costText(small), report.Bytes(large.BlockBytes), costText(large),
		nanoseconds(ratio(cost(large)-cost(small), float64(large.BlockBytes-small.BlockBytes)/4096)), report.Bytes(4096))
}

// cost is the device's time for a read when it has enough of them, in
// nanoseconds.
func cost(c SweepCell) float64 { return ratio(1e9, c.IOPS) }

func costText(c SweepCell) string { return nanoseconds(cost(c)) }

// Metrics implements Result.
func (r *SweepResult) Metrics() []Metric {
	var all []Metric
	for _, c := range r.Cells {
		all = append(all, Metric{fmt.Sprintf("iops.%d_bytes.depth_%d", c.BlockBytes, c.Depth), c.IOPS, Higher})
	}
	if all == nil {
		all = []Metric{{"cells", 0, Higher}}
	}
	return all
}

// Text is the report for people.
func (r *SweepResult) Text() string {
	var p report.Page
	p.Line("verdict", "%s", r.Verdict)
	p.Line("reads", "random, %s, %d lanes, direct %s", r.Backend, r.Lanes, onOff(r.Direct))
	b := new(strings.Builder)
	b.WriteString("\nIOPS by size and depth\n")
	w := tabwriter.NewWriter(b, 0, 0, 2, ' ', tabwriter.AlignRight)
	for _, depth := range r.depths() {
		fmt.Fprintf(w, "\t%d", depth)
	}
	fmt.Fprintln(w, "\t")
	for _, size := range r.sizes() {
		fmt.Fprint(w, report.Bytes(size))
		for _, depth := range r.depths() {
			fmt.Fprintf(w, "\t%s", rate(r.at(size, depth).IOPS))
		}
		fmt.Fprintln(w, "\t")
	}
	w.Flush()
	b.WriteByte('\n')
	p.Text(b.String())
	r.closing(&p)
	return p.String()
}

func (r *SweepResult) charts() []chart {
	c := chart{Title: "IOPS by size and depth", X: "reads in flight", Heat: &heat{}}
	for _, depth := range r.depths() {
		c.Names = append(c.Names, fmt.Sprint(depth))
	}
	for _, size := range r.sizes() {
		var row []float64
		for _, depth := range r.depths() {
			row = append(row, r.at(size, depth).IOPS)
		}
		c.Heat.rows = append(c.Heat.rows, strings.ReplaceAll(report.Bytes(size), ".0", ""))
		c.Heat.values = append(c.Heat.values, row)
	}
	if c.Heat.values == nil {
		return nil
	}
	return []chart{c}
}

// ProfileFormat names the JSON of a DeviceProfile.
const ProfileFormat = "aether-ooc device profile 1"

// DeviceProfile says what reads cost on a device.
type DeviceProfile struct {
	Format string        `json:"format"`
	Host   Host          `json:"host"`
	Place  Place         `json:"place"`
	Direct bool          `json:"direct"`
	Reads  []ProfileRead `json:"reads"` // by size
}

// ProfileRead is one size of reads.
type ProfileRead struct {
	Bytes    int64   `json:"bytes"`
	CostNs   float64 `json:"cost_ns"`   // of the device's time, with enough reads in flight
	AtDepth  int64   `json:"at_depth"`  // the depth at which that was reached
	AloneNs  float64 `json:"alone_ns"`  // mean latency at the least depth that was measured
	LeastAt  int64   `json:"alone_at"`  // that depth
	BestIOPS float64 `json:"best_iops"` // 1e9 ÷ CostNs
}

func (r *SweepResult) profile(p Place) DeviceProfile {
	d := DeviceProfile{Format: ProfileFormat, Host: ThisHost(), Place: p, Direct: r.Direct}
	least := slices.Min(r.depths())
	for _, size := range r.sizes() {
		best := r.best(size)
		d.Reads = append(d.Reads, ProfileRead{size, cost(best), best.Depth, r.at(size, least).Latency.Mean, least, best.IOPS})
	}
	return d
}

func (d DeviceProfile) save(path string) error {
	b, err := json.MarshalIndent(d, "", "  ")
	if err != nil {
		return err
	}
	if err := os.WriteFile(path, append(b, '\n'), 0o644); err != nil {
		return fmt.Errorf("bench: device profile: %w", err)
	}
	return nil
}
