package layout

import (
	"encoding/binary"

	"github.com/zeebo/xxh3"

	"github.com/aether-ooc/aether-ooc/internal/base"
)

// The first words of what is hashed: they name the recipe.
const (
	fingerprintRecipe = "aefp0001"
	contentRecipe     = "aect0001"
	originalRecipe    = "aect0002" // with original ids
)

// wordHash is the XXH3-128 of a sequence of 64-bit words, fed in pieces large
// enough for the hash to be fast.
type wordHash struct {
	h   *xxh3.Hasher
	buf []byte
}

func newWordHash() wordHash { return wordHash{h: xxh3.New(), buf: make([]byte, 0, 4096)} }

func (h *wordHash) put(x uint64) {
	if len(h.buf) == cap(h.buf) {
		h.h.Write(h.buf)
		h.buf = h.buf[:0]
	}
	h.buf = le64(h.buf, x)
}

// putWords puts many words at once.
func putWords[W ~uint64](h *wordHash, xs []W) {
	for len(xs) > 0 {
		if len(h.buf) == cap(h.buf) {
			h.h.Write(h.buf)
			h.buf = h.buf[:0]
		}
		n := min(len(xs), (cap(h.buf)-len(h.buf))/8)
		b := h.buf[len(h.buf):][:8*n]
		for i, x := range xs[:n] {
			binary.LittleEndian.PutUint64(b[8*i:], uint64(x))
		}
		h.buf, xs = h.buf[:len(h.buf)+8*n], xs[n:]
	}
}

// bytes puts bytes between words.
func (h *wordHash) bytes(b []byte) {
	h.h.Write(h.buf)
	h.buf = h.buf[:0]
	h.h.Write(b)
}

func (h *wordHash) sum() base.Fingerprint {
	h.h.Write(h.buf)
	h.buf = h.buf[:0]
	return h.h.Sum128().Bytes()
}

// Fingerprinter hashes the logical content of a graph: the same for every
// encoding and placement of the same lists.
type Fingerprinter struct {
	h             wordHash
	dir           Direction
	node          base.NodeID
	degree, edges uint64
}

// NewFingerprinter starts the fingerprint of a graph without edges.
func NewFingerprinter(d Direction) *Fingerprinter {
	f := &Fingerprinter{h: newWordHash(), dir: d}
	f.h.buf = append(f.h.buf, fingerprintRecipe...)
	return f
}

// List adds v's list, or goes on with it when it was the last one. Nodes come
// in ascending order; empty lists leave no trace.
func (f *Fingerprinter) List(v base.NodeID, neighbours []base.NodeID) {
	if len(neighbours) == 0 {
		return
	}
	if v != f.node || f.degree == 0 {
		f.end()
		f.node = v
		f.h.put(uint64(v))
	}
	putWords(&f.h, neighbours)
	f.degree += uint64(len(neighbours))
}

// end closes a list with its degree: it stands last, so a list need not be
// known whole when it begins, and the words can still be read from the back.
func (f *Fingerprinter) end() {
	if f.degree > 0 {
		f.h.put(f.degree)
		f.edges += f.degree
		f.degree = 0
	}
}

// Sum ends the lists of a graph of so many nodes.
func (f *Fingerprinter) Sum(nodes uint64) base.Fingerprint {
	f.end()
	for _, x := range []uint64{uint64(f.dir), nodes, f.edges} {
		f.h.put(x)
	}
	return f.h.sum()
}

// ContentHasher hashes what belongs to a graph beside its lists: edge ids,
// original ids and the files beside it.
type ContentHasher struct {
	mode     EdgeIDMode
	ids      wordHash
	original *wordHash // nil: the graph keeps none
}

// NewContentHasher starts with no edge id.
func NewContentHasher(m EdgeIDMode) *ContentHasher {
	return &ContentHasher{mode: m, ids: newWordHash()}
}

// EdgeID adds the next id in canonical order, with EdgeIDsInput.
func (c *ContentHasher) EdgeID(id base.EdgeID) { c.ids.put(uint64(id)) }

// Original adds the next values of the columns of original ids, column by
// column; OriginalNames those of the names. A graph that keeps none has no call
// of either.
func (c *ContentHasher) Original(values []uint64) {
	c.keepOriginal()
	putWords(c.original, values)
}

// OriginalNames adds the next bytes of names.
func (c *ContentHasher) OriginalNames(b []byte) { c.original.bytes(b) }

func (c *ContentHasher) keepOriginal() {
	if c.original == nil {
		h := newWordHash()
		c.original = &h
	}
}

// Sum gives the content id. attachments is the content of that section.
func (c *ContentHasher) Sum(fp base.Fingerprint, attachments []byte) base.Fingerprint {
	ids := c.ids.sum()
	h := xxh3.New()
	recipe, original := contentRecipe, []byte(nil)
	if c.original != nil {
		sum := c.original.sum()
		recipe, original = originalRecipe, sum[:]
	}
	h.WriteString(recipe)
	h.Write(fp[:])
	h.Write(le64(nil, uint64(c.mode)))
	h.Write(ids[:])
	h.Write(original)
	h.Write(attachments)
	return h.Sum128().Bytes()
}
