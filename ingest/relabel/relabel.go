//go:build linux

package relabel

import (
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"runtime/debug"
	"slices"

	"github.com/aether-ooc/aether-ooc/internal/base"
	"github.com/aether-ooc/aether-ooc/internal/inorder"
	"github.com/aether-ooc/aether-ooc/internal/offheap"
	"github.com/aether-ooc/aether-ooc/internal/spill"
)

// Config says with what a Relabeler works.
type Config struct {
	Dir     string // for the temporary file
	Memory  int64  // bytes; at least MinMemory
	Workers int    // that translate side by side
	Named   bool   // ids are hashes of names, which AddName is told
}

// MinMemory is the least that a Relabeler works with.
const MinMemory = 16 << 20

// Relabeler numbers the nodes of a list of edges. Add all edges (and names), then
// Seal, then ask.
type Relabeler struct {
	c     Config
	file  *spill.File
	pool  *pool
	edges writer
	pairs stream // all edges, after Seal

	room  []uint64 // for ids, then for a part of the dictionary: off the heap
	free  func() error
	ids   []uint64 // met since the last run
	names map[uint64]string
	size  int64 // bytes of names
	runs  []stream
	dict  stream // ids in ascending order, after Seal
	table stream // the records with names
	count uint64
}

// New starts without edges.
func New(c Config) (*Relabeler, error) {
	if c.Memory < MinMemory {
		return nil, fmt.Errorf("relabel: %d bytes of memory, at least %d are needed; raise the memory budget", c.Memory, int64(MinMemory))
	}
	d, err := spill.Temporary(c.Dir)
	if err != nil {
		return nil, err
	}
	r := &Relabeler{c: c, file: spill.New(d, 4), names: map[uint64]string{}}
	if r.pool, err = newPool(8); err != nil {
		return nil, errors.Join(err, r.file.Close())
	}
	r.edges = writer{f: r.file, pool: r.pool}
	mem, free, err := offheap.Reserve(r.share() &^ 7)
	if err != nil {
		return nil, errors.Join(err, r.Close())
	}
	r.room, r.free = offheap.Slice[uint64](mem), free
	r.ids = r.room[:0]
	return r, nil
}

// share is the memory for ids, and as much for names or for buffers of a merge.
func (r *Relabeler) share() int64 { return (r.c.Memory - 8*pieceBytes) / 2 }

// Add takes the next edges.
func (r *Relabeler) Add(src, dst []base.NodeID) error {
	var b [16]byte
	for i := range src {
		le.PutUint64(b[:], uint64(src[i]))
		le.PutUint64(b[8:], uint64(dst[i]))
		if _, err := r.edges.Write(b[:]); err != nil {
			return err
		}
		if !r.c.Named {
			if err := r.meet(uint64(src[i])); err != nil {
				return err
			}
			if err := r.meet(uint64(dst[i])); err != nil {
				return err
			}
		}
	}
	return nil
}

func (r *Relabeler) meet(id uint64) error {
	if len(r.ids) == cap(r.ids) {
		if err := r.endRun(); err != nil {
			return err
		}
	}
	r.ids = append(r.ids, id)
	return nil
}

// nameOverhead is what a map takes for a name beside its bytes.
const nameOverhead = 64

// AddName tells the name of an id; it may be told again.
func (r *Relabeler) AddName(id base.NodeID, name []byte) error {
	if known, ok := r.names[uint64(id)]; ok {
		if known != string(name) {
			return collision(known, string(name))
		}
		return nil
	}
	if r.size += int64(len(name)) + nameOverhead; r.size > r.share() {
		if err := r.endRun(); err != nil {
			return err
		}
		r.size = int64(len(name)) + nameOverhead
	}
	r.names[uint64(id)] = string(name)
	return nil
}

