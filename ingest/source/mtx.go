//go:build linux

package source

import (
	"strconv"
	"strings"

	"github.com/aether-ooc/aether-ooc/internal/base"
)

// matrixMarket reads the coordinate form of Matrix Market: entry (i, j) is the
// edge i → j. A symmetric matrix holds one of (i, j) and (j, i): the other
// follows it as a row of its own, with the same weight, or in a skew-symmetric
// matrix with the opposite one.
//
//	%%MatrixMarket matrix coordinate real symmetric
//	% comments
//	5 5 8            rows, columns, entries
//	2 1 0.5          ids from 1
type matrixMarket struct {
	*lines
	row      rowParser
	mirrored bool // symmetric or skew
	skew     bool
	entries  int64 // declared
	got      int64
	n        int64
}

func openMatrixMarket(c *Config, f *file) (decoder, error) {
	m := &matrixMarket{lines: newLines(c, f)}
	m.parse, m.took, m.finish = m.parseEntries, m.count, m.check
	banner, _, err := m.line()
	if err != nil {
		return nil, err
	}
	m.seen++
	m.row = rowParser{sep: blanks, want: want{src: 1, dst: 2}}
	if err := m.kind(strings.Fields(strings.ToLower(string(banner)))); err != nil {
		return nil, err
	}
	weighted, err := c.weighted(f.name)
	if err != nil {
		return nil, err
	}
	if weighted && m.row.want.weight == 0 {
		return nil, Fault(f.name, "its entries have no values, so there are no weights; name two columns")
	}
	if !weighted {
		m.row.want.weight = 0
	}
	return m, m.size()
}

// kind reads the banner. Weights are the third column, where there are any.
func (m *matrixMarket) kind(words []string) error {
	if len(words) != 5 || words[1] != "matrix" {
		return m.bad(1, "not a Matrix Market banner; it must be %%%%MatrixMarket matrix coordinate pattern|real|integer general|symmetric|skew-symmetric")
	}
	if words[2] != "coordinate" {
		return m.bad(1, "the matrix is dense (%s); write it in coordinate form, in SciPy mmwrite(f, coo_matrix(a))", words[2])
	}
	switch words[3] {
	case "pattern":
	case "real", "integer", "double":
		m.row.want.weight = 3
	default:
		return m.bad(1, "its values are %s, which cannot be weights; write a pattern, real or integer matrix", words[3])
	}
	switch words[4] {
	case "general":
	case "symmetric":
		m.mirrored = true
	case "skew-symmetric":
		m.mirrored, m.skew = true, true
	default:
		return m.bad(1, "a %s matrix is not read; write it as general", words[4])
	}
	return nil
}

// size reads the line of sizes.
func (m *matrixMarket) size() error {
	line, err := m.first()
	if err != nil {
		return err
	}
	if line == nil {
		return m.bad(m.seen+1, "the line of sizes is missing: rows, columns and entries; the file is cut short, copy it again")
	}
	m.takeOut()
	words := strings.Fields(string(line))
	var sizes [3]int64
	for i := range sizes {
		if len(words) != len(sizes) {
			return m.bad(m.seen, "not a line of sizes: rows, columns and entries; the file is damaged, copy it again")
		}
		if sizes[i], err = strconv.ParseInt(words[i], 10, 63); err != nil || sizes[i] < 0 {
			bad := m.bad(m.seen, "not a size; the file is damaged, copy it again")
			bad.Column, bad.Value = i+1, shorten(words[i])
			return bad
		}
	}
	if sizes[0] != sizes[1] {
		return m.bad(m.seen, "the matrix has %d rows and %d columns, so they are different nodes; a graph needs a square one (add %d to the column ids, and write it with %d rows and columns)",
			sizes[0], sizes[1], sizes[0], sizes[0]+sizes[1])
	}
	m.n, m.entries = sizes[0], sizes[2]
	m.row.ids = ids{from: 1, count: base.NodeID(m.n), declared: true}
	return nil
}

func (m *matrixMarket) parseEntries(text []byte, b *Batch) *InputError {
	next := m.row.careful
	if m.row.want.weight == 0 {
		next = m.row.quick
	}
	for i := 0; i < len(text); {
		had := len(b.Src)
		var bad *InputError
		if i, bad = next(text, i, b); bad != nil {
			return bad
		}
		if m.mirrored && len(b.Src) > had {
			if bad := m.mirror(b, had); bad != nil {
				return bad
			}
		}
	}
	return nil
}

// mirror adds the other half of entry i.
func (m *matrixMarket) mirror(b *Batch, i int) *InputError {
	src, dst := b.Src[i], b.Dst[i]
	if src == dst {
		if m.skew {
			return &InputError{Line: b.Lines, Row: -1, Column: 2, Value: strconv.FormatUint(uint64(dst)+1, 10), Reason: "an entry on the diagonal, which a skew-symmetric matrix has none of; write it as general"}
		}
		return nil
	}
	b.Src, b.Dst = append(b.Src, dst), append(b.Dst, src)
	if len(b.Weight) > 0 {
		w := b.Weight[i]
		if m.skew {
			w = -w
		}
		b.Weight = append(b.Weight, w)
	}
	return nil
}

func (m *matrixMarket) count(b *Batch) error {
	m.got += b.Lines - b.Skipped
	return nil
}

func (m *matrixMarket) check() error {
	if m.got != m.entries {
		return Fault(m.name, "its line of sizes says that there are %d entries, but there are %d; the file is damaged, copy it again", m.entries, m.got)
	}
	return nil
}

func (m *matrixMarket) extent() extent {
	x := extent{rows: m.entries, most: m.entries, nodes: m.n}
	if m.mirrored {
		x.rows, x.most = -1, 2*m.entries
	}
	return x
}
