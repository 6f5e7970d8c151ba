//go:build linux

package source

import (
	"strconv"
	"strings"

	"github.com/aether-ooc/aether-ooc/internal/base"
)

// metis reads the adjacency lists of METIS: line i holds the neighbours of node
// i, each an edge from i. The format is for undirected graphs, and so every edge
// stands in both lists; where it stands in one, --undirected adds the other.
//
//	% comments
//	5 6 011 2        nodes, edges, and what stands in a line besides neighbours:
//	1 1 2 7 3 9      vertex size (100), vertex weights (10), weights of edges (1)
//	                 a blank line: no neighbours
type metis struct {
	*lines
	ids      ids
	n, m     int64
	before   int  // numbers at the begin of a line that are no neighbours
	values   bool // a weight follows every neighbour
	weighted bool // and is asked for

	node, edges, loops int64
}

// longestList is how long the line of a hub may be: it must fit in memory.
const longestList = 1 << 30

func openMETIS(c *Config, f *file) (decoder, error) {
	s := &metis{lines: newLines(c, f)}
	s.longest = longestList
	s.parse, s.took, s.finish = s.parseLists, s.place, s.check
	line, err := s.first()
	if err != nil {
		return nil, err
	}
	if line != nil {
		s.takeOut()
	}
	if err := s.header(strings.Fields(string(line))); err != nil {
		return nil, err
	}
	if s.weighted, err = c.weighted(f.name); err == nil && s.weighted && !s.values {
		err = Fault(f.name, "its edges have no weights; name two columns")
	}
	return s, err
}

func (s *metis) header(words []string) error {
	var sizes [2]int64
	for i := range sizes {
		var err error
		if len(words) < 2 || len(words) > 4 {
			return s.bad(max(1, s.seen), "not a METIS header: nodes, edges, and at most a format and a number of weights; is this a METIS file?")
		}
		if sizes[i], err = strconv.ParseInt(words[i], 10, 63); err != nil || sizes[i] < 0 {
			return s.badWord(s.seen, i+1, words[i], "not a size; is this a METIS file?")
		}
	}
	s.n, s.m = sizes[0], sizes[1]
	s.ids = ids{from: 1, count: base.NodeID(s.n), declared: true}
	return s.format(append(words[2:], "", "")[:2])
}

func (s *metis) format(words []string) error {
	kind := "000" + words[0]
	kind = kind[len(kind)-3:]
	if len(words[0]) > 3 || strings.Trim(kind, "01") != "" {
		return s.badWord(s.seen, 3, words[0], "not a METIS format; it is up to three digits, each 0 or 1")
	}
	weights := 0
	if kind[1] == '1' {
		weights = 1
	}
	if words[1] != "" {
		n, err := strconv.Atoi(words[1])
		if err != nil || n < 0 || n > 1<<20 || n > 0 && weights == 0 {
			return s.badWord(s.seen, 4, words[1], "not a number of vertex weights, or the format (column 3) has none")
		}
		weights = n
	}
	s.before = weights + int(kind[0]-'0')
	s.values = kind[2] == '1'
	return nil
}

func (s *metis) badWord(line int64, column int, word, reason string) error {
	bad := s.bad(line, "%s", reason)
	bad.Column, bad.Value = column, shorten(word)
	return bad
}

// parseLists counts nodes from the start of the block; place knows better.
func (s *metis) parseLists(text []byte, b *Batch) *InputError {
	node := base.NodeID(0)
	for i := 0; i < len(text); {
		b.Lines++
		end, next := lineEnd(text, i)
		if line := text[i:end]; isNote(line) {
			b.Skipped++
		} else {
			if bad := s.list(line, node, b); bad != nil {
				bad.Line, bad.Row = b.Lines, -1
				return bad
			}
			node++
		}
		i = next
	}
	return nil
}

// isNote tells a comment, which has its sign at the front; a blank line is a node.
func isNote(line []byte) bool { return len(line) > 0 && line[0] == '%' }

// list reads the line of a node.
func (s *metis) list(line []byte, node base.NodeID, b *Batch) *InputError {
	w := words{rest: cutter{line: line, sep: blanks}}
	if !w.rest.more() {
		return nil
	}
	for range s.before {
		if word := w.next(); !isDigits(word) {
			return complain(string(word), w.column, "not the size or weight of a node, with which every line begins by the header")
		}
	}
	for w.rest.more() {
		word := w.next()
		v, end := digits(word, 0)
		dst, ok := s.ids.node(v)
		if !ok || end == 0 || end < len(word) || end > safeDigits {
			return complain(string(word), w.column, s.ids.reason(string(word)))
		}
		b.Src, b.Dst = append(b.Src, node), append(b.Dst, dst)
		b.Max = max(b.Max, dst)
		if bad := s.weight(&w, b); bad != nil {
			return bad
		}
	}
	return nil
}

// weight reads the weight behind a neighbour.
func (s *metis) weight(w *words, b *Batch) *InputError {
	if !s.values {
		return nil
	}
	word := string(w.next())
	weight, ok := parseWeight(word)
	if !ok {
		return complain(word, w.column, "no finite number, as the weight must be that follows every neighbour by the header")
	}
	if s.weighted {
		b.Weight = append(b.Weight, weight)
	}
	return nil
}

// words counts the columns that are taken from a line.
type words struct {
	rest   cutter
	column int
}

// next is empty where there is no more.
func (w *words) next() []byte {
	w.column++
	if !w.rest.more() {
		return nil
	}
	f, _ := w.rest.next(false)
	return f.word
}

// place gives the edges of a block their sources.
func (s *metis) place(b *Batch) error {
	for i := range b.Src {
		b.Src[i] += base.NodeID(s.node)
		if b.Src[i] == b.Dst[i] {
			s.loops++
		}
	}
	s.edges += int64(len(b.Src))
	s.node += b.Lines - b.Skipped
	if n := len(b.Src); n > 0 {
		if b.Src[n-1] >= base.NodeID(s.n) {
			return Fault(s.name, "it has lists for more nodes than the %d of its header; the file is damaged, copy it again", s.n)
		}
		b.Max = max(b.Max, b.Src[n-1])
	}
	return nil
}

// check compares with the header. Blank lines at the end may have been lost.
func (s *metis) check() error {
	switch {
	case s.edges == 2*s.m, s.edges+s.loops == 2*s.m:
		return nil
	case s.edges == s.m && s.node >= s.n:
		return nil
	}
	return Fault(s.name, "its header says that there are %d edges, which the lists hold in both directions (%d entries) or in one, but there are %d entries; the file is damaged, copy it again", s.m, 2*s.m, s.edges)
}

func (s *metis) extent() extent { return extent{rows: -1, most: 2 * s.m, nodes: s.n} }
