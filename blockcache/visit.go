package blockcache

import (
	"context"
	"fmt"

	"github.com/aether-ooc/aether-ooc/internal/base"
	"github.com/aether-ooc/aether-ooc/internal/invariants"
)

// visit is the state of a Visit in progress.
type visit struct {
	ctx    context.Context
	id     FileID
	file   *file
	blocks []base.BlockNo
	fn     func(i int, b []byte) error
	next   int   // the first block that was not asked for yet
	err    error // why the visit is ending early
	counts Counters
}

// Visit brings blocks (ascending, each once) of file f into memory and calls fn
// for each, in whatever order they arrive, with the block's place i in the list
// and its bytes b, which are pinned until fn returns and must not be written.
//
// fn runs on the caller's goroutine. It must not call Visit and must not wait
// for another lane. Its first error ends the visit and is returned; so does the
// context's. Then, and when a read or a check fails, fn is called no more, the
// lane's own reads are awaited, blocks that arrive whole are kept, and every
// pin is gone on return. A block whose read failed is read again by the next
// visit.
func (l *Lane) Visit(ctx context.Context, f FileID, blocks []base.BlockNo, fn func(i int, b []byte) error) error {
	if l.broken != nil {
		return l.broken
	}
	invariants.Check(l.visit.fn == nil, "Visit within a Visit")
	if l.cache.cfg.OnVisit != nil {
		l.cache.cfg.OnVisit(f, blocks)
	}
	l.visit = visit{ctx: ctx, id: f, file: l.cache.file(f), blocks: blocks, fn: fn}
	if err := l.visit.file.holds(blocks); err != nil {
		l.stop(err)
	} else {
		l.cache.policy.asked(f, blocks)
	}
	for l.more() {
		l.admit()
		l.flush()
		l.collect()
		l.await()
	}
	return l.end()
}

func (l *Lane) end() error {
	l.checkRest()
	v := &l.visit
	l.count(v.id, v.counts)
	err := v.err
	*v = visit{counts: v.counts}
	return err
}

// LastVisit is what the last visit led to, for the lane's own goroutine.
func (l *Lane) LastVisit() Counters { return l.visit.counts }

// checkRest: after a visit the lane holds nothing.
func (l *Lane) checkRest() {
	if invariants.Enabled && l.broken == nil {
		invariants.Check(l.held() == 0 && l.flying == 0 && l.open == nil && l.mail.take() == noEntry,
			"after a visit: %d blocks held, %d batches in flight", l.held(), l.flying)
	}
}

func (l *Lane) more() bool {
	return l.broken == nil && (l.wants() || l.held() > 0)
}

// wants: there are blocks still to ask for.
func (l *Lane) wants() bool { return l.visit.err == nil && l.visit.next < len(l.visit.blocks) }

// room: one more block may be asked for, whatever that leads to.
func (l *Lane) room() bool {
	return len(l.idle) > 0 && (len(l.spare) > 0 || l.open != nil && !l.full(l.open))
}

// admit asks for blocks in order as long as there is room.
func (l *Lane) admit() {
	for l.wants() && l.room() {
		if l.visit.next%looksUp == 0 && l.cancelled() {
			return
		}
		l.visit.next++
		l.ask(l.visit.next - 1)
	}
}

// looksUp: so many blocks are asked for between two looks at the context.
const looksUp = 64

func (l *Lane) cancelled() bool {
	err := l.visit.ctx.Err()
	if err != nil {
		l.stop(err)
	}
	return err != nil
}

// ask shows the i-th block of the visit to fn if it is there, without a lock and
// without an entry of the window, which has room for its pin.
func (l *Lane) ask(i int) {
	v := &l.visit
	no := v.blocks[i]
	invariants.Check(i == 0 || v.blocks[i-1] < no, "blocks out of order at %d", i)
	k := keyOf(v.id, no)
	if s := slotNo(v.file.where[no].Load()); s != none && l.cache.slots[s].pin(k) {
		l.hit(k, s)
		l.look(i, s)
		return
	}
	l.miss(i, k)
}

