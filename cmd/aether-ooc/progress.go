package main

import (
	"io"
	"os"
	"time"

	"github.com/schollz/progressbar/v3"
	"github.com/spf13/cobra"
)

// progress shows work in progress on a terminal and is silent elsewhere. Its
// method fits the Progress callbacks of ingest, inspect and engine.
type progress struct {
	w     io.Writer
	bar   *progressbar.ProgressBar
	phase string
	unit  string
}

func newProgress(c *cobra.Command, unit string) *progress {
	p := &progress{unit: unit}
	if f, ok := c.ErrOrStderr().(*os.File); ok && isTerminal(f) {
		p.w = f
	}
	return p
}

func isTerminal(f *os.File) bool {
	info, err := f.Stat()
	return err == nil && info.Mode()&os.ModeCharDevice != 0 && os.Getenv("TERM") != "dumb"
}

// step reports that done of total (≤ 0: unknown) units of a phase are done.
func (p *progress) step(phase string, done, total int64) {
	if p.w == nil {
		return
	}
	if p.bar == nil || phase != p.phase {
		p.finish()
		p.phase = phase
		if total <= 0 {
			total = -1
		}
		p.bar = progressbar.NewOptions64(total, progressbar.OptionSetWriter(p.w), progressbar.OptionSetDescription(phase),
			progressbar.OptionShowCount(), progressbar.OptionShowIts(), progressbar.OptionSetItsString(p.unit),
			progressbar.OptionThrottle(100*time.Millisecond), progressbar.OptionClearOnFinish(), progressbar.OptionSetPredictTime(true))
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