// endRun writes what was met since the last one.
func (r *Relabeler) endRun() error {
	if r.c.Named {
		r.ids = slices.AppendSeq(r.ids[:0], maps.Keys(r.names))
	}
	slices.Sort(r.ids)
	r.ids = slices.Compact(r.ids)
	w := &writer{f: r.file, pool: r.pool}
	defer w.abandon()
	for _, id := range r.ids {
		if err := (record{id, r.names[id]}).put(w, r.c.Named); err != nil {
			return err
		}
	}
	run, err := w.finish()
	r.runs = append(r.runs, run)
	r.ids = r.ids[:0]
	clear(r.names)
	r.size = 0
	return err
}

// Seal ends the list of edges and makes the dictionary.
func (r *Relabeler) Seal(ctx context.Context) (err error) {
	if err := r.endRun(); err != nil {
		return err
	}
	if r.pairs, err = r.edges.finish(); err != nil {
		return err
	}
	r.ids, r.names = nil, nil
	for len(r.runs) > r.fanIn() {
		if err := r.mergeSome(ctx); err != nil {
			return err
		}
	}
	dict, table := &writer{f: r.file, pool: r.pool}, &writer{f: r.file, pool: r.pool}
	defer dict.abandon()
	defer table.abandon()
	err = merge(r.readers(r.runs), r.c.Named, func(rec record) error {
		r.count++
		if err := r.tick(ctx, r.count); err != nil {
			return err
		}
		if r.c.Named {
			if err := rec.put(table, true); err != nil {
				return err
			}
		}
		return record{id: rec.id}.put(dict, false)
	})
	if err != nil {
		return err
	}
	if r.dict, err = dict.finish(); err != nil {
		return err
	}
	r.table, err = table.finish()
	r.runs = nil
	debug.FreeOSMemory() // names and buffers of the merge: the caller has plans for this memory
	return err
}

// fanIn is how many runs are merged at once.
func (r *Relabeler) fanIn() int { return int(max(2, r.share()/pieceBytes)) }

// mergeSome makes one run of as many as can be merged at once.
func (r *Relabeler) mergeSome(ctx context.Context) error {
	n := r.fanIn()
	w := &writer{f: r.file, pool: r.pool}
	defer w.abandon()
	done := uint64(0)
	err := merge(r.readers(r.runs[:n]), r.c.Named, func(rec record) error {
		done++
		if err := r.tick(ctx, done); err != nil {
			return err
		}
		return rec.put(w, r.c.Named)
	})
	if err != nil {
		return err
	}
	run, err := w.finish()
	r.runs = append(r.runs[n:], run)
	return err
}

// tick looks at the context from time to time.
func (r *Relabeler) tick(ctx context.Context, n uint64) error {
	if n%(1<<16) == 0 {
		return context.Cause(ctx)
	}
	return nil
}

// readers read runs for the last time.
func (r *Relabeler) readers(runs []stream) (list []*reader) {
	for _, s := range runs {
		list = append(list, &reader{f: r.file, s: s, buf: aligned(), eat: true})
	}
	return list
}

// aligned is a buffer that the file may read into.
func aligned() []byte {
	b := make([]byte, pieceBytes+spill.Page)
	return b[spill.Page-offset(b):][:pieceBytes:pieceBytes]
}

// Nodes is how many there are, after Seal.
func (r *Relabeler) Nodes() uint64 { return r.count }

// Stats is what the temporary file took.
func (r *Relabeler) Stats() spill.Stats { return r.file.Stats() }

// Close gives the temporary file and the memory back.
func (r *Relabeler) Close() error {
	r.edges.abandon()
	err := errors.Join(r.file.Close(), r.pool.release())
	if r.free != nil {
		err = errors.Join(err, r.free())
	}
	return err
}

// IDs calls fn with the nodes' own ids in the order of dense ids, in pieces.
func (r *Relabeler) IDs(ctx context.Context, fn func([]base.NodeID) error) error {
	in := &reader{f: r.file, s: r.dict, buf: aligned()}
	list := make([]base.NodeID, 0, pieceBytes/8)
	for {
		if err := context.Cause(ctx); err != nil {
			return err
		}
		switch err := in.piece(); {
		case errors.Is(err, io.EOF):
			return nil
		case err != nil:
			return err
		}
		list = list[:0]
		for ; len(in.left) > 0; in.left = in.left[8:] {
			list = append(list, base.NodeID(le.Uint64(in.left)))
		}
		if err := fn(list); err != nil {
			return err
		}
	}
}

