package matrix

import (
	"bufio"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/aether-ooc/aether-ooc/features"
	"github.com/aether-ooc/aether-ooc/internal/base"
	"github.com/aether-ooc/aether-ooc/internal/host"
	"github.com/aether-ooc/aether-ooc/internal/report"
	"github.com/aether-ooc/aether-ooc/layout"
)

// FeaturesConfig says what to make a feature file from. Input.Path and Out are
// required.
type FeaturesConfig struct {
	Input Config
	IDs   string // .npy of integers that names each row of the input; "": rows are in the order of ids
	Out   string

	Graph string   // its nodes are counted, and checksums written beside Out; "": neither
	Edges bool     // rows belong to edges, by e_id, in place of nodes
	Rows  int64    // that there must be; 0: the graph's, or as many as come
	Fill  *float64 // of rows that the keys do not name; nil: each must be named

	DType    string                                // float32, float16, bfloat16; "": the input's own
	Memory   int64                                 // bytes; 0: half of what machine and control group allow
	Progress func(phase string, done, total int64) // nil: nobody is told
}

// FeaturesResult is what Features did.
type FeaturesResult struct {
	Input       string        `json:"input"`
	InputDType  string        `json:"input_dtype"`
	Out         string        `json:"out"`
	DType       string        `json:"dtype"`
	Rows        int64         `json:"rows"`
	Dim         int64         `json:"dim"`
	RowBytes    int64         `json:"row_bytes"`
	FilledRows  int64         `json:"filled_rows"` // that no key named
	Bytes       int64         `json:"bytes"`
	Checksums   bool          `json:"checksums"`
	Hash        string        `json:"hash,omitempty"` // XXH3-128 of the file
	TotalNs     time.Duration `json:"total_ns"`
	BudgetBytes int64         `json:"budget_bytes"`
}

// Text is the report for people.
func (r *FeaturesResult) Text() string {
	var p report.Page
	p.Line("features", "%s (%s)", r.Out, report.Bytes(r.Bytes))
	p.Line("input", "%s (%s)", r.Input, r.InputDType)
	p.Line("rows", "%s of %s %s (%s each)%s", report.Count(r.Rows), report.Count(r.Dim), r.DType, report.Bytes(r.RowBytes),
		report.If(r.FilledRows > 0, fmt.Sprintf(", %s of them filled in", report.Count(r.FilledRows))))
	p.Line("checksums", "%s", map[bool]string{true: "beside it, for its graph", false: "none: name the graph to have them"}[r.Checksums])
	p.Line("time", "%s", r.TotalNs.Round(time.Millisecond))
	return p.String()
}

// ErrOption marks what the caller asked for and cannot have.
var ErrOption = errors.New("matrix: bad option")

func option(format string, args ...any) error {
	return fmt.Errorf("%w: "+format, append([]any{ErrOption}, args...)...)
}

// Features makes a feature file, row i of which belongs to node i (or edge i).
// On an error nothing is left, and what was at Out before is still there.
func Features(ctx context.Context, c FeaturesConfig) (*FeaturesResult, error) {
	start := time.Now()
	w := &featureWriter{c: c}
	defer w.close()
	for _, step := range []func() error{w.complete, w.openInput, w.openKeys, w.openTarget} {
		if err := step(); err != nil {
			return nil, err
		}
	}
	if err := w.write(ctx); err != nil {
		return nil, err
	}
	r := &FeaturesResult{Input: c.Input.Path, InputDType: w.in.DType(), Out: c.Out, DType: w.h.DType, Rows: w.h.Rows, Dim: w.h.Dim,
		RowBytes: w.h.RowBytes(), FilledRows: w.filled, Bytes: w.h.Bytes(), BudgetBytes: w.c.Memory, Checksums: w.sums != nil}
	var err error
	if r.Hash, err = w.commit(ctx); err != nil {
		return nil, err
	}
	r.TotalNs = time.Since(start)
	return r, nil
}

// featureWriter is one Features.
type featureWriter struct {
	c     FeaturesConfig
	in    Reader
	names Reader // of c.IDs, or nil
	conv  *Converter
	graph *layout.Superblock // nil: none was named

	h      features.Aligned
	out    *host.Pending
	sums   *host.Pending // nil: no graph
	seen   []uint64      // a bit for each row that was written, with keys
	filled int64
	done   int64 // rows of the input
}

