package blockcache

import (
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
	entries []entryNo // of each buffer
}

func (l *Lane) makeBatches(c Config) {
	l.batches = make([]batch, c.batches())
	for i := range l.batches {
		b := &l.batches[i]
		b.group.Tag = b
		b.group.Reads = make([]uring.Read, 0, c.Group)
		b.bufs = make([][]byte, 0, c.Group*c.MergeAdjacent)
		b.entries = make([]entryNo, 0, c.Group*c.MergeAdjacent)
		l.spare = append(l.spare, b)
	}
}

// add puts the read of block no into the batch: as one more buffer of the last
// read if that ends where the block begins and has fewer than merge, else as a
// read of its own.
func (b *batch) add(f *uring.File, no base.BlockNo, buf []byte, e entryNo, merge int) {
	b.bufs = append(b.bufs, buf)
	b.entries = append(b.entries, e)
	off := int64(no.Off())
	if n := len(b.group.Reads); n > 0 {
		last := &b.group.Reads[n-1]
		have := len(last.Bufs)
		if have < merge && last.Off+int64(have)*base.BlockSize == off {
			last.Bufs = b.bufs[len(b.bufs)-have-1:]
			return
		}
	}
	b.group.Reads = append(b.group.Reads, uring.Read{File: f, Off: off, Bufs: b.bufs[len(b.bufs)-1:]})
}

// full means that the batch is worth handing over as it is.
func (b *batch) full() bool { return len(b.group.Reads) == cap(b.group.Reads) }

func (b *batch) reset() {
	clear(b.group.Reads)
	b.group.Reads = b.group.Reads[:0]
	b.bufs = b.bufs[:0]
	b.entries = b.entries[:0]
}

// gather puts a miss into the open batch and hands it over when it is full.
func (l *Lane) gather(no base.BlockNo, e entryNo) {
	if l.open == nil {
		l.open = l.spare[len(l.spare)-1]
		l.spare = l.spare[:len(l.spare)-1]
	}
	l.open.add(l.visit.file.uring, no, l.cache.block(l.entry(e).slot), e, l.cache.cfg.MergeAdjacent)
	if l.open.full() {
		l.flush()
		l.reap()
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
	l.visit.counts.Reads += int64(len(b.group.Reads))
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
	i := 0
	for r := range b.group.Reads {
		read := &b.group.Reads[r]
		l.visit.counts.BytesRead += int64(read.N)
		for j := range read.Bufs {
			l.settle(b.entries[i], read, j)
			i++
		}
	}
	l.wakeOthers()
	for _, e := range b.entries {
		l.finish(e)
	}
	b.reset()
	l.spare = append(l.spare, b)
}

// settle judges the j-th block of a read, publishes it or its error, and posts
// it to those who wait.
func (l *Lane) settle(e entryNo, read *uring.Read, j int) {
	s := l.entry(e).slot
	no := l.visit.blocks[l.entry(e).at]
	err := read.Err
	if err == nil {
		got := min(max(0, read.N-j*base.BlockSize), base.BlockSize)
		err = l.visit.file.verify(no, read.Bufs[j], got)
	}
	if err != nil {
		l.post(l.cache.settle(s, failed, err))
		return
	}
	l.post(l.cache.settle(s, resident, nil))
	l.cache.policy.insert(keyOf(l.visit.id, no), s)
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
