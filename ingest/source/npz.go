//go:build linux

package source

import (
	"archive/zip"
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"

	"github.com/aether-ooc/aether-ooc/internal/base"
	"github.com/aether-ooc/aether-ooc/internal/npy"
)

// npz reads a graph from the arrays of an .npz, which is a zip of .npy files:
//
//	edge_index                     PyTorch Geometric, OGB: (2, E) or (E, 2)
//	row, col, format "coo"         SciPy: A[row, col] is an edge row → col
//	indptr, indices, "csr"|"csc"   SciPy: the same, grouped by row or by column
//	indptr, indices                GraphBolt, DGL: csc, column by column
//	one array                      whatever its name: an edge_index
//
// Two arrays are read side by side, each decompressed by itself.
type npz struct {
	*file
	ids
	z     *zip.Reader
	edges int64
	nodes int64
	open  func() (pairs, error) // from the start
}

// pairs gives the next edges as they stand in the file; io.EOF after the last.
type pairs interface {
	next(src, dst []base.NodeID) (n int, err error)
	finish() error // after the last: reads on to the arrays' checksums
	close() error
}

func openNPZ(c *Config, f *file) (decoder, error) {
	if f.at == nil {
		return nil, Fault(f.name, "an .npz is read from its end, which a pipe or a compressed file does not show; save it to a file")
	}
	z, err := zip.NewReader(f.at, f.size)
	if err != nil {
		return nil, Fault(f.name, "the archive is damaged or cut short (%v); save it again", err)
	}
	d := &npz{file: f, ids: c.ids(), z: z}
	if err := d.recognise(c.Layout); err != nil {
		return nil, err
	}
	return d, d.declared()
}

// has tells whether all members are there.
func (d *npz) has(names ...string) bool {
	for _, name := range names {
		if d.member(name) == nil {
			return false
		}
	}
	return true
}

func (d *npz) member(name string) *zip.File {
	for _, f := range d.z.File {
		if f.Name == name+".npy" {
			return f
		}
	}
	return nil
}

// recognise finds out which arrays hold the edges.
func (d *npz) recognise(l Layout) error {
	format, err := d.text("format")
	switch {
	case err != nil:
		return err
	case d.has("edge_index"):
		return d.asArray("edge_index", l)
	case format == "coo" && d.has("row", "col"):
		return d.asColumns("row", "col")
	case (format == "csr" || format == "csc") && d.has("indptr", "indices"):
		return d.asGroups("indptr", "indices", format == "csc")
	case format == "" && d.has("indptr", "indices"):
		return d.asGroups("indptr", "indices", true)
	case d.has("csc_indptr", "indices"):
		return d.asGroups("csc_indptr", "indices", true)
	case len(d.z.File) == 1 && strings.HasSuffix(d.z.File[0].Name, ".npy"):
		return d.asArray(strings.TrimSuffix(d.z.File[0].Name, ".npy"), l)
	}
	return d.unknown(format)
}

func (d *npz) unknown(format string) error {
	var names []string
	for _, f := range d.z.File {
		if strings.HasSuffix(f.Name, "data.pkl") {
			return Fault(d.name, "this is a file of torch.save; build from Python: aethergraph.from_pyg(torch.load(…), out), or save edge_index.numpy() with numpy.save")
		}
		names = append(names, strings.TrimSuffix(f.Name, ".npy"))
	}
	if format != "" && format != "coo" && format != "csr" && format != "csc" {
		return Fault(d.name, "a SciPy matrix of format %q; save it as .tocsc()", format)
	}
	return Fault(d.name, "none of its arrays (%s) is called edge_index, and it is no SciPy matrix; save edge_index alone with numpy.save", strings.Join(names, ", "))
}

// declared reads how many nodes the file says there are.
func (d *npz) declared() error {
	for _, name := range []string{"num_nodes", "num_nodes_list", "shape"} {
		m, err := d.openMember(name)
		if err != nil {
			return err
		}
		if m == nil {
			continue
		}
		n := m.count()
		if name != "shape" && n != 1 || n < 1 || n > 2 || !m.h.HoldsIDs() {
			return errors.Join(d.oddNodes(name, n), m.Close())
		}
		values := make([]base.NodeID, n)
		err = errors.Join(m.read(values), m.Close())
		if err != nil {
			return err
		}
		for _, v := range values {
			d.nodes = max(d.nodes, int64(min(v, MaxNodeID)))
		}
		return nil
	}
	return nil
}

