package main

import (
	"encoding/json"
	"errors"
	"io"
	"io/fs"
	"os"
	"time"

	"github.com/schollz/progressbar/v3"
	"github.com/spf13/cobra"

	"github.com/aether-ooc/aether-ooc/ingest"
	"github.com/aether-ooc/aether-ooc/layout"
)

// progress shows work in progress: as a bar on a terminal, or as JSON, and not at
// all elsewhere. Its method fits the Progress callbacks of ingest, inspect and
// engine.
type progress struct {
	w     io.Writer
	json  *json.Encoder // in place of bars
	told  time.Time     // when it last spoke
	bar   *progressbar.ProgressBar
	phase string
	unit  string
}

// Ways to show progress.
const (
	progressAuto = "auto"
	progressJSON = "json"
	progressNone = "none"
)

func newProgress(c *cobra.Command, unit string) *progress {
	p := &progress{unit: unit}
	switch way, _ := c.Flags().GetString("progress"); way {
	case progressJSON:
		p.json = json.NewEncoder(c.ErrOrStderr())
	case progressNone:
	default:
		if f, ok := c.ErrOrStderr().(*os.File); ok && isTerminal(f) {
			p.w = f
		}
	}
	return p
}

func isTerminal(f *os.File) bool {
	info, err := f.Stat()
	return err == nil && info.Mode()&os.ModeCharDevice != 0 && os.Getenv("TERM") != "dumb"
}

// throttle is the least time between two words on the same phase.
const throttle = 100 * time.Millisecond

// step reports that done of total (≤ 0: unknown) units of a phase are done.
func (p *progress) step(phase string, done, total int64) {
	switch {
	case p.json != nil:
		p.tell(phase, done, total)
	case p.w != nil:
		p.draw(phase, done, total)
	}
}

func (p *progress) tell(phase string, done, total int64) {
	if phase == p.phase && done != total && time.Since(p.told) < throttle {
		return
	}
	p.phase, p.told = phase, time.Now()
	_ = p.json.Encode(struct {
		Phase string `json:"phase"`
		Done  int64  `json:"done"`
		Total int64  `json:"total"` // 0: not known
	}{phase, done, max(total, 0)})
}

func (p *progress) draw(phase string, done, total int64) {
	if p.bar == nil || phase != p.phase {
		p.finish()
		p.phase = phase
		if total <= 0 {
			total = -1
		}
		p.bar = progressbar.NewOptions64(total, progressbar.OptionSetWriter(p.w), progressbar.OptionSetDescription(phase),
			progressbar.OptionShowCount(), progressbar.OptionShowIts(), progressbar.OptionSetItsString(p.unit),
			progressbar.OptionThrottle(throttle), progressbar.OptionClearOnFinish(), progressbar.OptionSetPredictTime(true))
	}
	_ = p.bar.Set64(done)
}

// finish takes the bar off the screen.
func (p *progress) finish() {
	if p.bar != nil {
		_ = p.bar.Finish()
		p.bar = nil
	}
}

// phased is step for work of one phase.
func (p *progress) phased(phase string) func(done, total int64) {
	return func(done, total int64) { p.step(phase, done, total) }
}

// kinds name what went wrong, for programs that run this one with --progress
// json. The first that fits counts.
var kinds = []struct {
	err  error
	kind string
}{
	{layout.ErrCorrupt, "corrupt"}, {fs.ErrNotExist, "not_found"}, {fs.ErrPermission, "permission"},
	{ingest.ErrInput, "input"}, {ingest.ErrOverBudget, "memory"}, {ingest.ErrOption, "usage"},
}

// complain prints an error for whoever called.
func complain(c *cobra.Command, w io.Writer, err error) {
	if way, _ := c.PersistentFlags().GetString("progress"); way != progressJSON {
		_, _ = io.WriteString(w, "aether-ooc: "+err.Error()+"\n")
		return
	}
	kind := "failure"
	if exitCode(err) == exitUsage {
		kind = "usage"
	}
	for _, k := range kinds {
		if errors.Is(err, k.err) {
			kind = k.kind
			break
		}
	}
	_ = json.NewEncoder(w).Encode(map[string]string{"error": err.Error(), "kind": kind})
}
