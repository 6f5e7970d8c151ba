//go:build linux

package ingest

import (
	"cmp"
	"context"
	"math"
	"math/bits"
	"slices"
	"sort"

	"github.com/aether-ooc/aether-ooc/internal/spill"
)

// extentUnit is what extents are multiples of, but for the last of a partition:
// whole edges of either width, and whole pages.
const extentUnit = 3 * spill.Page

// extent is a run of edges on disk.
type extent struct {
	off   int64
	edges int32
	wide  bool
}

func (e extent) bytes() int64 {
	n := int64(e.edges) * edgeBytes[uint32]()
	if e.wide {
		n = int64(e.edges) * edgeBytes[uint64]()
	}
	return pages(n)
}

// pages rounds n up.
func pages(n int64) int64 { return (n + spill.Page - 1) &^ (spill.Page - 1) }

// partition holds the edges of a range of keys, in the order of the input.
// Narrow extents come before wide ones.
type partition struct {
	extents []extent
	edges   int64
	wide    bool // some extents are
}

func (p *partition) add(e extent) {
	p.extents = append(p.extents, e)
	p.edges += int64(e.edges)
	p.wide = p.wide || e.wide
}

// room is the memory that it takes to load the partition.
func (p *partition) room() int64 {
	size := edgeBytes[uint32]()
	if p.wide {
		size = edgeBytes[uint64]()
	}
	return p.edges*size + int64(len(p.extents))*spill.Page
}

// cutter tells which partitions edges belong to.
type cutter[T word] func(edges []edge[T], parts []uint16)

// listBounds cut by lists alone, which is fast: a table gives the first
// partition that may be right, and seldom another one is.
type listBounds struct {
	below []uint64 // partition p takes the lists below below[p] that none before it takes
	table []uint16 // by (list - base) >> shift
	base  uint64
	shift uint
}

// The table stays in a core's second-level cache.
const tableSize = 1 << 16

// newListBounds cuts into at most n partitions that have about the same share
// of the sample, which it sorts. A list that has several shares gets a partition
// of its own.
func newListBounds(sample []uint64, n int) *listBounds {
	slices.Sort(sample)
	b := &listBounds{table: make([]uint16, tableSize)}
	least := uint64(0) // that the next bound must have
	for i := 1; i < n && len(sample) > 0; i++ {
		list := sample[i*len(sample)/n]
		if at := max(list, least); at <= list+1 {
			b.below = append(b.below, at)
			least = at + 1
		}
	}
	b.below = append(b.below, math.MaxUint64)
	if len(sample) > 0 {
		b.base = sample[0]
		b.shift = uint(max(0, bits.Len64(sample[len(sample)-1]-b.base)-bits.Len(tableSize-1)))
	}
	for i, p := range b.table {
		for p = b.table[max(0, i-1)]; b.base+uint64(i)<<b.shift >= b.below[p]; p++ {
		}
		b.table[i] = p
	}
	return b
}

// byList is the cutter at the bounds.
func byList[T word](b *listBounds) cutter[T] {
	return func(edges []edge[T], parts []uint16) { cutByList(b, edges, parts) }
}

func cutByList[T word](c *listBounds, edges []edge[T], parts []uint16) {
	table, below := c.table[:tableSize], c.below
	for i := range edges {
		list := uint64(edges[i].list)
		p := table[min((max(list, c.base)-c.base)>>c.shift, tableSize-1)]
		for list >= below[p] {
			p++
		}
		parts[i] = p
	}
}

// keyBounds cut by whole keys, so that any two edges can be told apart: the
// first edge of each partition but the first.
type keyBounds[T word] []edge[T]

// newKeyBounds cuts into at most n partitions, and at least two, where the
// sample holds two edges.
func newKeyBounds[T word](sample []edge[T], n int) (b keyBounds[T]) {
	slices.SortFunc(sample, compareKeys)
	sample = slices.Compact(sample)
	for i := 1; i < n; i++ {
		if at := max(1, i*len(sample)/n); at < len(sample) && (len(b) == 0 || b[len(b)-1] != sample[at]) {
			b = append(b, sample[at])
		}
	}
	return b
}

