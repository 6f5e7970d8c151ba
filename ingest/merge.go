//go:build linux

package ingest

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"os"
	"slices"
	"strings"

	"github.com/aether-ooc/aether-ooc/arrowbatch"
	"github.com/aether-ooc/aether-ooc/ingest/source"
	"github.com/aether-ooc/aether-ooc/internal/base"
	"github.com/aether-ooc/aether-ooc/internal/spill"
	"github.com/aether-ooc/aether-ooc/layout"
)

// MergeConfig says what to add to which graph. Only Base, Source.Inputs and Out
// are required. Direction, edge ids, and what happens to loops and to parallel
// edges are as in Base.
type MergeConfig struct {
	Base   string        // a graph that Run or Merge made, which stays as it is
	Source source.Config // the new edges; Nodes and Workers are those below
	Out    string        // the graph of both

	NumNodes int64            // 0: as many as Base has, or the largest new id + 1
	Encoding *layout.Encoding // nil: Base's

	Features        string // these take the place of what lies beside Base, the rest of which is copied
	FeaturesDType   string
	NodeAttrs       []NodeAttr
	DropAttachments bool // copy nothing of what lies beside Base

	Memory   int64  // bytes; 0: half of what machine and control group allow
	Temp     string // folder for new edges that do not fit in Memory, and for their ids; "": beside Out
	Workers  int    // 0: one per CPU
	Progress Progress
	Log      *slog.Logger

	tune *sizes // for tests
}

// Merge makes the graph that Run would make of Base's input with the new edges
// behind it, to the byte. The new edges alone are sorted; Base is read once from
// front to back. On an error, or when ctx ends, what was at Out before is still
// there.
func Merge(ctx context.Context, m MergeConfig) (*Result, error) {
	if m.Base == "" {
		return nil, option("no graph given; name the one to add to")
	}
	u, err := openUnder(ctx, m.Base)
	if err != nil {
		return nil, err
	}
	defer u.Close()
	if m.NumNodes > 0 && uint64(m.NumNodes) < u.Superblock.Nodes {
		return nil, option("%d nodes are too few: %s has %d already; raise the number, or leave it out", m.NumNodes, m.Base, u.Superblock.Nodes)
	}
	c, err := m.config(u).withDefaults()
	if err != nil {
		return nil, err
	}
	return (&build{c: c, under: u}).run(ctx)
}

// config is what the graph of both would be built by.
func (m MergeConfig) config(u *under) Config {
	s := u.Superblock
	c := Config{
		Source: m.Source, Out: m.Out, NumNodes: m.NumNodes,
		Direction: s.Direction, Undirected: s.Undirected, Dedup: s.Dedup, DropSelfLoops: s.NoLoops, Encoding: s.Encoding(),
		Features: m.Features, FeaturesDType: m.FeaturesDType, NodeAttrs: m.NodeAttrs, drop: m.DropAttachments,
		Memory: m.Memory, Temp: m.Temp, Workers: m.Workers, Progress: m.Progress, Log: m.Log, below: u.memory(), tune: m.tune,
	}
	if s.EdgeIDs == layout.EdgeIDsStored {
		c.EdgeIDs = layout.EdgeIDsStored
	}
	if m.Encoding != nil {
		c.Encoding = *m.Encoding
	}
	return c
}

// merge writes the graph of the sorted edges and what they are merged with.
func merge[T word](ctx context.Context, b *build, edges []edge[T]) error {
	var first edge[uint64]
	if len(edges) > 0 {
		first = widened(edges[0])
	}
	canonical, err := b.follows(first, int64(len(edges)), isCanonical(edges, b.g))
	if err != nil {
		return err
	}
	disk, err := b.c.temporary(b.temp())
	if err != nil {
		return err
	}
	file := spill.New(disk, transfers)
	defer file.Close() // of a file that goes away
	twins := b.res.Duplicates
	return b.writeRuns(ctx, file, int64(len(edges)), canonical, func(l *lister) error { return hand(l, edges, twins) })
}

// follows tells whether the graph's k-th edge is row k, when so many new edges
// are among themselves and first is the first of them.
func (b *build) follows(first edge[uint64], edges int64, canonical bool) (bool, error) {
	if b.under == nil || !canonical {
		return canonical, nil
	}
	last, some, err := b.under.lastEntry()
	inOrder := !some || edges == 0 || last.list < first.list ||
		last.list == first.list && (last.nbr < first.nbr || last.nbr == first.nbr && !b.c.Dedup)
	return inOrder && b.under.Superblock.EdgeIDs == layout.EdgeIDsCanonical, err
}

