package engine

import "github.com/aether-ooc/aether-ooc/sampler"

// Batch is one sampled mini-batch. It belongs to whoever the iterator gave it
// to, for as long as they like; Release returns it early.
type Batch struct {
	sampler.Subgraph

	Index   BatchIdx // its global number in the epoch; -1 from Sample
	Epoch   uint64
	InputID []int64 // of each seed, see Request.InputIDs
	X       Rows    // the feature row of each of NID; Data is nil where not asked for or not there
	Attrs   []Attr  // in the order of Request.Attrs

	Original []int64 // what each of NID was before build --relabel; nil unless asked for

	Fingerprint, ContentID Fingerprint // of the graph
	Generator              string      // of the draws, see Info.Generator

	home  *scheduler // whose buffers these are
	store store
}

// Rows is a table of values, one row for each node of a batch, row-major and
// little-endian.
type Rows struct {
	Data  []byte
	Dim   int64  // values in a row; 0: the table has one axis, one value for a node
	DType string // in NumPy's words, or "bfloat16"
}

// Attr is a node attribute.
type Attr struct {
	Name string
	Rows
}

// store is the memory behind a batch's slices, kept from one batch to the next.
type store struct {
	sub  sampler.Subgraph // without EID
	eid  []int64
	ids  []int64
	rows [][]byte // of X, then of each attribute
}

// Release says that the caller has done with the batch and all its slices, so
// that the engine can use their memory for another. Never calling it is safe:
// then the garbage collector has the work. b is empty afterwards, and a second
// Release does nothing.
func (b *Batch) Release() {
	if home := b.home; home != nil {
		kept := &Batch{store: b.store}
		*b = Batch{}
		home.recycle(kept)
	}
}

// bytes is the memory behind the batch, used or not.
func (b *Batch) bytes() int64 {
	s := &b.store
	n := s.sub.MemoryBytes() + 8*int64(cap(s.eid)+cap(s.ids))
	for _, rows := range s.rows {
		n += int64(cap(rows))
	}
	return n
}