func (d *npz) oddNodes(name string, n int64) error {
	if name == "num_nodes_list" {
		return Fault(d.name, "it holds %d graphs (num_nodes_list); save the edge_index of one with numpy.save", n)
	}
	return Fault(d.name, "array %q does not say how many nodes there are; leave it out", name)
}

// text reads a string without axes, "" where there is none.
func (d *npz) text(name string) (string, error) {
	f := d.member(name)
	if f == nil {
		return "", nil
	}
	r, err := f.Open()
	if err != nil {
		return "", d.damaged(name, err)
	}
	defer r.Close()
	b, err := io.ReadAll(io.LimitReader(r, 4096))
	if err != nil {
		return "", d.damaged(name, err)
	}
	end := strings.IndexByte(string(b), '\n') + 1
	return strings.Trim(strings.ReplaceAll(string(b[end:]), "\x00", ""), " "), nil // bytes, or words of UTF-32
}

func (d *npz) damaged(name string, err error) error {
	return Fault(d.name, "array %q is damaged or cut short (%v); save it again", name, err)
}

// intArray is one array of integers, read from its start.
type intArray struct {
	d    *npz
	name string
	h    npy.Header
	r    *bufio.Reader
	c    io.Closer
	raw  []byte
	at   int64 // values read
}

// openMember opens an array; nil where there is none of that name.
func (d *npz) openMember(name string) (*intArray, error) {
	f := d.member(name)
	if f == nil {
		return nil, nil
	}
	r, err := f.Open()
	if err != nil {
		return nil, d.damaged(name, err)
	}
	m := &intArray{d: d, name: name, r: bufio.NewReaderSize(r, 1<<18), c: r}
	if m.h, err = npy.ReadHeader(m.r); err == nil {
		err = m.h.CheckSize(int64(min(f.UncompressedSize64, 1<<62)))
	}
	if err != nil {
		return nil, errors.Join(d.damaged(name, err), r.Close())
	}
	return m, nil
}

// ints opens an array of ids with one axis, or any shape where axes is 0.
func (d *npz) ints(name string, axes int) (*intArray, error) {
	m, err := d.openMember(name)
	if err != nil {
		return nil, err
	}
	if !m.h.HoldsIDs() || axes > 0 && len(m.h.Shape) != axes {
		err := Fault(d.name, "array %q of %s %s cannot hold node ids (int32, uint32, int64, uint64 of one axis can)", name, m.h.DType, m.h.ShapeString())
		return nil, errors.Join(err, m.Close())
	}
	return m, nil
}

func (m *intArray) Close() error { return m.c.Close() }

func (m *intArray) count() int64 { return m.h.Values() }

// read fills dst with the next values.
func (m *intArray) read(dst []base.NodeID) error {
	m.raw = sized(m.raw, len(dst)*m.h.Size)
	if _, err := io.ReadFull(m.r, m.raw); err != nil {
		return m.d.damaged(m.name, err)
	}
	if bad := m.h.DecodeIDs(dst, m.raw); bad != nil {
		return &InputError{File: m.d.name + ":" + m.name, Row: m.at + bad.At, Value: bad.Text, Reason: anyID.reason(bad.Text)}
	}
	m.at += int64(len(dst))
	return nil
}

// skip passes over values.
func (m *intArray) skip(n int64) error {
	if _, err := io.CopyN(io.Discard, m.r, n*int64(m.h.Size)); err != nil {
		return m.d.damaged(m.name, err)
	}
	m.at += n
	return nil
}

// finish compares the array with its checksum, which is known at its end.
func (m *intArray) finish() error {
	if _, err := io.Copy(io.Discard, m.r); err != nil {
		return m.d.damaged(m.name, err)
	}
	return nil
}