func (l *Lane) hit(k key, s slotNo) {
	l.visit.counts.Hits++
	if t := l.cache.toucher; t != nil {
		t.touch(k, s)
	}
}

// miss takes an entry of the window for the i-th block, which was not there.
func (l *Lane) miss(i int, k key) {
	v := &l.visit
	if !l.makeWay(k.block()) {
		return
	}
	e := l.reserve()
	s, o := l.cache.acquire(k, e)
	en := l.entry(e) // its next is no longer ours to write if it waits
	en.slot, en.at, en.waiting, en.guest = s, i, o == waiting, o == guest
	switch o {
	case hit:
		l.hit(k, s)
		l.show(e)
	case waiting:
		v.counts.Waits++
	default:
		v.counts.Misses++
		l.gather(k.block(), e)
	}
}

// collect looks at the blocks that other lanes have brought.
func (l *Lane) collect() {
	if l.broken != nil {
		return
	}
	for e := l.mail.take(); e != noEntry; {
		next := l.entry(e).next
		l.finish(e)
		e = next
	}
}

// finish takes note of how the read for entry e ended and shows the block.
func (l *Lane) finish(e entryNo) {
	if err := l.cache.failure(l.entry(e).slot); err != nil {
		l.stop(err)
	}
	l.show(e)
}

// show looks at the block of entry e and gives the entry back.
func (l *Lane) show(e entryNo) {
	en := l.entry(e)
	l.look(en.at, en.slot)
	l.release(e)
}

// look hands the block in slot s, which is pinned, to fn, unless the visit is
// ending, and lets it go.
func (l *Lane) look(i int, s slotNo) {
	if l.visit.err == nil {
		if err := l.visit.fn(i, l.cache.block(s)); err != nil {
			l.stop(err)
		}
	}
	l.cache.unpin(s)
}

// await sleeps in the ring until a batch or mail has come, if there is nothing
// else to do. All that was gathered has been flushed, so whoever waits for this
// lane does not wait for its sleep.
func (l *Lane) await() {
	if l.broken != nil || l.held() == 0 || l.wants() && l.room() {
		return
	}
	invariants.Check(l.open == nil, "a lane goes to sleep with reads gathered")
	g, err := l.ring.Wait()
	if g != nil {
		l.complete(g.Tag.(*batch))
	}
	if err != nil {
		l.breakDown(err)
		return
	}
	l.cancelled()
}

// stop ends the visit early: fn is called no more, nothing more is asked for,
// and the lane waits for no block of another's. What it was gathering is still
// read, as others may wait for that.
func (l *Lane) stop(err error) {
	if l.visit.err != nil {
		return
	}
	l.visit.err = err
	for i := range l.window {
		e := l.first + entryNo(i)
		if l.window[i].waiting && l.cache.unwait(l.window[i].slot, e) {
			l.cache.unpin(l.window[i].slot)
			l.release(e)
		}
	}
}

// breakDown ends the lane: its ring has failed as a whole. Reads may still be
// in flight, so their slots are lost until the cache closes; they count against
// this lane's quota, which nobody needs any more.
func (l *Lane) breakDown(err error) {
	if l.broken != nil {
		return
	}
	l.broken = fmt.Errorf("%w: %w; open the graph again", ErrRingBroken, err)
	l.visit.err = nil
	l.stop(l.broken)
	for i := range l.batches {
		for _, e := range l.batches[i].entries {
			if e != noEntry {
				l.lose(e)
			}
		}
	}
	l.wakeOthers()
	for i := range l.window {
		if l.window[i].waiting { // its mail is on the way and will not be read
			l.cache.unpin(l.window[i].slot)
		}
	}
}

func (l *Lane) lose(e entryNo) { l.post(l.cache.settle(l.entry(e).slot, lost, l.broken)) }
