package inspect

import (
	"context"

	"github.com/aether-ooc/aether-ooc/ingest/source"
	"github.com/aether-ooc/aether-ooc/scan"
)

// Config is what Run and Verify are asked.
type Config struct {
	Path     string
	Degrees  bool                    // Run: fill in Degrees.Histogram
	Memory   int64                   // Verify: bytes for the uniqueness of edge ids, and for lists to compare; 0: 512 MiB
	Against  source.Config           // Verify: the edge list that the graph was built from, where Inputs are named
	Progress func(done, total int64) // bytes; nil: nobody is told
}

// pieceBytes is how much of a file beside a graph is read at once.
const pieceBytes = 1 << 20

// job is one run over a graph.
type job struct {
	*scan.Graph
	c           Config
	done, total int64 // bytes
}

// openJob opens the graph; the caller closes it.
func openJob(ctx context.Context, c Config) (j *job, err error) {
	j = &job{c: c}
	j.Graph, err = scan.Open(ctx, c.Path, j.progress)
	return j, err
}

func (j *job) close() { _ = j.Close() } // it was read only

func (j *job) progress(n int) {
	j.done += int64(n)
	if j.c.Progress != nil {
		j.c.Progress(j.done, j.total)
	}
}
