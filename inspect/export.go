package inspect

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/aether-ooc/aether-ooc/internal/host"
	"github.com/aether-ooc/aether-ooc/internal/report"
	"github.com/aether-ooc/aether-ooc/layout"
)

// ErrOption marks what the caller asked for and cannot have.
var ErrOption = errors.New("inspect: bad option")

func option(format string, args ...any) error {
	return fmt.Errorf("%w: "+format, append([]any{ErrOption}, args...)...)
}

// Format is what Export writes.
type Format string

// The formats of Export. Each holds the edges in canonical order, which is by
// list, neighbour and row of the input.
const (
	FormatText    Format = "text"    // a line for each edge: source, tab, target, and with EdgeIDs tab, e_id
	FormatNPY     Format = "npy"     // int64 of shape (2, E), or (3, E) with EdgeIDs: sources, targets, e_ids
	FormatParquet Format = "parquet" // int64 columns src, dst and with EdgeIDs edge_id
	FormatCSR     Format = "csr"     // an .npz that scipy.sparse.load_npz reads: A[src, dst], csc where lists are in-neighbours, csr otherwise
)

// exports is how each format is written, and the suffix that it is known by.
var exports = []struct {
	format Format
	suffix string
	write  func(*exporter, *host.Pending) error
}{
	{FormatText, ".txt", func(e *exporter, f *host.Pending) error { return e.text(f) }},
	{FormatText, ".tsv", func(e *exporter, f *host.Pending) error { return e.text(f) }},
	{FormatNPY, ".npy", (*exporter).npy},
	{FormatParquet, ".parquet", (*exporter).parquet},
	{FormatCSR, ".npz", (*exporter).csr},
}

// ExportConfig is what Export is asked.
type ExportConfig struct {
	Path     string                  // of the graph
	Out      string                  // the file to write; "": Stdout, as text
	Format   Format                  // "": by the suffix of Out
	EdgeIDs  bool                    // write e_id too; in a CSR it is the data, which otherwise is ones
	Original bool                    // write nodes by their own ids or names
	Stdout   io.Writer               //
	Progress func(done, total int64) // bytes read; nil: nobody is told
}

// ExportResult says what Export wrote.
type ExportResult struct {
	Path    string        `json:"path"`
	Out     string        `json:"out"`
	Format  Format        `json:"format"`
	Nodes   uint64        `json:"nodes"`
	Edges   uint64        `json:"edges"`
	EdgeIDs bool          `json:"edge_ids"`
	Bytes   int64         `json:"bytes"`
	TotalNs time.Duration `json:"total_ns"`
}

// Text is the result for people.
func (r *ExportResult) Text() string {
	return fmt.Sprintf("%s: %s edges between %s nodes as %s, %s, in %s\n",
		r.Out, report.Count(r.Edges), report.Count(r.Nodes), r.Format, report.Bytes(r.Bytes), r.TotalNs.Round(time.Millisecond))
}

// exporter is one Export.
type exporter struct {
	*job
	c     ExportConfig
	label *labels
}

// Export writes all edges of a graph, streamed: memory does not grow with the
// graph. The file appears whole or not at all.
func Export(ctx context.Context, c ExportConfig) (*ExportResult, error) {
	start := time.Now()
	write, err := c.choose()
	if err != nil {
		return nil, err
	}
	j, err := openJob(ctx, Config{Path: c.Path, Progress: c.Progress})
	if err != nil {
		return nil, err
	}
	defer j.close()
	e := &exporter{job: j, c: c}
	if e.label, err = e.labels(c.Original); err != nil {
		return nil, err
	}
	if c.Original && (c.Format == FormatCSR || c.Format == FormatNPY && e.label.named()) {
		return nil, option("%s cannot hold these ids: export as text or parquet", c.Format)
	}
	e.total = e.passes() * int64(j.Superblock.FileLength)
	s := j.Superblock
	r := &ExportResult{Path: c.Path, Out: c.Out, Format: c.Format, Nodes: s.Nodes, Edges: s.Edges, EdgeIDs: c.EdgeIDs}
	if c.Out == "" {
		r.Out, r.Format = "standard output", FormatText
		err = e.text(c.Stdout)
	} else {
		r.Format, r.Bytes, err = e.toFile(write)
	}
	r.TotalNs = time.Since(start)
	return r, err
}

type writer = func(*exporter, *host.Pending) error

// choose finds the way to write what was asked for.
func (c *ExportConfig) choose() (writer, error) {
	if c.Out == "" {
		if c.Format != "" && c.Format != FormatText {
			return nil, option("standard output gets text; name a file to write as %s", c.Format)
		}
		return nil, nil
	}
	for _, x := range exports {
		if c.Format == x.format || c.Format == "" && strings.EqualFold(filepath.Ext(c.Out), x.suffix) {
			c.Format = x.format
			return x.write, nil
		}
	}
	if c.Format != "" {
		return nil, option("there is no format %q; choose one of %s", c.Format, strings.Join(formats(), ", "))
	}
	return nil, option("%s: the suffix names no format; say --format %s", c.Out, strings.Join(formats(), ", "))
}

func formats() (list []string) {
	for _, x := range exports {
		list = append(list, string(x.format))
	}
	slices.Sort(list)
	return slices.Compact(list)
}

// passes is how often the graph is read.
func (e *exporter) passes() int64 {
	if e.c.Format == FormatCSR {
		return 3
	}
	return 1
}

func (e *exporter) toFile(write writer) (Format, int64, error) {
	f, err := host.CreatePending(e.c.Out, e.c.Path)
	if err != nil {
		return e.c.Format, 0, err
	}
	defer f.Abort()
	if err := write(e, f); err != nil {
		return e.c.Format, 0, err
	}
	size, err := f.Seek(0, io.SeekEnd)
	if err != nil {
		return e.c.Format, 0, err
	}
	return e.c.Format, size, f.Commit()
}

// direction is what the graph's lists hold.
func (e *exporter) direction() layout.Direction { return e.Superblock.Direction }

const bufferBytes = 1 << 20

func buffered(w io.Writer) *bufio.Writer { return bufio.NewWriterSize(w, bufferBytes) }
