//go:build linux

package ingest

import (
	"fmt"
	"log/slog"

	"github.com/aether-ooc/aether-ooc/ingest/source"
	"github.com/aether-ooc/aether-ooc/internal/host"
	"github.com/aether-ooc/aether-ooc/internal/spill"
	"github.com/aether-ooc/aether-ooc/layout"
)

// Progress hears how far a phase is. total is 0 where it is not known; what is
// counted (bytes, passes, edges) depends on the phase.
type Progress func(phase string, done, total int64)

// Config says what to build from what. Only Input, or Source.Inputs, and Out are
// required.
type Config struct {
	Input  string        // an edge list
	Source source.Config // several of them (Inputs), and how they are to be read; Nodes and Workers are those below
	Out    string        // the graph; attachments go beside it

	NumNodes      int64             // 0: the largest id + 1
	Direction     layout.Direction  // whose list an edge belongs to; In: its target's
	EdgeIDs       layout.EdgeIDMode // EdgeIDsInput (e_id is the input row) or EdgeIDsStored
	Undirected    bool              // every edge but loops also in reverse, with the same edge id
	Dedup         bool              // of edges with the same ends keep the lowest row
	DropSelfLoops bool
	Relabel       layout.Original // number the nodes that occur anew, by rank, and keep their own ids
	RelabelSeed   uint64          // of the hashes of names
	Encoding      layout.Encoding // Plain, or Compact: a smaller file

	Features      string     // .npy of shape (nodes, columns); "": none
	FeaturesDType string     // "bf16": read 16-bit words as bfloat16; "": as the file says
	NodeAttrs     []NodeAttr // .npy each, first dimension: nodes

	Memory   int64  // bytes; 0: half of what machine and control group allow
	Temp     string // folder for edges that do not fit in Memory; "": beside Out
	Workers  int    // 0: one per CPU
	Progress Progress
	Log      *slog.Logger // hears how much temporary space is needed; nil: nobody

	drop      bool   // leave out what lies beside the graph that is merged with
	below     int64  // memory that a merge takes for that graph
	tune      *sizes // in place of those that follow from Memory, for tests
	temporary func(dir string) (spill.Disk, error)
}

// NodeAttr is an array with one row per node, such as labels.
type NodeAttr struct{ Name, Path string }

// Format is how an edge list is written down.
type Format = source.Format

// The formats that RMAT writes, too.
const (
	FormatAuto = source.FormatAuto
	FormatText = source.FormatText
	FormatNPY  = source.FormatNPY
)

const maxWorkers = 64

// withDefaults checks the options that need no file and fills in the rest.
func (c Config) withDefaults() (Config, error) {
	switch {
	case c.Input != "" && len(c.Source.Inputs) > 0:
		return c, option("an input is given, and a list of inputs; name them all in the list")
	case len(c.Source.Columns) > 2+len(edgeColumns):
		return c, option("%d columns are named; name source, target, and at most a weight and a time", len(c.Source.Columns))
	case c.Out == "":
		return c, option("no output given; name the graph file to write")
	case c.NumNodes < 0:
		return c, option("number of nodes %d is negative; leave it out to count them", c.NumNodes)
	case c.Direction > layout.Out:
		return c, option("direction %d is not known; use in or out", c.Direction)
	case c.EdgeIDs != layout.EdgeIDsInput && c.EdgeIDs != layout.EdgeIDsStored:
		return c, option("edge ids %s cannot be asked for; use input or stored", c.EdgeIDs)
	case c.FeaturesDType != "" && c.FeaturesDType != "bf16":
		return c, option("dtype %q is not known; use bf16, or leave it out to take the file's own", c.FeaturesDType)
	case c.FeaturesDType != "" && c.Features == "":
		return c, option("a dtype is given but no features; name the features' file too")
	case c.Memory < 0:
		return c, option("memory %d is negative", c.Memory)
	case c.Workers < 0:
		return c, option("workers %d is negative", c.Workers)
	}
	if err := c.checkRelabel(); err != nil {
		return c, err
	}
	c.Workers = workersOr(c.Workers)
	if c.Progress == nil {
		c.Progress = func(string, int64, int64) {}
	}
	if c.Log == nil {
		c.Log = slog.New(slog.DiscardHandler)
	}
	if c.temporary == nil {
		c.temporary = spill.Temporary
	}
	return c.withMemory()
}

func (c Config) withMemory() (Config, error) {
	if c.Memory > 0 {
		return c, c.checkMemory()
	}
	limit, err := host.MemoryLimit()
	if err != nil {
		return c, fmt.Errorf("how much memory there is cannot be told (%w); give the memory to use", err)
	}
	c.Memory = limit / 2
	return c, c.checkMemory()
}

func workersOr(n int) int {
	if n == 0 {
		n = host.CPUs()
	}
	return min(n, maxWorkers)
}

// others are the files that the build reads besides its edges.
func (c Config) others() []string {
	all := []string{c.Features}
	for _, a := range c.NodeAttrs {
		all = append(all, a.Path)
	}
	return all
}

// perRow is how many edges one row of the input can make.
func (c Config) perRow() int64 {
	if c.Undirected {
		return 2
	}
	return 1
}

// source says what edges to read.
func (c Config) source() source.Config {
	s := c.Source
	if c.Input != "" {
		s.Inputs = []string{c.Input}
	}
	s.Nodes, s.Workers = c.NumNodes, c.Workers
	s.Names, s.NameSeed = c.Relabel == layout.OriginalNames, c.RelabelSeed
	return s
}