// Names calls fn with the nodes' names in the order of dense ids.
func (r *Relabeler) Names(ctx context.Context, fn func(id base.NodeID, name string) error) error {
	in := &reader{f: r.file, s: r.table, buf: aligned()}
	for n := uint64(1); ; n++ {
		var rec record
		if err := rec.get(in, true); errors.Is(err, io.EOF) {
			return nil
		} else if err != nil {
			return err
		}
		if err := r.tick(ctx, n); err != nil {
			return err
		}
		if err := fn(base.NodeID(rec.id), rec.name); err != nil {
			return err
		}
	}
}

// known marks an id that is a dense one by now.
const known = 1 << 63

// pairItem is a piece of the edges on its way.
type pairItem struct {
	raw      []byte
	n        int64
	src, dst []base.NodeID
}

// Each calls fn with all edges, in the order in which they were added, their ends
// by dense ids.
func (r *Relabeler) Each(ctx context.Context, fn func(src, dst []base.NodeID) error) error {
	perPart := uint64(len(r.room))
	for first := uint64(0); first < r.count || first == 0; first += perPart {
		d, err := r.part(first, min(perPart, r.count-first))
		if err != nil {
			return err
		}
		if first+perPart < r.count {
			err = r.rewrite(ctx, d)
		} else {
			err = r.translate(ctx, d, func(p *pairItem) error { return fn(p.src, p.dst) })
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// part loads n ids of the dictionary.
func (r *Relabeler) part(first, n uint64) (*dictionary, error) {
	in := &reader{f: r.file, s: r.dict, buf: aligned(), next: int(first * 8 / pieceBytes)}
	skip := first * 8 % pieceBytes
	ids := r.room[:0]
	for uint64(len(ids)) < n {
		if err := in.piece(); err != nil {
			return nil, fmt.Errorf("relabel: reading the dictionary: %w", err)
		}
		for left := in.left[skip:]; len(left) > 0 && uint64(len(ids)) < n; left = left[8:] {
			ids = append(ids, le.Uint64(left))
		}
		skip = 0
	}
	return newDictionary(ids, first), nil
}

// rewrite puts the dense ids that d knows into the spooled edges.
func (r *Relabeler) rewrite(ctx context.Context, d *dictionary) error {
	w := &writer{f: r.file, pool: r.pool}
	defer w.abandon()
	err := r.translate(ctx, d, func(p *pairItem) error {
		_, err := w.Write(p.raw[:p.n])
		return err
	})
	if err != nil {
		return err
	}
	r.pairs, err = w.finish()
	return err
}

// translate takes the edges through a part of the dictionary. It eats them: they
// are read once.
func (r *Relabeler) translate(ctx context.Context, d *dictionary, drain func(*pairItem) error) error {
	in := &reader{f: r.file, s: r.pairs, eat: true}
	return inorder.Run(ctx, max(1, r.c.Workers), inorder.Stages[pairItem]{
		Fill: func(p *pairItem) error {
			if p.raw == nil {
				p.raw = aligned()
			}
			in.buf = p.raw
			err := in.piece()
			p.n = int64(len(in.left))
			return err
		},
		Work:  func(p *pairItem) error { p.translate(d); return nil },
		Drain: drain,
	})
}

func (p *pairItem) translate(d *dictionary) {
	p.src, p.dst = p.src[:0], p.dst[:0]
	for at := int64(0); at < p.n; at += 16 {
		s, t := dense(p.raw[at:], d), dense(p.raw[at+8:], d)
		p.src, p.dst = append(p.src, base.NodeID(s)), append(p.dst, base.NodeID(t))
	}
}

// dense replaces the id at the start of b by the dense one, if d knows it.
func dense(b []byte, d *dictionary) uint64 {
	id := le.Uint64(b)
	if id&known == 0 {
		if rank, ok := d.rank(id); ok {
			id = rank | known
			le.PutUint64(b, id)
		}
	}
	return id &^ known
}
