package bench

import (
	"context"
	"log/slog"
	"time"

	"github.com/aether-ooc/aether-ooc/engine"
)

// Workload is one thing that can be measured.
type Workload struct {
	Name    string
	Target  string // what it is measured on, in capitals: FILE, GRAPH
	Short   string // one line of help
	Long    string // the page of help
	Example string

	// prepare turns settings into a run, and says what is wrong with them
	// before anything is opened.
	prepare func(*Settings) (runner, error)
}

// runner is one configured run.
type runner func(ctx context.Context, e env) (Result, error)

// result is a run's outcome as a runner gives it: no Result with an error.
func result[R Result](r R, err error) (Result, error) {
	if err != nil {
		return nil, err
	}
	return r, nil
}

// env is what surrounds one run: the program's hooks, and where to say how it
// goes.
type env struct {
	Hooks
	every time.Duration // 0: never
	say   func(Status)
}

// Hooks are what a program may want to hear while something is measured; all
// may be left out.
type Hooks struct {
	Log      *slog.Logger                          // warnings of what is opened
	Opened   func(engine.Info)                     // an engine was opened
	Progress func(phase string, done, total int64) // total 0: not known
	Status   func(section string, s Status)        // every status-interval
}

func (h Hooks) opened(i engine.Info) {
	if h.Opened != nil {
		h.Opened(i)
	}
}

func (h Hooks) progress(phase string, done, total int64) {
	if h.Progress != nil {
		h.Progress(phase, done, total)
	}
}

// Result is what a run measured.
type Result interface {
	Text() string      // for people
	Metrics() []Metric // the figures that runs are compared by, the foremost first
	common() *Common
}

// Better says in which direction a figure improves.
type Better string

// The directions.
const (
	Higher  Better = "higher"
	Lower   Better = "lower"
	Neither Better = "neither" // a circumstance
)

// Metric is a figure of a result.
type Metric struct {
	Name   string  `json:"name"` // its key in JSON, with the unit
	Value  float64 `json:"value"`
	Better Better  `json:"better"`
}

// workloads are all there are; each file of one adds its own here.
func workloads() []*Workload {
	return []*Workload{&deviceWorkload, &fioWorkload, &sampleWorkload, &featuresWorkload, &cacheWorkload, &serveWorkload, &buildWorkload}
}

// Workloads lists them.
func Workloads() []*Workload { return workloads() }

func findWorkload(name string) (*Workload, error) {
	var known []string
	for _, w := range workloads() {
		if w.Name == name {
			return w, nil
		}
		known = append(known, w.Name)
	}
	return nil, optionf("no workload is called %q%s", name, meant(name, known))
}

// Status is how far a run is.
type Status struct {
	Elapsed   time.Duration // of the measured part
	Done      int64
	PerSecond float64 // since the status before
	Unit      string  // what is counted
}
