package inspect

import (
	"context"
	"fmt"
	"sort"

	"github.com/aether-ooc/aether-ooc/ingest/source"
	"github.com/aether-ooc/aether-ooc/internal/base"
	"github.com/aether-ooc/aether-ooc/internal/report"
	"github.com/aether-ooc/aether-ooc/layout"
	"github.com/aether-ooc/aether-ooc/scan"
)

// MismatchError says where a graph is not what its input makes.
type MismatchError struct {
	Path, Input string
	Row         int64 // of the input; -1: the edge is not in it
	Src, Dst    base.NodeID
	ID          int64 // of the graph's edge; -1: it has none
	Why         string
}

func (e *MismatchError) Error() string {
	if e.Row >= 0 {
		return fmt.Sprintf("%s: row %d of %s (%d → %d): %s; build the graph again", e.Path, e.Row, e.Input, e.Src, e.Dst, e.Why)
	}
	return fmt.Sprintf("%s: edge %d → %d (e_id %d): %s of %s; build the graph again", e.Path, e.Src, e.Dst, e.ID, e.Why, e.Input)
}

func (e *MismatchError) Unwrap() error { return layout.ErrCorrupt }

// against compares every edge of the graph with the rows of its input. It holds
// a range of lists in memory at a time, and reads the input once for each range:
//
//	list  │ v: 3 3 9        │ w: 1 4 │ …       neighbours, and their rows, ascending
//	seen  │    x x .        │    . . │         a mark for each
//	input │ row 0: (9 → v) row 1: …            each finds its place and marks it
//
// In the end every place is marked, and every row has found one, but for those
// that the graph's options leave out: loops, and parallel rows but the lowest.
type against struct {
	j    *job
	in   source.Config
	name string

	own *scan.Originals // nil: the input's ids are the graph's

	from   base.NodeID // the first list of the range
	starts []int       // of each list from there on
	nbrs   []base.NodeID
	ids    []base.EdgeID
	seen   []bool
}

// perEdge is the memory of a place.
const perEdge = 8 + 8 + 1

// checkAgainst rebuilds the lists from the input, if one was named.
func (j *job) checkAgainst(r *VerifyResult) error {
	in := j.c.Against
	if len(in.Inputs) == 0 {
		return nil
	}
	a := &against{j: j, in: in, name: fmt.Sprint(in.Inputs)}
	if len(in.Inputs) == 1 {
		a.name = in.Inputs[0]
	}
	if err := a.meaning(); err != nil {
		return err
	}
	room := int(max(1, j.c.Memory/perEdge))
	passes := 0
	err := j.eachRange(room, a, func() error {
		passes++
		return a.compare()
	})
	if err != nil {
		return err
	}
	r.checked("every list holds just what %s makes of it (read %s)", a.name, times(passes))
	return nil
}

// meaning settles what the input's ids are to the graph.
func (a *against) meaning() (err error) {
	kind := a.j.Original()
	if kind == layout.NoOriginal {
		return nil
	}
	a.own = a.j.Originals()
	if a.in.Names = kind == layout.OriginalNames; a.in.Names {
		a.in.NameSeed, err = a.own.Seed()
	}
	return err
}

func times(n int) string {
	if n == 1 {
		return "once"
	}
	return report.Count(int64(n)) + " times"
}

// eachRange fills a with ranges of lists of at most room places (or one list) and
// calls fn for each. The ranges cover all nodes.
func (j *job) eachRange(room int, a *against, fn func() error) error {
	nodes := base.NodeID(j.Superblock.Nodes)
	a.begin(0)
	err := j.EachRun(true, func(r scan.Run) error {
		if grown := len(a.nbrs) + len(r.Neighbours); grown > room && r.Node != a.last() || int(r.Node-a.from) > room {
			if err := a.end(r.Node, fn); err != nil {
				return err
			}
		}
		a.take(r)
		return nil
	})
	if err != nil {
		return err
	}
	return a.end(nodes, fn)
}

// begin starts a range with the list of v.
func (a *against) begin(v base.NodeID) {
	a.from, a.starts, a.nbrs, a.ids = v, a.starts[:0], a.nbrs[:0], a.ids[:0]
}

// last is the list that take added to last.
func (a *against) last() base.NodeID { return a.from + base.NodeID(len(a.starts)) - 1 }

func (a *against) take(r scan.Run) {
	a.reach(r.Node + 1)
	a.nbrs = append(a.nbrs, r.Neighbours...)
	a.ids = append(a.ids, r.IDs...)
}

// reach gives all lists below v their start.
func (a *against) reach(v base.NodeID) {
	for a.from+base.NodeID(len(a.starts)) < v {
		a.starts = append(a.starts, len(a.nbrs))
	}
}

// end closes the range before list v, in pieces where many lists are empty, and
// begins the next one.
func (a *against) end(v base.NodeID, fn func() error) error {
	const most = 1 << 24 // empty lists in a row
	for a.from+base.NodeID(len(a.starts)) < v {
		a.reach(min(v, a.last()+1+most))
		if err := fn(); err != nil {
			return err
		}
		a.begin(a.from + base.NodeID(len(a.starts)))
	}
	if len(a.starts) > 0 {
		if err := fn(); err != nil {
			return err
		}
	}
	a.begin(v)
	return nil
}