// byKey is the cutter at the bounds.
func byKey[T word](b keyBounds[T]) cutter[T] {
	return func(edges []edge[T], parts []uint16) {
		for i := range edges {
			parts[i] = uint16(sort.Search(len(b), func(p int) bool { return compareKeys(edges[i], b[p]) < 0 }))
		}
	}
}

// compareKeys is canonical order.
func compareKeys[T word](a, b edge[T]) int {
	return cmp.Or(cmp.Compare(a.list, b.list), cmp.Compare(a.nbr, b.nbr), cmp.Compare(a.row, b.row))
}

// buffers are pieces of memory that are handed round by their numbers.
type buffers struct {
	mem  []byte
	size int64
	free chan int
}

func newBuffers(mem []byte, size int64) *buffers {
	n := int(int64(len(mem)) / size)
	b := &buffers{mem: mem, size: size, free: make(chan int, n)}
	for i := range n {
		b.free <- i
	}
	return b
}

func (b *buffers) bytes(i int) []byte { return b.mem[int64(i)*b.size:][:b.size:b.size] }

// dealer deals edges out to partitions, through a buffer for each. There must
// be more buffers than partitions.
type dealer[T word] struct {
	file  *spill.File
	bufs  *buffers
	cut   cutter[T]
	parts []partition
	mem   []edge[T]   // of all buffers
	open  []openPlace // per partition: what was not sent to disk yet
	where []uint16    // scratch
}

// openPlace is a buffer that is being filled, in edges of the dealer's memory;
// all zero: there is none.
type openPlace struct{ next, end int }

func newDealer[T word](file *spill.File, bufs *buffers, cut cutter[T], parts []partition) *dealer[T] {
	return &dealer[T]{file: file, bufs: bufs, cut: cut, parts: parts, mem: view[T](bufs.mem), open: make([]openPlace, len(parts))}
}

// maxDeal is how many edges are dealt at once: they stay in a core's cache.
const maxDeal = 1 << 13

func (d *dealer[T]) deal(ctx context.Context, edges []edge[T]) error {
	for len(edges) > 0 {
		n := min(len(edges), maxDeal)
		d.where = slices.Grow(d.where[:0], n)[:n]
		d.cut(edges[:n], d.where)
		if err := d.move(edges[:n]); err != nil {
			return err
		}
		if err := context.Cause(ctx); err != nil {
			return err
		}
		edges = edges[n:]
	}
	return nil
}

func (d *dealer[T]) move(edges []edge[T]) error {
	mem, open := d.mem, d.open
	for i, p := range d.where[:len(edges)] {
		o := &open[p]
		if o.next == o.end {
			if err := d.turn(int(p)); err != nil {
				return err
			}
		}
		mem[o.next] = edges[i]
		o.next++
	}
	return nil
}

// perBuffer is how many edges a buffer holds.
func (d *dealer[T]) perBuffer() int { return int(d.bufs.size / edgeBytes[T]()) }

// turn sends the buffer of partition p to disk and gives it another.
func (d *dealer[T]) turn(p int) error {
	if err := d.send(p); err != nil {
		return err
	}
	from := <-d.bufs.free * d.perBuffer()
	d.open[p] = openPlace{from, from + d.perBuffer()}
	return nil
}

// send sends the buffer of partition p to disk.
func (d *dealer[T]) send(p int) error {
	o := d.open[p]
	d.open[p] = openPlace{}
	if o.end == 0 {
		return nil
	}
	buffer := o.end/d.perBuffer() - 1
	e := extent{edges: int32(o.next - buffer*d.perBuffer()), wide: edgeBytes[T]() > edgeBytes[uint32]()}
	var err error
	if e.off, err = d.file.Append(d.bufs.bytes(buffer)[:e.bytes()], func() { d.bufs.free <- buffer }); err != nil {
		return err
	}
	d.parts[p].add(e)
	return nil
}

// flush sends all that is left to disk. It does not wait for it.
func (d *dealer[T]) flush() error {
	for p := range d.open {
		if err := d.send(p); err != nil {
			return err
		}
	}
	return nil
}