// asArray takes an edge_index.
func (d *npz) asArray(name string, l Layout) error {
	m, err := d.ints(name, 0)
	if err != nil {
		return err
	}
	defer m.Close()
	a := array{file: d.file, h: m.h}
	if err := a.measure(l); err != nil {
		return err
	}
	d.edges = a.edges
	d.open = func() (pairs, error) {
		if a.planar {
			return d.openPlanar(name)
		}
		m, err := d.ints(name, 0)
		return &mixed{m: m}, err
	}
	return nil
}

// mixed is an array of source and target by turns.
type mixed struct {
	m   *intArray
	buf []base.NodeID
}

func (p *mixed) next(src, dst []base.NodeID) (int, error) {
	n := int(min(int64(len(src)), (p.m.count()-p.m.at)/2))
	p.buf = sized(p.buf, 2*n)
	if err := p.m.read(p.buf); err != nil {
		return 0, err
	}
	for i := range n {
		src[i], dst[i] = p.buf[2*i], p.buf[2*i+1]
	}
	return n, nil
}

func (p *mixed) finish() error { return p.m.finish() }
func (p *mixed) close() error  { return p.m.Close() }

// columns are sources and targets in streams of their own.
type columns struct {
	src, dst *intArray
	edges    int64
}

// openPlanar opens the array twice, for its two halves.
func (d *npz) openPlanar(name string) (pairs, error) {
	p, err := d.openTwo(name, name, 0)
	if err != nil {
		return nil, err
	}
	if err := p.dst.skip(d.edges); err != nil {
		return nil, errors.Join(err, p.close())
	}
	return p, nil
}

func (d *npz) openTwo(first, second string, axes int) (*columns, error) {
	src, err := d.ints(first, axes)
	if err != nil {
		return nil, err
	}
	dst, err := d.ints(second, axes)
	if err != nil {
		return nil, errors.Join(err, src.Close())
	}
	return &columns{src, dst, d.edges}, nil
}

// asColumns takes two arrays of one length.
func (d *npz) asColumns(src, dst string) error {
	p, err := d.openTwo(src, dst, 1)
	if err != nil {
		return err
	}
	defer p.close()
	if p.src.count() != p.dst.count() {
		return Fault(d.name, "array %q has %d values, %q has %d; they must be alike", src, p.src.count(), dst, p.dst.count())
	}
	d.edges = p.src.count()
	d.open = func() (pairs, error) { return d.openTwo(src, dst, 1) }
	return nil
}

func (p *columns) next(src, dst []base.NodeID) (int, error) {
	n := int(min(int64(len(src)), p.edges-p.src.at))
	if err := p.src.read(src[:n]); err != nil {
		return 0, err
	}
	return n, p.dst.read(dst[:n])
}

// finish reads an array of both only once.
func (p *columns) finish() error {
	if p.src.name == p.dst.name {
		return p.dst.finish()
	}
	return errors.Join(p.src.finish(), p.dst.finish())
}

func (p *columns) close() error { return errors.Join(p.src.Close(), p.dst.Close()) }

// groups are lists: where each begins, and all that is in them.
type groups struct {
	starts, entries *intArray
	byTarget        bool          // a list belongs to a target
	list            base.NodeID   // whose entries come next
	left            int64         // of them
	last            base.NodeID   // the start after that list
	window          []base.NodeID // starts that were read ahead
	used            int
}

func (d *npz) asGroups(starts, entries string, byTarget bool) error {
	open := func() (*groups, error) {
		p, err := d.openTwo(starts, entries, 1)
		if err != nil {
			return nil, err
		}
		return &groups{starts: p.src, entries: p.dst, byTarget: byTarget}, nil
	}
	g, err := open()
	if err != nil {
		return err
	}
	defer g.close()
	if g.starts.count() < 1 {
		return Fault(d.name, "array %q is empty; it holds where each list begins and the last one ends", starts)
	}
	d.edges, d.nodes = g.entries.count(), g.starts.count()-1
	d.open = func() (pairs, error) {
		g, err := open()
		if err != nil {
			return nil, err
		}
		if err := g.begin(); err != nil {
			return nil, errors.Join(err, g.close())
		}
		return g, nil
	}
	return nil
}