// compare reads the input and looks for each of its edges in the range.
func (a *against) compare() error {
	a.seen = make([]bool, len(a.nbrs))
	in, err := source.Open(a.in)
	if err != nil {
		return err
	}
	defer in.Close()
	if err := in.Each(a.j.Context(), a.batch); err != nil {
		return err
	}
	for p, seen := range a.seen {
		if !seen {
			return a.surplus(p)
		}
	}
	return context.Cause(a.j.Context())
}

func (a *against) batch(b *source.Batch) error {
	s := a.j.Superblock
	if a.own != nil {
		if err := a.renumber(b); err != nil {
			return err
		}
	} else if uint64(b.Max) >= s.Nodes {
		return a.stranger(b)
	}
	for i := range b.Src {
		src, dst, row := b.Src[i], b.Dst[i], b.First+int64(i)
		if s.NoLoops && src == dst {
			continue
		}
		list, nbr := dst, src
		if s.Direction == layout.Out {
			list, nbr = src, dst
		}
		if err := a.find(list, nbr, row, src, dst); err != nil {
			return err
		}
		if s.Undirected && src != dst {
			if err := a.find(nbr, list, row, src, dst); err != nil {
				return err
			}
		}
	}
	return nil
}

// stranger is about the first row with a node that the graph has not.
func (a *against) stranger(b *source.Batch) error {
	nodes := a.j.Superblock.Nodes
	for i := range b.Src {
		if most := max(b.Src[i], b.Dst[i]); uint64(most) >= nodes {
			return &MismatchError{Path: a.j.c.Path, Input: a.name, Row: b.First + int64(i), Src: b.Src[i], Dst: b.Dst[i],
				Why: fmt.Sprintf("the graph has no node %d, only %s nodes", most, report.Count(nodes))}
		}
	}
	return nil
}

// renumber puts the graph's ids in the place of a batch's own.
func (a *against) renumber(b *source.Batch) error {
	for _, ends := range [][]base.NodeID{b.Src, b.Dst} {
		found, err := a.own.Find(ends)
		if err != nil {
			return err
		}
		for i, v := range found {
			if v == layout.NotFound {
				return &MismatchError{Path: a.j.c.Path, Input: a.name, Row: b.First + int64(i), Src: b.Src[i], Dst: b.Dst[i],
					Why: fmt.Sprintf("the graph has no node whose original id is %d", ends[i])}
			}
			ends[i] = base.NodeID(v)
		}
	}
	return nil
}

// find marks the place of an edge.
func (a *against) find(list, nbr base.NodeID, row int64, src, dst base.NodeID) error {
	if list < a.from || list > a.last() {
		return nil
	}
	lo, hi := a.bounds(list)
	lo += sort.Search(hi-lo, func(i int) bool { return a.nbrs[lo+i] >= nbr })
	hi = lo + sort.Search(hi-lo, func(i int) bool { return a.nbrs[lo+i] > nbr })
	p, why := a.place(lo, hi, row)
	switch {
	case why != "":
		return &MismatchError{Path: a.j.c.Path, Input: a.name, Row: row, Src: src, Dst: dst, Why: why}
	case p >= 0:
		a.seen[p] = true
	}
	return nil
}

func (a *against) bounds(list base.NodeID) (lo, hi int) {
	i := int(list - a.from)
	if i+1 == len(a.starts) {
		return a.starts[i], len(a.nbrs)
	}
	return a.starts[i], a.starts[i+1]
}

// place finds row among the parallel edges at lo … hi-1; -1: it was rightly left
// out.
func (a *against) place(lo, hi int, row int64) (p int, why string) {
	s := a.j.Superblock
	switch {
	case lo == hi:
		return -1, "the graph has no such edge"
	case s.Dedup && hi-lo > 1:
		return -1, "the graph has the edge twice, although duplicates were to be dropped"
	case s.EdgeIDs == layout.EdgeIDsStored && s.Dedup:
		return lo, ""
	case s.EdgeIDs == layout.EdgeIDsStored:
		for p := lo; p < hi; p++ {
			if !a.seen[p] {
				return p, ""
			}
		}
		return -1, fmt.Sprintf("the graph has but %d of these edges", hi-lo)
	}
	p = lo + sort.Search(hi-lo, func(i int) bool { return int64(a.ids[lo+i]) >= row })
	switch {
	case p < hi && int64(a.ids[p]) == row:
		return p, ""
	case s.Dedup && int64(a.ids[lo]) < row:
		return -1, ""
	}
	return -1, fmt.Sprintf("the graph has the edge, but not with e_id %d", row)
}

// surplus complains of an edge that no row made.
func (a *against) surplus(p int) error {
	i := sort.SearchInts(a.starts, p+1) - 1 // the last list that begins at or before p
	list, nbr := a.from+base.NodeID(i), a.nbrs[p]
	src, dst := scan.Run{Node: list, Neighbours: []base.NodeID{nbr}}.Ends(a.j.Superblock.Direction, 0)
	return &MismatchError{Path: a.j.c.Path, Input: a.name, Row: -1, Src: src, Dst: dst, ID: int64(a.ids[p]), Why: "it is made by no row"}
}
