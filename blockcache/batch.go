package blockcache

import (
	"math"

	"github.com/aether-ooc/aether-ooc/internal/base"
	"github.com/aether-ooc/aether-ooc/uring"
)

// batch is a group of reads with the window entries that they are for. It is
// made once and used again and again:
//
//	spare ──► open (gathering) ──► in flight ──► settled ──► spare
type batch struct {
	group   uring.Group
	bufs    [][]byte  // the buffers of all reads, one after the other
	entries []entryNo // of each buffer; noEntry: it is a sink
	blocks  int       // that are wanted
	last    int       // blocks of the last read
}

func (l *Lane) makeBatches(c Config) {
	l.batches = make([]batch, c.batches())
	for i := range l.batches {
		b := &l.batches[i]
		b.group.Tag = b
		b.group.Reads = make([]uring.Read, 0, c.Group)
		b.bufs = make([][]byte, 0, c.groupPieces())
		b.entries = make([]entryNo, 0, c.groupPieces())
		l.spare = append(l.spare, b)
	}
}

// piece appends a buffer to the last read.
func (b *batch) piece(buf []byte, e entryNo) {
	b.bufs = append(b.bufs, buf)
	b.entries = append(b.entries, e)
	last := &b.group.Reads[len(b.group.Reads)-1]
	last.Bufs = b.bufs[len(b.bufs)-len(last.Bufs)-1:]
	b.last += len(buf) / base.BlockSize
}

// gap is how many blocks lie between the last read and block no; -1 where there
// is none before it.
func (b *batch) gap(no base.BlockNo) int {
	if len(b.group.Reads) == 0 {
		return -1
	}
	end := base.BlockNo(b.group.Reads[len(b.group.Reads)-1].Off/base.BlockSize) + base.BlockNo(b.last)
	return int(min(uint64(no-end), math.MaxInt32))
}

func (b *batch) reset() {
	clear(b.group.Reads)
	b.group.Reads = b.group.Reads[:0]
	b.bufs = b.bufs[:0]
	b.entries = b.entries[:0]
	b.blocks, b.last = 0, 0
}

// full: the batch is worth handing over as it is. Its last read may go on.
func (l *Lane) full(b *batch) bool {
	return len(b.group.Reads) == l.cache.cfg.Group || b.blocks == l.cache.most
}

// joins: the last read of b should go on to block no.
func (l *Lane) joins(b *batch, no base.BlockNo) bool {
	gap := b.gap(no)
	return gap >= 0 && b.blocks < l.cache.most && pays(l.cache.costs, b.last, gap)
}

// makeWay hands the open batch over if it has no room for block no. False means
// that what came of it has ended the visit.
func (l *Lane) makeWay(no base.BlockNo) bool {
	if b := l.open; b != nil && l.full(b) && !l.joins(b, no) {
		l.flush()
		l.reap()
	}
	return l.visit.err == nil
}

// gather puts a miss into the open batch, which has room for it: the last read
// goes on to block no, over the blocks between, if that costs the device less
// than a read of its own.
func (l *Lane) gather(no base.BlockNo, e entryNo) {
	if l.open == nil {
		l.open = l.spare[len(l.spare)-1]
		l.spare = l.spare[:len(l.spare)-1]
	}
	b := l.open
	if !l.joins(b, no) {
		l.charge(b)
		b.group.Reads = append(b.group.Reads, uring.Read{File: l.visit.file.uring, Off: int64(no.Off())})
		b.last = 0
	} else if gap := b.gap(no); gap > 0 {
		b.piece(l.sink[:gap*base.BlockSize], noEntry)
	}
	b.piece(l.cache.block(l.entry(e).slot), e)
	b.blocks++
}

// charge counts the last read of b, which grows no more.
func (l *Lane) charge(b *batch) {
	if b.last > 0 {
		l.visit.counts.Reads++
		l.visit.counts.ReadSizes[sizeBucket(b.last)]++
		l.visit.counts.ReadCost += l.cache.costs[b.last]
	}
}

// flush hands the open batch, if there is one, to the ring.
func (l *Lane) flush() {
	b := l.open
	if b == nil {
		return
	}
	l.open = nil
	l.flying++
	l.charge(b)
	if err := l.ring.Queue(&b.group); err != nil {
		l.breakDown(err)
	}
}

// reap takes what has finished, without waiting, and gives the ring the chance
// to submit.
func (l *Lane) reap() {
	for l.broken == nil {
		g, err := l.ring.Poll()
		if g != nil {
			l.complete(g.Tag.(*batch))
		}
		if err != nil {
			l.breakDown(err)
		}
		if g == nil {
			return
		}
	}
}

// complete publishes the blocks of a finished batch, wakes the lanes that wait
// for them, and only then looks at them itself.
func (l *Lane) complete(b *batch) {
	l.flying--
	entries := b.entries
	for r := range b.group.Reads {
		read := &b.group.Reads[r]
		l.visit.counts.BytesRead += int64(read.N)
		l.settleRead(read, entries[:len(read.Bufs)])
		entries = entries[len(read.Bufs):]
	}
	l.wakeOthers()
	for _, e := range b.entries {
		if e != noEntry {
			l.finish(e)
		}
	}
	b.reset()
	l.spare = append(l.spare, b)
}

// settleRead settles each piece of a read.
func (l *Lane) settleRead(read *uring.Read, entries []entryNo) {
	left := read.N
	for j, e := range entries {
		buf := read.Bufs[j]
		got := min(left, len(buf))
		left -= got
		if e == noEntry {
			l.visit.counts.BytesSunk += int64(got)
			continue
		}
		l.settle(e, buf, got, read.Err)
	}
}

// settle judges a block of which so many bytes came, publishes it or its error,
// and posts it to those who wait.
func (l *Lane) settle(e entryNo, buf []byte, got int, err error) {
	en := l.entry(e)
	no := l.visit.blocks[en.at]
	if err == nil {
		err = l.visit.file.verify(no, buf, got)
	}
	switch {
	case err != nil:
		l.post(l.cache.settle(en.slot, failed, err))
	case en.guest:
		l.post(l.cache.settle(en.slot, limbo, nil))
	default:
		l.post(l.cache.settle(en.slot, resident, nil))
		l.cache.policy.insert(keyOf(l.visit.id, no), en.slot)
	}
}

// post sends a list of waiting entries to their lanes' mailboxes.
func (l *Lane) post(list entryNo) {
	for e := list; e != noEntry; {
		next := l.cache.entry(e).next
		if to, sleepy := l.cache.post(e); sleepy {
			l.wake = append(l.wake, to)
		}
		e = next
	}
}

func (l *Lane) wakeOthers() {
	for i, to := range l.wake {
		to.Wake()
		l.wake[i] = nil
	}
	l.wake = l.wake[:0]
}