func (w *featureWriter) close() {
	for _, p := range []*host.Pending{w.out, w.sums} {
		if p != nil {
			p.Abort()
		}
	}
	for _, r := range []Reader{w.in, w.names} {
		if r != nil {
			r.Close()
		}
	}
}

// complete checks the options that need no input, and fills in the rest.
func (w *featureWriter) complete() error {
	c := &w.c
	switch {
	case c.Input.Path == "":
		return option("no input given; name the matrix of features")
	case c.Out == "":
		return option("no output given; name the feature file to write")
	case c.Rows < 0 || c.Memory < 0:
		return option("rows %d, memory %d: neither may be negative", c.Rows, c.Memory)
	case c.Edges && c.Graph == "" && c.Rows == 0 && w.keyed():
		return option("name the graph, or the number of rows, to know how many edges there are")
	case c.IDs != "" && c.Input.Key != "":
		return option("rows are named by a column or by a file of ids, not by both")
	}
	if c.Progress == nil {
		c.Progress = func(string, int64, int64) {}
	}
	if c.Memory == 0 {
		limit, err := host.MemoryLimit()
		if err != nil {
			return fmt.Errorf("how much memory there is cannot be told (%w); give the memory to use", err)
		}
		c.Memory = limit / 2
	}
	return w.readGraph()
}

func (w *featureWriter) keyed() bool { return w.c.IDs != "" || w.c.Input.Key != "" }

// readGraph reads how many rows the graph wants.
func (w *featureWriter) readGraph() error {
	if w.c.Graph == "" {
		return nil
	}
	f, err := os.Open(w.c.Graph)
	if err != nil {
		return err
	}
	defer f.Close()
	b := make([]byte, base.BlockSize)
	n, err := io.ReadFull(f, b)
	if err != nil && !errors.Is(err, io.EOF) && !errors.Is(err, io.ErrUnexpectedEOF) {
		return err
	}
	s, err := layout.DecodeSuperblock(b[:n])
	if err != nil {
		return fmt.Errorf("%s: %w", w.c.Graph, err)
	}
	w.graph = &s
	want := int64(s.Nodes)
	if w.c.Edges {
		want = int64(s.InputEdges)
	}
	if w.c.Rows != 0 && w.c.Rows != want {
		return option("%d rows are asked for, the graph has %d %s", w.c.Rows, want, w.things())
	}
	w.c.Rows = want
	return nil
}

// things are what rows belong to.
func (w *featureWriter) things() string {
	if w.c.Edges {
		return "edges (rows of its input)"
	}
	return "nodes"
}

func (w *featureWriter) openInput() (err error) {
	if w.in, err = Open(w.c.Input); err != nil {
		return err
	}
	if w.c.DType == "" {
		w.c.DType = w.in.DType()
	}
	w.conv, err = NewConverter(w.in.DType(), w.c.DType)
	if err == nil && w.c.DType == "bool" {
		err = fmt.Errorf("%w: features must be numbers; give a dtype to convert to", ErrInput)
	}
	if err != nil {
		return fmt.Errorf("%s: %w", w.c.Input.Path, err)
	}
	return nil
}

// openKeys settles how many rows there will be.
func (w *featureWriter) openKeys() (err error) {
	w.h = features.Aligned{DType: w.c.DType, Rows: w.in.Rows(), Dim: w.in.Dim()}
	if !w.keyed() {
		if w.c.Graph != "" || w.c.Rows > 0 {
			return w.checkRows()
		}
		return nil
	}
	if w.c.Graph == "" && w.c.Rows == 0 {
		return option("name the graph, or the number of rows, to know how many %s there are", w.things())
	}
	w.h.Rows = w.c.Rows
	w.seen = make([]uint64, (w.h.Rows+63)/64)
	if w.c.IDs == "" {
		return nil
	}
	if w.names, err = Open(Config{Path: w.c.IDs}); err != nil {
		return err
	}
	switch dtype := w.names.DType(); {
	case w.names.Dim() != 1 || !strings.Contains(dtype, "int"):
		return refuse(w.c.IDs, "%d columns of %s; ids are one integer for each row", w.names.Dim(), dtype)
	case w.names.Rows() != w.in.Rows():
		return refuse(w.c.IDs, "%d ids for %d rows of %s; there must be one for each", w.names.Rows(), w.in.Rows(), w.c.Input.Path)
	}
	return nil
}

