//go:build linux

package ingest

import (
	"context"
	"errors"
	"io"
	"sort"

	"github.com/aether-ooc/aether-ooc/internal/base"
	"github.com/aether-ooc/aether-ooc/layout"
	"github.com/aether-ooc/aether-ooc/scan"
)

// under is the graph that new edges are merged with: its entries lie under
// theirs, and come first where both have the same ends. A nil one has none.
type under struct {
	*scan.Graph
	runs  *scan.Runs
	run   scan.Run // what is left of the current one
	ended bool

	last  edge[uint64] // of the entries handed on
	fresh bool         // and not compared with yet
	gap   int64        // entries handed on since the last new edge
}

func openUnder(ctx context.Context, path string) (*under, error) {
	g, err := scan.Open(ctx, path, nil)
	if err != nil {
		return nil, err
	}
	u := &under{Graph: g, runs: g.Runs(false)}
	if err := u.check(); err != nil {
		g.Close()
		return nil, err
	}
	return u, nil
}

// check refuses a graph with something in it of which the new edges have none.
func (u *under) check() error {
	for _, s := range u.Table {
		switch s.Kind {
		case layout.KindAdjacency, layout.KindIndex, layout.KindPresence, layout.KindEdgeIDs, layout.KindAttachments:
		default:
			return option("%s has a section %s, which cannot be merged; build a graph of all the edge lists instead", u.Path, u.SectionName(s.First))
		}
	}
	return nil
}

func (u *under) edges() int64 {
	if u == nil {
		return 0
	}
	return int64(u.Superblock.Edges)
}

func (u *under) rows() int64 {
	if u == nil {
		return 0
	}
	return int64(u.Superblock.InputEdges)
}

func (u *under) nodes() uint64 {
	if u == nil {
		return 0
	}
	return u.Superblock.Nodes
}

func (u *under) path() string {
	if u == nil {
		return ""
	}
	return u.Path
}

// files are those that must not be written to.
func (u *under) files() []string {
	if u == nil {
		return nil
	}
	return []string{u.Path}
}

// memory is what merging takes above a build: the index, the Writer's share of
// it, and what lists and ids are read into.
func (u *under) memory() int64 {
	s := u.Superblock
	presence := min(int64(s.Nodes/8), int64(s.Edges)*32/200)
	return u.Index.Bytes() + int64(s.Blocks)*indexRow*5/2 + presence + 2<<20
}

// peek tells whether anything is left; it is the first of u.run.
func (u *under) peek() (bool, error) {
	for len(u.run.Neighbours) == 0 && !u.ended {
		run, err := u.runs.Next()
		switch {
		case errors.Is(err, io.EOF):
			u.ended = true
		case err != nil:
			return false, err
		}
		u.run = run
	}
	return !u.ended, nil
}

// upTo hands on the entries up to (list, nbr), that included.
func (u *under) upTo(list, nbr base.NodeID, hand func(base.NodeID, []base.NodeID) error) error {
	for {
		more, err := u.peek()
		if err != nil || !more || u.run.Node > list {
			return err
		}
		nbrs := u.run.Neighbours
		n := len(nbrs)
		if u.run.Node == list {
			n = sort.Search(n, func(i int) bool { return nbrs[i] > nbr })
		}
		if n == 0 {
			return nil
		}
		if err := hand(u.run.Node, nbrs[:n]); err != nil {
			return err
		}
		u.last, u.fresh = edge[uint64]{list: uint64(u.run.Node), nbr: uint64(nbrs[n-1])}, true
		u.gap += int64(n)
		u.run.Neighbours = nbrs[n:]
		if n < len(nbrs) {
			return nil
		}
	}
}

// meets tells, once, whether the last entry handed on has the ends of e.
func (u *under) meets(e edge[uint64]) bool {
	met := u.fresh && sameEnds(u.last, e)
	u.fresh = u.fresh && !met
	return met
}

// ahead is how many of the edges, which are sorted, come before what is left.
func ahead[T word](u *under, edges []edge[T]) (int, error) {
	more, err := u.peek()
	if err != nil || !more {
		return len(edges), err
	}
	list, nbr, n := uint64(u.run.Node), uint64(u.run.Neighbours[0]), 0
	for n < len(edges) && (uint64(edges[n].list) < list || uint64(edges[n].list) == list && uint64(edges[n].nbr) < nbr) {
		n++
	}
	return n, nil
}

// lastEntry is the last entry of all, if there is one.
func (u *under) lastEntry() (e edge[uint64], ok bool, err error) {
	s, _ := u.Table.Find(layout.KindAdjacency, 0, 0)
	if u.Superblock.Edges == 0 || s.Blocks == 0 {
		return e, false, nil
	}
	no, b := s.First+base.BlockNo(s.Blocks-1), make([]byte, base.BlockSize)
	if err := u.Block(no, b); err != nil {
		return e, false, err
	}
	k, err := layout.ViewBlock(b)
	if err != nil {
		return e, false, u.Place(no, err)
	}
	for i := k.Lists() - 1; i >= 0; i-- {
		if list := k.List(i); list.Len() > 0 {
			return edge[uint64]{list: uint64(k.Node(i)), nbr: uint64(list.At(list.Len() - 1))}, true, nil
		}
	}
	return e, false, nil
}

// idMerge puts the ids of new edges between those of the graph.
type idMerge struct {
	ids  *scan.IDs
	left int64 // of them
	out  *idWriter
	buf  []base.EdgeID
}

func newIDMerge(u *under, out *idWriter) *idMerge {
	return &idMerge{ids: u.IDs(), left: u.edges(), out: out, buf: make([]base.EdgeID, 0, piece)}
}

// pairs takes for each new edge how many entries of the graph come before it,
// and after the last one, and its id.
func (m *idMerge) pairs(pairs []base.EdgeID) error {
	for i := 0; i < len(pairs); i += 2 {
		if err := m.copy(int64(pairs[i])); err != nil {
			return err
		}
		if err := m.add(pairs[i+1]); err != nil {
			return err
		}
	}
	return nil
}

// copy takes the next n ids of the graph.
func (m *idMerge) copy(n int64) error {
	m.left -= n
	for range n {
		id, err := m.ids.Next()
		if err != nil {
			return err
		}
		if err := m.add(id); err != nil {
			return err
		}
	}
	return nil
}

func (m *idMerge) add(id base.EdgeID) error {
	if len(m.buf) == cap(m.buf) {
		if err := m.flush(); err != nil {
			return err
		}
	}
	m.buf = append(m.buf, id)
	return nil
}

func (m *idMerge) flush() error {
	err := m.out.write(m.buf)
	m.buf = m.buf[:0]
	return err
}

// end takes what is left of the graph.
func (m *idMerge) end() error {
	if err := m.copy(m.left); err != nil {
		return err
	}
	return m.flush()
}
