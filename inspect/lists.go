package inspect

import (
	"fmt"
	"math/bits"

	"github.com/aether-ooc/aether-ooc/internal/base"
	"github.com/aether-ooc/aether-ooc/internal/report"
	"github.com/aether-ooc/aether-ooc/layout"
	"github.com/aether-ooc/aether-ooc/scan"
)

// lists checks the adjacency and the edge ids side by side, edge by edge.
type lists struct {
	j        *job
	fp       *layout.Fingerprinter
	content  *layout.ContentHasher
	ids      *idReader // nil: there are none
	presence presence
	scratch  []base.NodeID
	started  bool        // there is a last list
	fresh    bool        // none of its edges has been met yet
	node     base.NodeID // its node
	last     base.NodeID // its last neighbour
	lastID   base.EdgeID // and that edge's id
}

func (j *job) checkLists(r *VerifyResult) error {
	s := j.Superblock
	l := &lists{j: j, fp: layout.NewFingerprinter(s.Direction), content: layout.NewContentHasher(s.EdgeIDs), presence: presence{j: j, bits: j.Index.Presence()}}
	if j.HasEdgeIDs() {
		l.ids = newIDReader(j, r)
	}
	if err := j.Adjacency(l.block); err != nil {
		return err
	}
	if err := j.checkOriginal(r, l.content); err != nil {
		return err
	}
	if err := l.finish(); err != nil {
		return err
	}
	r.checked("lists ascend, none is missing, none is listed twice; neighbours ascend within each")
	if l.presence.bits != nil {
		r.checked("the presence bitmap names exactly the nodes that have edges")
	}
	if l.ids != nil {
		r.checked("edge ids are rows of the input, ascending among parallel edges%s", l.ids.words())
	}
	r.checked("fingerprint and content id, computed again")
	return nil
}

func (l *lists) block(no base.BlockNo, k layout.Block) error {
	if err := k.Validate(l.j.Superblock.Nodes); err != nil {
		return l.j.Place(no, err)
	}
	if err := l.j.CheckRow(no, k); err != nil {
		return err
	}
	for i := range k.Lists() {
		v, piece := k.Node(i), k.List(i)
		if err := l.begin(no, v, piece.At(0), i == 0 && k.ContIn() > 0); err != nil {
			return err
		}
		if err := l.edges(piece); err != nil {
			return err
		}
		l.fp.List(v, l.scratch)
	}
	return nil
}

// begin compares the start of a piece with what came before it.
func (l *lists) begin(no base.BlockNo, v, first base.NodeID, continued bool) error {
	switch {
	case continued && v != l.node:
		return l.j.Damage(no, "a block goes on with another list than the one before ended with", l.node, v)
	case continued && first < l.last:
		return l.j.Damage(no, "neighbours must ascend from block to block", l.last, first)
	case continued:
		return nil
	case l.started && v <= l.node:
		return l.j.Damage(no, "nodes must ascend from block to block", fmt.Sprintf("more than %d", l.node), v)
	}
	err := l.presence.reach(v)
	l.node, l.started, l.fresh = v, true, true
	return err
}

// edges takes the entries of a piece, each with its id.
func (l *lists) edges(piece layout.List) error {
	l.scratch = l.scratch[:0]
	for i := range piece.Len() {
		n := piece.At(i)
		l.scratch = append(l.scratch, n)
		if l.ids != nil {
			if err := l.id(n); err != nil {
				return err
			}
		}
		l.last, l.fresh = n, false
	}
	return nil
}

// id takes the id of the edge from neighbour n.
func (l *lists) id(n base.NodeID) error {
	id, err := l.ids.next()
	if err != nil {
		return err
	}
	if !l.fresh && n == l.last && id <= l.lastID {
		return l.j.Damage(l.ids.Block(), "ids of parallel edges must ascend", fmt.Sprintf("more than %d", l.lastID), id)
	}
	l.lastID = id
	l.content.EdgeID(id)
	return nil
}

