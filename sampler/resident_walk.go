package sampler

import (
	"fmt"

	"github.com/aether-ooc/aether-ooc/internal/base"
	"github.com/aether-ooc/aether-ooc/internal/rng"
)

// Use makes the sampler draw from r from the next batch on, or from blocks again
// if r is nil. r must be full.
func (s *Sampler) Use(r *Resident) { s.resident = r }

// walkResident makes the batches without blocks, one after the other: they have
// nothing to share, and one alone stays in the caches.
func (s *Sampler) walkResident() error {
	g, seeds := &s.group, 0
	for i := range g.walks {
		w := &g.walks[i]
		w.first = seeds
		seeds += len(w.Seeds)
		for g.hop, g.fanout = range g.spec.Fanouts {
			if err := s.hopResident(w); err != nil {
				return inHop(g.hop, g.spec, err)
			}
		}
	}
	return nil
}

// hopResident makes one hop of a batch. What is drawn is written, as EdgeIdx, where
// the batch wants the edges, and becomes neighbours and local ids there.
func (s *Sampler) hopResident(w *walk) error {
	w.nodes, w.from = len(w.Out.NID), len(w.Out.Row)
	for lo := w.lo; lo < w.nodes && s.group.fanout != 0; lo += window {
		if err := s.expandWindow(w, lo, min(lo+window, w.nodes)); err != nil {
			return err
		}
	}
	w.endHop()
	return nil
}

// expandWindow draws for the nodes of the local ids lo to hi-1. Each pass makes
// loads that do not depend on one another, so that they overlap.
func (s *Sampler) expandWindow(w *walk, lo, hi int) error {
	out, from := w.Out, len(w.Out.Row)
	nodes := out.NID[lo:hi]
	if err := s.resident.store.look(nodes, &s.sheet); err != nil {
		return err
	}
	picks := s.countPicks(hi - lo)
	if err := s.affords(w, picks); err != nil {
		return err
	}
	s.group.edges += int64(picks)
	out.Row = lengthen(out.Row, from+int(picks))
	out.Col = lengthen(out.Col, from+int(picks))
	s.drawWindow(w, lo, hi, from)
	if s.group.spec.EdgeIDs {
		out.EID = append(out.EID, out.Row[from:]...)
	}
	if err := s.resident.store.take(nodes, out.Row[from:], &s.sheet); err != nil {
		return err
	}
	out.NID = w.met.meetAll(out.Row[from:], out.NID)
	return nil
}

// countPicks says how many each of the first n nodes of the sheet draws.
func (s *Sampler) countPicks(n int) (total uint64) {
	fanout, repeats := s.group.fanout, s.group.spec.Replace
	for i, d := range s.sheet.degree[:n] {
		k := d
		if fanout != All && (d > uint64(fanout) || repeats && d > 0) {
			k = uint64(fanout)
		}
		s.sheet.picks[i] = int(k)
		total = sum(total, k)
	}
	return total
}

// affords reports ErrTooLarge when n more edges are more than the group may have,
// or than 32 bits number.
func (s *Sampler) affords(w *walk, n uint64) error {
	if err := s.fits(w, n); err != nil {
		return err
	}
	if uint64(len(w.Out.NID))+n > 1<<32 {
		return fmt.Errorf("%w: more nodes than 32 bits number: use a smaller batch size or fanout", ErrTooLarge)
	}
	return nil
}

// drawWindow writes what the nodes of a window draw, from edge at on.
func (s *Sampler) drawWindow(w *walk, lo, hi, at int) {
	for i := range hi - lo {
		k := s.sheet.picks[i]
		row, col := w.Out.Row[at:at+k], w.Out.Col[at:at+k]
		for j := range col {
			col[j] = int64(lo + i)
		}
		s.drawPlaces(w, row, lo+i, s.sheet.first[i], s.sheet.degree[i])
		at += k
	}
}

// drawPlaces fills row with the EdgeIdx of what the node of a local id draws.
func (s *Sampler) drawPlaces(w *walk, row []int64, local int, first, degree uint64) {
	g, k := &s.group, uint64(len(row))
	repeats := g.spec.Replace && g.fanout != All
	if k == degree && !repeats {
		for j := range row {
			row[j] = int64(first) + int64(j)
		}
		return
	}
	copies := uint32(0)
	if g.hop == 0 {
		copies = s.scratch.copies[w.first+local]
	}
	stream, ranks := rng.NewStream(w.Key, g.hop, base.NodeID(w.Out.NID[local]), copies), as[uint64](row[:0])
	if repeats {
		stream.WithRepeats(ranks, k, degree)
	} else {
		stream.Distinct(ranks, k, degree)
	}
	for j := range row {
		row[j] += int64(first)
	}
}