func (w *featureWriter) checkRows() error {
	if w.h.Rows == w.c.Rows {
		return nil
	}
	return refuse(w.c.Input.Path, "%d rows for %d %s; there must be one for each, in the order of ids (or name them, by a key column or a file of ids)",
		w.h.Rows, w.c.Rows, w.things())
}

func (w *featureWriter) openTarget() (err error) {
	inputs := []string{w.c.Input.Path, w.c.IDs, w.c.Graph}
	if w.out, err = host.CreatePending(w.c.Out, inputs...); err != nil {
		return targetError(err)
	}
	if w.graph != nil {
		w.sums, err = host.CreatePending(layout.SumsPath(w.c.Out), inputs...)
	}
	return targetError(err)
}

func targetError(err error) error {
	if errors.Is(err, host.ErrTarget) {
		return option("%v", err)
	}
	return err
}

// chunk is how many rows are in memory at once: converted, and as they come.
func (w *featureWriter) chunk() int64 {
	const most = 64 << 20
	perRow := w.h.RowBytes() + w.inBytes() + 24
	room := w.c.Memory - overheadBytes - int64(len(w.seen))*8
	return max(1, min(room, most)/perRow)
}

const overheadBytes = 32 << 20 // the program, and what a Parquet reader holds

func (w *featureWriter) inBytes() int64 { return w.in.Dim() * int64(valueSize(w.in.DType())) }

func valueSize(dtype string) int { return codecs[dtype].size }

// write copies the rows to their places.
func (w *featureWriter) write(ctx context.Context) error {
	if _, err := w.out.WriteAt(w.h.Header(), 0); err != nil {
		return err
	}
	if err := w.out.Truncate(w.h.Bytes()); err != nil {
		return err
	}
	p := newPieces(w)
	for {
		if err := context.Cause(ctx); err != nil {
			return err
		}
		n, err := p.load()
		if errors.Is(err, io.EOF) {
			break
		}
		if err == nil {
			err = p.store(n)
		}
		if err != nil {
			return err
		}
		w.done += n
		w.c.Progress("rows", w.done, w.in.Rows())
	}
	return w.fill()
}

// pieces takes rows through the memory, a chunk at a time.
type pieces struct {
	w        *featureWriter
	room     int64
	raw, row []byte  // as they come; converted
	keys     []int64 // of each
	named    []byte  // keys as they lie in the file of ids
	order    []int32 // rows by key
}

func newPieces(w *featureWriter) *pieces {
	n := w.chunk()
	p := &pieces{w: w, room: n, raw: make([]byte, n*w.inBytes()), row: make([]byte, n*w.h.RowBytes()), keys: make([]int64, n)}
	if w.names != nil {
		p.named = make([]byte, n*int64(valueSize(w.names.DType())))
	}
	return p
}

// load reads and converts the next rows, and their keys.
func (p *pieces) load() (int64, error) {
	w := p.w
	got, err := w.in.Next(p.raw, p.keys)
	if err != nil {
		return 0, err
	}
	n := int64(got)
	if at := w.conv.Convert(p.row, p.raw[:n*w.inBytes()]); at >= 0 {
		return 0, refuse(w.c.Input.Path, "row %d, column %d: the value is beyond what %s can hold; convert to bfloat16 or float32",
			w.done+int64(at)/w.in.Dim(), int64(at)%w.in.Dim(), w.c.DType)
	}
	return n, p.loadKeys(n)
}

func (p *pieces) loadKeys(n int64) error {
	if p.w.names == nil {
		return nil
	}
	size := int64(valueSize(p.w.names.DType()))
	for got := int64(0); got < n; {
		k, err := p.w.names.Next(p.named[:(n-got)*size], nil)
		if err != nil {
			return err
		}
		for i := range int64(k) {
			key, ok := Integer(p.w.names.DType(), p.named[i*size:])
			if !ok {
				return refuse(p.w.c.IDs, "id %d (row %d) is no id (0 … 2^63-1)", key, p.w.done+got+i)
			}
			p.keys[got+i] = key
		}
		got += int64(k)
	}
	return nil
}