// finish compares what is known only at the end.
func (l *lists) finish() error {
	s := l.j.Superblock
	if err := l.presence.end(); err != nil {
		return err
	}
	if got := l.fp.Sum(s.Nodes); got != s.Fingerprint {
		return l.j.Damage(0, "the fingerprint is not that of the lists", got, s.Fingerprint)
	}
	if got := l.j.ContentID(l.content); got != s.ContentID {
		return l.j.Damage(0, "the content id is not that of edge ids and attachments", got, s.ContentID)
	}
	return nil
}

// presence walks the bitmap along with the lists.
type presence struct {
	j    *job
	bits []byte
	next uint64 // bits below it have been compared
}

// reach checks that v is the next node with a bit.
func (p *presence) reach(v base.NodeID) error {
	if p.bits == nil {
		return nil
	}
	if got := p.set(); got != uint64(v) {
		return p.wrong(min(got, uint64(v)))
	}
	p.next = uint64(v) + 1
	return nil
}

// end checks that no bit is left.
func (p *presence) end() error {
	if p.bits == nil {
		return nil
	}
	if got := p.set(); got < uint64(len(p.bits))*8 {
		return p.wrong(got)
	}
	return nil
}

// set is the first bit from next on that is set, or the end.
func (p *presence) set() uint64 {
	for at := p.next / 8; at < uint64(len(p.bits)); at++ {
		b := p.bits[at]
		if at == p.next/8 {
			b &= 0xff << (p.next % 8)
		}
		if b != 0 {
			return at*8 + uint64(bits.TrailingZeros8(b))
		}
	}
	return uint64(len(p.bits)) * 8
}

func (p *presence) wrong(v uint64) error {
	s, _ := p.j.Table.Find(layout.KindPresence, 0, 0)
	got := p.bits[v/8] >> (v % 8) & 1
	return p.j.Damage(s.First+base.BlockNo(v/8/(base.BlockSize-4)), fmt.Sprintf("the bit of node %d is wrong", v), 1-got, got)
}

// idReader remembers which edge ids were met: once, or twice in an undirected
// graph.
type idReader struct {
	*scan.IDs
	j    *job
	seen [][]uint64 // a bit per row, for each time that it may be met
}

func newIDReader(j *job, r *VerifyResult) *idReader {
	d := &idReader{IDs: j.IDs(), j: j}
	times := uint64(1)
	if j.Superblock.Undirected {
		times = 2
	}
	words := (j.Superblock.InputEdges + 63) / 64
	if words > uint64(j.c.Memory)/8/times {
		r.Unchecked = append(r.Unchecked, fmt.Sprintf("that no edge id occurs too often: it takes %s of memory, %s are allowed", report.Bytes(words*8*times), report.Bytes(j.c.Memory)))
		return d
	}
	for range times {
		d.seen = append(d.seen, make([]uint64, words))
	}
	return d
}

// words say how far uniqueness was checked.
func (d *idReader) words() string {
	switch {
	case len(d.seen) == 0:
		return ""
	case len(d.seen) == 2:
		return ", none more than twice"
	case uint64(d.Edge()) == d.j.Superblock.InputEdges:
		return ", each row once"
	}
	return ", none twice"
}

func (d *idReader) next() (base.EdgeID, error) {
	id, err := d.IDs.Next()
	if err != nil {
		return 0, err
	}
	if rows := d.j.Superblock.InputEdges; uint64(id) >= rows {
		return 0, d.j.Damage(d.Block(), "edge id", fmt.Sprintf("below %d", rows), id)
	}
	if !d.meet(id) {
		return 0, d.j.Damage(d.Block(), "an edge id occurs too often", fmt.Sprintf("%d times at most", len(d.seen)), id)
	}
	return id, nil
}

// meet marks an id and says whether it may still be met.
func (d *idReader) meet(id base.EdgeID) bool {
	for _, s := range d.seen {
		if s[id/64]>>(id%64)&1 == 0 {
			s[id/64] |= 1 << (id % 64)
			return true
		}
	}
	return len(d.seen) == 0
}