// begin reads the first start, which is 0.
func (g *groups) begin() error {
	first, err := g.start()
	if err == nil && first != 0 {
		err = g.odd(first, "the first list begins at 0")
	}
	g.list-- // the first list comes next
	return err
}

func (g *groups) odd(value base.NodeID, reason string) error {
	return &InputError{File: g.starts.d.name + ":" + g.starts.name, Row: g.starts.at - int64(len(g.window)-g.used) - 1,
		Value: strconv.FormatUint(uint64(value), 10), Reason: reason + "; save the matrix again"}
}

// start gives the next start.
func (g *groups) start() (base.NodeID, error) {
	if g.used == len(g.window) {
		g.window = sized(g.window, int(min(tableRows, g.starts.count()-g.starts.at)))
		if err := g.starts.read(g.window); err != nil {
			return 0, err
		}
		g.used = 0
	}
	g.used++
	return g.window[g.used-1], nil
}

func (g *groups) next(src, dst []base.NodeID) (int, error) {
	n := int(min(int64(len(src)), g.entries.count()-g.entries.at))
	ends, owners := src[:n], dst[:n]
	if !g.byTarget {
		ends, owners = owners, ends
	}
	if err := g.entries.read(ends); err != nil {
		return 0, err
	}
	for i := range owners {
		for g.left == 0 {
			if err := g.advance(); err != nil {
				return 0, err
			}
		}
		owners[i] = g.list
		g.left--
	}
	return n, nil
}

// advance goes on to the next list.
func (g *groups) advance() error {
	if g.starts.at == g.starts.count() && g.used == len(g.window) {
		return g.odd(g.last, fmt.Sprintf("the last list ends here, and there are %d entries", g.entries.count()))
	}
	end, err := g.start()
	if err != nil {
		return err
	}
	if end < g.last || int64(end) > g.entries.count() {
		return g.odd(end, fmt.Sprintf("lists begin one after the other, at most at %d", g.entries.count()))
	}
	g.left, g.last = int64(end-g.last), end
	g.list++
	return nil
}

// finish sees to it that the starts end where the entries do.
func (g *groups) finish() error {
	for g.starts.at < g.starts.count() || g.used < len(g.window) {
		if err := g.advance(); err != nil {
			return err
		}
	}
	if g.left > 0 {
		return g.odd(g.last, fmt.Sprintf("lists go on behind the last of %d entries", g.entries.count()))
	}
	return errors.Join(g.starts.finish(), g.entries.finish())
}

func (g *groups) close() error { return errors.Join(g.starts.Close(), g.entries.Close()) }

func (d *npz) extent() extent { return extent{rows: d.edges, most: d.edges, nodes: d.nodes} }
func (d *npz) close() error   { return nil }

func (d *npz) each(ctx context.Context, fn func(*Batch) error) error {
	p, err := d.open()
	if err != nil {
		return err
	}
	err = d.batches(ctx, p, fn)
	return errors.Join(err, p.close())
}

func (d *npz) batches(ctx context.Context, p pairs, fn func(*Batch) error) error {
	var b Batch
	for row := int64(0); row < d.edges; {
		if err := context.Cause(ctx); err != nil {
			return err
		}
		b.reset()
		b.Src, b.Dst = sized(b.Src, tableRows), sized(b.Dst, tableRows)
		n, err := p.next(b.Src, b.Dst)
		if err != nil {
			return err
		}
		b.Src, b.Dst = b.Src[:n], b.Dst[:n]
		if err := d.number(&b, row); err != nil {
			return err
		}
		if err := fn(&b); err != nil {
			return err
		}
		row += int64(n)
		d.read.Store(int64(float64(d.size) * float64(row) / float64(d.edges)))
	}
	return p.finish()
}

// number turns the batch's ids into nodes.
func (d *npz) number(b *Batch, row int64) error {
	for i := range b.Src {
		for column, at := range []*base.NodeID{&b.Src[i], &b.Dst[i]} {
			v, ok := d.node(*at)
			if !ok {
				text := strconv.FormatUint(uint64(*at), 10)
				return &InputError{File: d.name, Row: row + int64(i), Column: column + 1, Value: text, Reason: d.reason(text)}
			}
			*at = v
			b.Max = max(b.Max, v)
		}
	}
	return nil
}
