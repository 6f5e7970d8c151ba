//go:build linux

package ingest

import (
	"context"

	"github.com/aether-ooc/aether-ooc/ingest/relabel"
	"github.com/aether-ooc/aether-ooc/ingest/source"
	"github.com/aether-ooc/aether-ooc/internal/base"
	"github.com/aether-ooc/aether-ooc/layout"
)

// checkRelabel refuses what makes no sense with ids that are given anew.
func (c Config) checkRelabel() error {
	switch {
	case c.Relabel > layout.OriginalNames:
		return option("relabel %d is not known; use ids or names", c.Relabel)
	case c.Relabel == layout.NoOriginal && c.RelabelSeed != 0:
		return option("a seed for the hashes of names is given, but nothing is to be relabelled; say --relabel names, or leave the seed out")
	case c.Relabel == layout.NoOriginal:
		return nil
	case c.NumNodes > 0:
		return option("the nodes are those that the edges speak of, numbered anew: leave the number of nodes out, or --relabel")
	case c.Source.Base != 0:
		return option("ids that are given anew may be any in the input: leave --base out")
	case c.Relabel == layout.OriginalNames && (c.Features != "" || len(c.NodeAttrs) > 0):
		return option("rows of features and attributes lie in the order of the nodes, which names have only once the graph is built; build without them, and give the engine features in that order")
	}
	return nil
}

// leastRelabel is what numbering nodes needs beside the edges.
func (c Config) leastRelabel() int64 {
	if c.Relabel == layout.NoOriginal {
		return 0
	}
	return relabel.MinMemory
}

// relabelShare is the part of the memory for edges that numbers the nodes; the
// rest takes the edges in at the same time.
func (c Config) relabelShare() int64 {
	if c.Relabel == layout.NoOriginal {
		return 0
	}
	return max(relabel.MinMemory, min(c.room()/2, c.room()-leastRoom))
}

// gatherRelabelled spools the input, numbers its nodes, and reads the edges back
// into the pile.
func (b *build) gatherRelabelled(ctx context.Context) (err error) {
	b.rel, err = relabel.New(relabel.Config{Dir: b.temp(), Memory: b.c.relabelShare(), Workers: b.c.Workers, Named: b.c.Relabel == layout.OriginalNames})
	if err != nil {
		return err
	}
	var first counts
	if err := b.spool(ctx, &first); err != nil {
		return err
	}
	b.c.Progress("number nodes", 0, 0)
	if err := b.rel.Seal(ctx); err != nil {
		return err
	}
	b.known = first.rows
	if err := b.openGatherer(first.rows); err != nil {
		return err
	}
	b.g.declared = b.rel.Nodes()
	b.g.lines, b.g.skipped = first.lines, first.skipped
	t := b.ticker(ctx, "renumber", first.rows)
	max := base.NodeID(max(1, b.rel.Nodes()) - 1)
	return b.rel.Each(ctx, func(src, dst []base.NodeID) error {
		if err := t.step(b.g.rows); err != nil {
			return err
		}
		return b.g.add(ctx, &source.Batch{Src: src, Dst: dst, Max: max})
	})
}

// counts are what a spooled input had.
type counts struct{ rows, lines, skipped int64 }

func (b *build) spool(ctx context.Context, n *counts) error {
	t := b.ticker(ctx, "read", b.in.Bytes())
	return b.in.Each(ctx, func(batch *source.Batch) error {
		n.rows += int64(len(batch.Src))
		n.lines += batch.Lines
		n.skipped += batch.Skipped
		if err := t.step(b.in.Position()); err != nil {
			return err
		}
		if err := b.keepColumns(batch); err != nil {
			return err
		}
		for _, name := range batch.Names() {
			if err := b.rel.AddName(name.ID, name.Bytes); err != nil {
				return err
			}
		}
		return b.rel.Add(batch.Src, batch.Dst)
	})
}

// temp is the folder for what does not fit in memory.
func (b *build) temp() string {
	if b.c.Temp != "" {
		return b.c.Temp
	}
	return b.stage.dir.Name()
}

// writeOriginal writes the nodes' own ids, and names, into the graph.
func (b *build) writeOriginal(ctx context.Context, w *layout.Writer) error {
	if b.rel == nil {
		return nil
	}
	b.c.Progress("write original ids", 0, 0)
	if err := b.rel.IDs(ctx, w.OriginalIDs); err != nil || b.c.Relabel != layout.OriginalNames {
		return err
	}
	if err := b.writeNameEnds(ctx, w); err != nil {
		return err
	}
	return b.rel.Names(ctx, func(_ base.NodeID, name string) error { return w.Names([]byte(name)) })
}

func (b *build) writeNameEnds(ctx context.Context, w *layout.Writer) error {
	ends, end := make([]uint64, 0, piece), uint64(0)
	err := b.rel.Names(ctx, func(_ base.NodeID, name string) error {
		end += uint64(len(name))
		if ends = append(ends, end); len(ends) < piece {
			return nil
		}
		err := w.NameEnds(ends)
		ends = ends[:0]
		return err
	})
	if err != nil {
		return err
	}
	return w.NameEnds(ends)
}
