//go:build linux

package ingest

import (
	"github.com/aether-ooc/aether-ooc/internal/base"
	"github.com/aether-ooc/aether-ooc/layout"
)

// lister hands sorted edges to the Writer as lists, run after run.
type lister struct {
	w     *layout.Writer
	t     *ticker
	dedup bool
	ids   *idSpool // nil: nobody asks for the ids later
	under *under   // what the edges are merged with; nil: nothing

	last  edge[uint64]
	begun bool
	twins int64 // edges with the ends of the one before
	done  int64
	buf   [piece]base.NodeID
}

// hand takes the next run, in which there are so many twins. With dedup they
// were dropped, but for one that the last run's last edge may have here.
func hand[T word](l *lister, edges []edge[T], twins int64) error {
	l.twins += twins
	if len(edges) == 0 {
		return nil
	}
	first := widened(edges[0])
	if l.begun && sameEnds(first, l.last) {
		l.twins++
		if l.dedup {
			edges = edges[1:]
		}
	}
	if len(edges) > 0 {
		l.last = widened(edges[len(edges)-1])
	}
	l.begun = true
	if l.under != nil {
		return weave(l, edges)
	}
	if err := writeLists(l, edges); err != nil || l.ids == nil {
		return err
	}
	return spool(l.ids, edges)
}

// writeLists cuts the edges into lists, long ones into pieces.
func writeLists[T word](l *lister, edges []edge[T]) error {
	for i := 0; i < len(edges); {
		if err := l.t.step(l.done + int64(i)); err != nil {
			return err
		}
		v, n := edges[i].list, 0
		for n < piece && i < len(edges) && edges[i].list == v {
			l.buf[n] = base.NodeID(edges[i].nbr)
			n, i = n+1, i+1
		}
		if err := l.w.List(base.NodeID(v), l.buf[:n]); err != nil {
			return err
		}
	}
	l.done += int64(len(edges))
	return nil
}