// weave hands on edges, and before each what it is merged with.
func weave[T word](l *lister, edges []edge[T]) error {
	for len(edges) > 0 {
		e := widened(edges[0])
		if err := l.under.upTo(base.NodeID(e.list), base.NodeID(e.nbr), l.list); err != nil {
			return err
		}
		if l.under.meets(e) {
			l.twins++
			if l.dedup {
				edges = edges[1:]
				continue
			}
		}
		n, err := ahead(l.under, edges)
		if err != nil {
			return err
		}
		if err := keep(l, edges[:n]); err != nil {
			return err
		}
		if err := writeLists(l, edges[:n]); err != nil {
			return err
		}
		edges = edges[n:]
	}
	return nil
}

// list hands on entries of the graph that is merged with.
func (l *lister) list(v base.NodeID, nbrs []base.NodeID) error {
	if err := l.t.step(l.done); err != nil {
		return err
	}
	l.done += int64(len(nbrs))
	return l.w.List(v, nbrs)
}

// keep keeps the places of new edges between the others, and their ids: see
// idMerge.
func keep[T word](l *lister, edges []edge[T]) error {
	if l.ids == nil {
		return nil
	}
	for _, e := range edges {
		pair := [2]edge[uint64]{{row: uint64(l.under.gap)}, {row: uint64(e.row)}}
		l.under.gap = 0
		if err := spool(l.ids, pair[:]); err != nil {
			return err
		}
	}
	return nil
}

// end hands on the rest of what is merged with.
func (l *lister) end() error {
	if l.under == nil {
		return nil
	}
	return l.under.upTo(layout.MaxNodes, layout.MaxNodes, l.list)
}

// addAttachments adds what lies beside the graph to the attachments of the one
// that is to be made, where they do not take its place.
func (u *under) addAttachments(list []*attachment, drop bool) ([]*attachment, error) {
	if u == nil || drop {
		return list, nil
	}
	for _, old := range u.Attachments {
		if slices.ContainsFunc(list, func(a *attachment) bool { return a.Role == old.Role && a.Name == old.Name }) {
			continue
		}
		if old.Role == layout.EdgeAttr {
			return list, option("%s has %s, a value for each row of its input, and the new rows have none; build from all inputs, or leave it out (--drop-attachments)", u.Path, old.Path(u.Path))
		}
		f, err := os.Open(old.Path(u.Path))
		if errors.Is(err, fs.ErrNotExist) {
			return list, option("%v, which belongs to the graph; put it back, or leave out what lies beside the graph (--drop-attachments)", err)
		}
		if err != nil {
			return list, err
		}
		a := &attachment{Attachment: old, file: f, length: int64(old.Bytes), carried: true}
		list = append(list, a)
		if err := a.checkLength(); err != nil {
			return list, err
		}
	}
	return list, checkNames(list)
}

// checkRows refuses to carry attachments over to a graph of more nodes.
func (u *under) checkRows(list []*attachment, nodes uint64) error {
	var anew []string
	for _, a := range list {
		if a.carried && a.Shape[0] != nodes {
			anew = append(anew, a.flag())
		}
	}
	if len(anew) == 0 {
		return nil
	}
	return source.Fault(u.Path, "what lies beside it has rows for its %d nodes, and the merged graph has %d; give all of it anew (%s), or leave it out (--drop-attachments)",
		u.Superblock.Nodes, nodes, strings.Join(anew, " "))
}

// checkNames refuses attributes whose columns would meet.
func checkNames(list []*attachment) error {
	var names []string
	for _, a := range list {
		if a.Role == layout.Attr {
			names = append(names, a.Name)
		}
	}
	if err := arrowbatch.CheckAttrNames(names); err != nil {
		return option("%v", err)
	}
	return nil
}

// checkLength compares the length of a carried file with what is known of it.
func (a *attachment) checkLength() error {
	st, err := a.file.Stat()
	if err == nil && st.Size() != a.length {
		err = a.damage("it has another length", a.length, st.Size())
	}
	return err
}

func (a *attachment) damage(detail string, want, got any) error {
	return &layout.CorruptError{File: a.file.Name(), Detail: detail, Want: fmt.Sprint(want), Got: fmt.Sprint(got)}
}

// flag is how the attachment is given.
func (a *attachment) flag() string {
	if a.Role == layout.Features {
		return "--features FILE"
	}
	return "--node-attr " + a.Name + "=FILE"
}