// store writes n rows: behind each other, or each where its key says.
func (p *pieces) store(n int64) error {
	if !p.w.keyed() {
		return p.put(p.w.done, p.row[:n*p.w.h.RowBytes()])
	}
	p.order = p.order[:0]
	for i := range n {
		p.order = append(p.order, int32(i))
	}
	slices.SortFunc(p.order, func(a, b int32) int { return cmp.Compare(p.keys[a], p.keys[b]) })
	size := p.w.h.RowBytes()
	for _, i := range p.order {
		if err := p.w.mark(p.keys[i], p.w.done+int64(i)); err != nil {
			return err
		}
		if err := p.put(p.keys[i], p.row[int64(i)*size:int64(i+1)*size]); err != nil {
			return err
		}
	}
	return nil
}

// put writes rows from row first on, as many in a call as lie together.
func (p *pieces) put(first int64, rows []byte) error {
	size := p.w.h.RowBytes()
	for len(rows) > 0 && size > 0 {
		n := p.w.together(first, int64(len(rows))/size)
		if _, err := p.w.out.WriteAt(rows[:n*size], p.w.h.Offset(first)); err != nil {
			return err
		}
		rows, first = rows[n*size:], first+n
	}
	return nil
}

// together is how many rows from first on, of n, have no gap between them.
func (w *featureWriter) together(first, n int64) int64 {
	size := w.h.RowBytes()
	if size > base.BlockSize || base.BlockSize%size == 0 {
		return n
	}
	per := base.BlockSize / size
	return min(n, per-first%per)
}

// mark notes that a row has been named.
func (w *featureWriter) mark(key, row int64) error {
	name := cmp.Or(w.c.IDs, w.c.Input.Path)
	if key >= w.h.Rows {
		return refuse(name, "row %d: id %d, there are %d %s", row, key, w.h.Rows, w.things())
	}
	if w.seen[key/64]>>(key%64)&1 != 0 {
		return refuse(name, "row %d: id %d was named before; each may have one row", row, key)
	}
	w.seen[key/64] |= 1 << (key % 64)
	return nil
}

// fill writes the rows that no key named.
func (w *featureWriter) fill() error {
	if !w.keyed() {
		return nil
	}
	row := w.fillRow()
	for v := range w.h.Rows {
		if w.seen[v/64] == math.MaxUint64 || w.seen[v/64]>>(v%64)&1 != 0 {
			continue
		}
		if row == nil {
			return refuse(cmp.Or(w.c.IDs, w.c.Input.Path), "no row is named %d, and there are %d %s; give --fill to say what such rows hold", v, w.h.Rows, w.things())
		}
		w.filled++
		if *w.c.Fill == 0 {
			continue // as the file is
		}
		if _, err := w.out.WriteAt(row, w.h.Offset(v)); err != nil {
			return err
		}
	}
	return nil
}

// fillRow is a row of nothing but Fill; nil without one.
func (w *featureWriter) fillRow() []byte {
	if w.c.Fill == nil {
		return nil
	}
	row := make([]byte, w.h.RowBytes())
	FillWith(row, w.h.DType, *w.c.Fill)
	return row
}

// commit writes the sums and puts both files in place.
func (w *featureWriter) commit(ctx context.Context) (hash string, err error) {
	if w.sums != nil {
		if hash, err = w.writeSums(ctx); err != nil {
			return "", err
		}
		if err := w.sums.Commit(); err != nil {
			return "", err
		}
	}
	return hash, w.out.Commit()
}

func (w *featureWriter) writeSums(ctx context.Context) (string, error) {
	if _, err := w.out.Seek(0, io.SeekStart); err != nil {
		return "", err
	}
	sums := layout.NewSumsWriter(w.sums, w.graph.Fingerprint)
	in := bufio.NewReaderSize(w.out, 1<<20)
	for done, buf := int64(0), make([]byte, 1<<20); ; {
		n, err := in.Read(buf)
		if errors.Is(err, io.EOF) {
			_, hash, err := sums.Finish()
			return hash, err
		}
		if err == nil {
			_, err = sums.Write(buf[:n])
		}
		if err = cmp.Or(err, context.Cause(ctx)); err != nil {
			return "", err
		}
		done += int64(n)
		w.c.Progress("checksums", done, w.h.Bytes())
	}
}
