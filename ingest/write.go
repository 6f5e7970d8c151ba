//go:build linux

package ingest

import (
	"context"
	"os"

	"github.com/aether-ooc/aether-ooc/internal/base"
	"github.com/aether-ooc/aether-ooc/internal/spill"
	"github.com/aether-ooc/aether-ooc/layout"
)

// piece is how many neighbours or ids are handed to the Writer at once.
const piece = 4096

// outputs is how many writes of the graph are in flight.
const outputs = 2

// target is the graph while it is written.
type target struct {
	*layout.Writer
	file *os.File
	out  *spill.Output
}

// begin starts the graph's file.
func (b *build) begin(canonical bool) (*target, error) {
	f, err := b.stage.create(b.c.Out)
	if err != nil {
		return nil, err
	}
	spill.Direct(f)
	out, err := spill.NewOutput(f, outputs)
	if err != nil {
		return nil, err
	}
	b.out = out
	w, err := layout.NewWriter(out, b.writerConfig(canonical))
	return &target{w, f, out}, err
}

// write writes the graph of the sorted edges and its attachments, and puts
// them in place.
func write[T word](ctx context.Context, b *build, edges []edge[T]) error {
	w, err := b.begin(isCanonical(edges, b.g))
	if err != nil {
		return err
	}
	l := &lister{w: w.Writer, t: b.ticker(ctx, "write lists", int64(len(edges)))}
	if err := writeLists(l, edges); err != nil {
		return err
	}
	if b.idsStored() {
		if err := writeIDs(ctx, b, w.Writer, edges); err != nil {
			return err
		}
	}
	return b.seal(ctx, w)
}

// isCanonical tells whether the k-th edge is the k-th row, so that ids go without
// saying.
func isCanonical[T word](edges []edge[T], g *gatherer) bool {
	if int64(len(edges)) != g.rows {
		return false
	}
	for k, e := range edges {
		if e.row != T(g.first+int64(k)) {
			return false
		}
	}
	return true
}

func (b *build) writerConfig(canonical bool) layout.WriterConfig {
	ids := b.c.EdgeIDs
	if canonical && ids == layout.EdgeIDsInput {
		ids = layout.EdgeIDsCanonical
	}
	b.ids, b.res.EdgeIDs = ids, ids.String()
	return layout.WriterConfig{
		Nodes: b.g.nodes(), InputEdges: uint64(b.g.end()), Direction: b.c.Direction, EdgeIDs: ids,
		Undirected: b.c.Undirected, Dedup: b.c.Dedup, NoLoops: b.c.DropSelfLoops, Encoding: b.c.Encoding,
		Original: b.c.Relabel, NameSeed: b.c.RelabelSeed,
	}
}

// idsStored tells whether the graph has a section of edge ids.
func (b *build) idsStored() bool { return b.ids == layout.EdgeIDsInput }

func (b *build) ticker(ctx context.Context, phase string, total int64) *ticker {
	return &ticker{ctx: ctx, progress: b.c.Progress, phase: phase, total: total, every: 1 << 20}
}

func writeIDs[T word](ctx context.Context, b *build, w *layout.Writer, edges []edge[T]) error {
	var buf [piece]base.EdgeID
	out := &idWriter{w: w, t: b.ticker(ctx, "write edge ids", int64(len(edges)))}
	for i := 0; i < len(edges); {
		n := min(piece, len(edges)-i)
		for k := range n {
			buf[k] = base.EdgeID(edges[i+k].row)
		}
		if err := out.write(buf[:n]); err != nil {
			return err
		}
		i += n
	}
	return nil
}

// idWriter hands edge ids to the Writer.
type idWriter struct {
	w    *layout.Writer
	t    *ticker
	done int64
}

func (w *idWriter) write(ids []base.EdgeID) error {
	if err := w.t.step(w.done); err != nil {
		return err
	}
	w.done += int64(len(ids))
	return w.w.EdgeIDs(ids)
}

// seal adds the attachments, ends the graph and renames all into place.
func (b *build) seal(ctx context.Context, w *target) error {
	if err := b.writeOriginal(ctx, w.Writer); err != nil {
		return err
	}
	fp, err := w.Fingerprint()
	if err != nil {
		return err
	}
	list, err := b.attach(ctx, fp)
	if err != nil {
		return err
	}
	sb, err := w.Finish(list)
	if err == nil {
		err = w.out.Close()
	}
	if err != nil {
		return err
	}
	b.res.Nodes, b.res.Edges, b.res.GraphBytes = int64(sb.Nodes), int64(sb.Edges), int64(sb.FileLength)
	b.res.Fingerprint, b.res.ContentID = sb.Fingerprint.String(), sb.ContentID.String()
	if err := context.Cause(ctx); err != nil {
		return err
	}
	b.c.Progress("sync", 0, 0)
	return b.stage.commit()
}

func (b *build) attach(ctx context.Context, fp base.Fingerprint) ([]layout.Attachment, error) {
	total, done := int64(0), int64(0)
	for _, a := range b.att {
		total += a.length
	}
	t := b.ticker(ctx, "copy", total)
	var list []layout.Attachment
	for _, a := range b.att {
		err := a.place(b.stage, fp, func(n int) error {
			done += int64(n)
			return t.step(done)
		})
		if err != nil {
			return nil, err
		}
		list = append(list, a.Attachment)
		b.res.AttachmentBytes += int64(a.Bytes)
	}
	return list, nil
}
