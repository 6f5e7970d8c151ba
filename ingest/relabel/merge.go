//go:build linux

package relabel

import (
	"container/heap"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
)

var le = binary.LittleEndian

// record is an id, with its name where ids are hashes of names.
type record struct {
	id   uint64
	name string
}

// put writes a record.
func (r record) put(w io.Writer, named bool) error {
	var b [12]byte
	le.PutUint64(b[:], r.id)
	if !named {
		_, err := w.Write(b[:8])
		return err
	}
	le.PutUint32(b[8:], uint32(len(r.name)))
	if _, err := w.Write(b[:]); err != nil {
		return err
	}
	_, err := io.WriteString(w, r.name)
	return err
}

// get reads the record that put wrote; io.EOF where there is none.
func (r *record) get(in io.Reader, named bool) error {
	var b [12]byte
	if !named {
		_, err := io.ReadFull(in, b[:8])
		r.id = le.Uint64(b[:])
		return err
	}
	if _, err := io.ReadFull(in, b[:]); err != nil {
		return err
	}
	name := make([]byte, le.Uint32(b[8:]))
	_, err := io.ReadFull(in, name)
	r.id, r.name = le.Uint64(b[:]), string(name)
	return err
}

// cursor is a run being merged.
type cursor struct {
	in   *reader
	head record
}

// cursors is a heap by the ids at their heads.
type cursors []*cursor

func (c cursors) Len() int           { return len(c) }
func (c cursors) Less(i, j int) bool { return c[i].head.id < c[j].head.id }
func (c cursors) Swap(i, j int)      { c[i], c[j] = c[j], c[i] }
func (c *cursors) Push(x any)        { *c = append(*c, x.(*cursor)) }
func (c *cursors) Pop() any {
	last := (*c)[len(*c)-1]
	*c = (*c)[:len(*c)-1]
	return last
}

// merge calls fn with the records of all runs, ascending, each id once.
func merge(runs []*reader, named bool, fn func(record) error) error {
	var all cursors
	for _, in := range runs {
		c := &cursor{in: in}
		switch err := c.head.get(in, named); {
		case err == nil:
			all = append(all, c)
		case !errors.Is(err, io.EOF):
			return err
		}
	}
	heap.Init(&all)
	last, begun := record{}, false
	for len(all) > 0 {
		c := all[0]
		if !begun || c.head.id != last.id {
			if err := fn(c.head); err != nil {
				return err
			}
			last, begun = c.head, true
		} else if c.head.name != last.name {
			return collision(last.name, c.head.name)
		}
		if err := c.head.get(c.in, named); errors.Is(err, io.EOF) {
			heap.Pop(&all)
		} else if err != nil {
			return err
		} else {
			heap.Fix(&all, 0)
		}
	}
	return nil
}

// ErrCollision marks two names of one hash.
var ErrCollision = errors.New("two names have the same hash")

func collision(a, b string) error {
	return fmt.Errorf("%w: %q and %q; take another seed for the hash (--relabel-seed)", ErrCollision, a, b)
}
