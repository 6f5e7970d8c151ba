package sampler

import (
	"context"
	"fmt"

	"github.com/aether-ooc/aether-ooc/internal/base"
	"github.com/aether-ooc/aether-ooc/layout"
	"github.com/aether-ooc/aether-ooc/uring"
)

// LoadBytes is the room that a Load reads into: a few large reads, which keep a
// device as busy as hundreds of small ones.
const LoadBytes = loadReads * loadRead

const (
	loadReads = 4
	loadRead  = 512 << 10
)

// Load reads the blocks from lo to hi-1 of the adjacency through the calling
// thread's ring, which must have nothing in flight, into room, LoadBytes aligned
// to blocks, and fills in what they hold. On return nothing is in flight again,
// unless the ring itself has failed. Several threads may load different blocks.
// It gives how many reads there were, and of how many bytes.
func (r *Resident) Load(ctx context.Context, ring uring.Ring, f *uring.File, lo, hi base.BlockNo, room []byte) (reads, bytes int64, err error) {
	l := load{r: r, ring: ring, file: f, next: lo, end: hi}
	for i := range l.groups {
		l.groups[i] = uring.Group{Reads: []uring.Read{{File: f, Bufs: make([][]byte, 1)}}, Tag: room[i*loadRead:][:loadRead]}
		l.queue(&l.groups[i])
	}
	for l.flying > 0 {
		l.wait(ctx)
	}
	return l.reads, l.bytes, l.err
}

// load is a Load in progress.
type load struct {
	r         *Resident
	ring      uring.Ring
	file      *uring.File
	groups    [loadReads]uring.Group
	next, end base.BlockNo
	flying    int // groups that the ring has

	reads, bytes int64
	err          error // why no more is read
}

// queue asks for the next blocks, if there are any.
func (l *load) queue(g *uring.Group) {
	if l.err != nil || l.next >= l.end {
		return
	}
	n := min(l.end-l.next, loadRead/base.BlockSize)
	read := &g.Reads[0]
	read.Off, read.Bufs[0] = int64(l.next.Off()), l.r.store.place(l.next, int(n), g.Tag.([]byte))
	if l.err = l.ring.Queue(g); l.err == nil {
		l.flying++
		l.next += n
		l.reads++
		l.bytes += int64(len(read.Bufs[0]))
	}
}

// wait fills in what has come, and asks for more.
func (l *load) wait(ctx context.Context) {
	g, err := l.ring.Wait()
	if g != nil {
		l.flying--
		l.note(l.take(&g.Reads[0]))
		l.queue(g)
	}
	if err != nil { // the ring is gone, and the reads with it
		l.note(err)
		l.flying = 0
	}
	l.note(ctx.Err())
}

// note keeps the first error.
func (l *load) note(err error) {
	if l.err == nil {
		l.err = err
	}
}

// take fills in the blocks of a read.
func (l *load) take(read *uring.Read) error {
	if l.err != nil {
		return nil
	}
	if read.Err != nil {
		return read.Err
	}
	b, no := read.Bufs[0], base.BlockNo(read.Off/base.BlockSize)
	if read.N < len(b) {
		return fmt.Errorf("reading %s: %d of %d bytes at %d: the file has become shorter; build it again", l.file.Path(), read.N, len(b), read.Off)
	}
	for at := 0; at < len(b); at += base.BlockSize {
		if err := l.r.fill(no+base.BlockNo(at/base.BlockSize), b[at:at+base.BlockSize]); err != nil {
			return err
		}
	}
	return nil
}

// fill checks a block and fills it in.
func (r *Resident) fill(no base.BlockNo, b []byte) error {
	if err := r.graph.CheckBlock(no, b); err != nil {
		return err
	}
	k, err := layout.ViewBlock(b)
	if err != nil {
		return r.graph.Place(no, err)
	}
	if err := r.graph.CheckRow(no, k); err != nil {
		return err
	}
	return r.graph.Place(no, r.store.fill(no, k))
}
