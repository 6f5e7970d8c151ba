package features

import (
	"context"
	"fmt"
	"math/bits"
	"slices"

	"github.com/aether-ooc/aether-ooc/blockcache"
	"github.com/aether-ooc/aether-ooc/internal/base"
)

// plan is what one Gather has to do: the rows in file order, and the blocks
// that hold a piece of any. It is used again and again.
//
// An order entry packs a row, in the high bits, with its place in dst, so that
// sorting the entries sorts the rows.
type plan struct {
	order     []uint64
	placeBits int
	blocks    []base.BlockNo
	from      []int // of each block: the first order entry that has a piece in it
}

// Gather copies rows, in the order asked for, to dst, which has RowBytes for
// each. Rows may repeat. Each block that holds one is visited once, and what of
// dst is filled after an error is undefined.
func (s *Source) Gather(ctx context.Context, l *blockcache.Lane, rows []int64, dst []byte) error {
	if want := int64(len(rows)) * s.rowBytes; int64(len(dst)) != want {
		return fmt.Errorf("features: %s: %d rows take %d bytes, not %d", s.Path(), len(rows), want, len(dst))
	}
	if s.rowBytes == 0 {
		return s.checkRows(rows)
	}
	p := s.plans.Get().(*plan)
	defer s.plans.Put(p)
	for step := s.step(); len(rows) > 0; {
		n := min(step, len(rows))
		if err := s.gather(ctx, l, p, rows[:n], dst[:int64(n)*s.rowBytes]); err != nil {
			return err
		}
		rows, dst = rows[n:], dst[int64(n)*s.rowBytes:]
	}
	return nil
}

// step is how many rows are gathered at once: all, unless rows and places do
// not fit a word together.
func (s *Source) step() int { return 1 << min(32, 64-bits.Len64(uint64(s.rows))) }

func (s *Source) gather(ctx context.Context, l *blockcache.Lane, p *plan, rows []int64, dst []byte) error {
	if err := s.checkRows(rows); err != nil {
		return err
	}
	p.sort(rows)
	s.findBlocks(p)
	return l.Visit(ctx, s.id, p.blocks, func(i int, b []byte) error {
		s.scatter(p, i, b, dst)
		return nil
	})
}

func (s *Source) checkRows(rows []int64) error {
	for _, r := range rows {
		if uint64(r) >= uint64(s.rows) {
			return fmt.Errorf("features: %s: %w: %d of %d", s.Path(), ErrRange, r, s.rows)
		}
	}
	return nil
}

func (p *plan) sort(rows []int64) {
	p.placeBits = bits.Len(uint(len(rows) - 1))
	p.order = p.order[:0]
	for i, r := range rows {
		p.order = append(p.order, uint64(r)<<p.placeBits|uint64(i))
	}
	slices.Sort(p.order)
}

// row and place are what order entry j is made of.
func (p *plan) row(j int) int64   { return int64(p.order[j] >> p.placeBits) }
func (p *plan) place(j int) int64 { return int64(p.order[j] & (1<<p.placeBits - 1)) }

// start is where a row begins in the file.
func (s *Source) start(row int64) int64 {
	if s.perBlock > 0 {
		return s.dataOff + row/s.perBlock*base.BlockSize + row%s.perBlock*s.rowBytes
	}
	return s.dataOff + row*s.rowBytes
}

// findBlocks lists the blocks of the sorted rows. A block that is listed when
// entry j comes has no piece of an earlier one, or it would be listed already.
func (s *Source) findBlocks(p *plan) {
	p.blocks, p.from = p.blocks[:0], p.from[:0]
	next := int64(0) // the first block not listed yet
	for j := range p.order {
		at := s.start(p.row(j))
		last := (at + s.rowBytes - 1) / base.BlockSize
		for no := max(at/base.BlockSize, next); no <= last; no++ {
			p.blocks = append(p.blocks, base.BlockNo(no))
			p.from = append(p.from, j)
		}
		next = max(next, last+1)
	}
}

// scatter copies the pieces of rows that lie in the i-th block to their places.
func (s *Source) scatter(p *plan, i int, b, dst []byte) {
	begin := int64(p.blocks[i].Off())
	end := begin + base.BlockSize
	for j := p.from[i]; j < len(p.order); j++ {
		at := s.start(p.row(j))
		if at >= end {
			return
		}
		to := p.place(j) * s.rowBytes
		lo, hi := max(at, begin), min(at+s.rowBytes, end)
		copy(dst[to+lo-at:to+hi-at], b[lo-begin:hi-begin])
	}
}
