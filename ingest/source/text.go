//go:build linux

package source

import (
	"bytes"
	"errors"
	"slices"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"
)

// openText opens a list of edges, one on a line. Its first line decides how
// columns are parted, and, as Header says, whether it names them.
func openText(c *Config, f *file) (decoder, error) {
	s := newLines(c, f)
	first, err := s.first()
	if err != nil {
		return nil, err
	}
	p := &rowParser{ids: c.ids(), names: c.Names, seed: c.NameSeed, sep: separator(first)}
	s.parse = p.parse
	names := p.split(first)
	words := areWords(names)
	if c.Names { // which are words too
		_, words = known(names)
	}
	switch {
	case first != nil && (c.Header == HeaderYes || c.Header == HeaderAuto && words):
		s.takeOut()
		if words && !c.Names { // else it could be an edge, if it came again
			p.header = bytes.Clone(first)
		}
	default:
		names = nil
	}
	p.want, err = c.columns(f.name, names)
	return s, err
}

// areWords tells columns that are all words, or empty, from an edge.
func areWords(columns []string) (found bool) {
	for _, c := range columns {
		if c == "" {
			continue
		}
		if first, _ := utf8.DecodeRuneInString(c); first != '_' && first != ':' && !unicode.IsLetter(first) || isNumber(c) {
			return false
		}
		found = true
	}
	return found
}

// isNumber tells what somebody may have meant as a number, "inf" and "NA" too.
func isNumber(word string) bool {
	_, err := strconv.ParseFloat(word, 64)
	return err == nil || errors.Is(err, strconv.ErrRange) || isMissing(word)
}

// want says which column, from 1, holds what; 0: none.
type want struct{ src, dst, weight, time int }

// usualPairs are the names by which the columns of an edge are known without being
// told: lower case, without what is no letter or digit.
var usualPairs = [][2]string{
	{"src", "dst"}, {"source", "target"}, {"source", "destination"}, {"source", "dest"}, {"from", "to"},
	{"srcid", "dstid"}, {"sourceid", "targetid"}, {"sourceid", "destinationid"}, {"fromid", "toid"}, {"startid", "endid"},
	{"fromnodeid", "tonodeid"}, {"sourcenode", "targetnode"}, {"fromnode", "tonode"}, {"srcnode", "dstnode"}, {"head", "tail"},
	{"node1", "node2"}, {"nodeid1", "nodeid2"}, {"id1", "id2"}, {"u", "v"}, {"i", "j"}, {"row", "col"}, {"citing", "cited"},
}

// columns finds out which columns to read, by names where the header gives some.
func (c *Config) columns(file string, names []string) (want, error) {
	if c.Columns != nil {
		return c.named(file, names)
	}
	if names == nil || len(names) == 2 && names[0] != "" && names[1] != "" {
		if w, ok := known(names); ok {
			return w, nil
		}
		return want{src: 1, dst: 2}, nil
	}
	if w, ok := known(names); ok {
		return w, nil
	}
	return want{}, Fault(file, "its columns are %s, and which are the source and the target cannot be told; say so, as in --columns %s", quoted(names), example(names))
}

func quoted(names []string) string { return strconv.Quote(strings.Join(names, ",")) }

func example(names []string) string {
	names = slices.DeleteFunc(slices.Clone(names), func(n string) bool { return n == "" })
	if len(names) < 2 {
		return "1,2"
	}
	return strings.Join(names[len(names)-2:], ",")
}

// known finds the columns of a pair of names.
func known(names []string) (want, bool) {
	plain := make([]string, len(names))
	for i, n := range names {
		plain[i] = strings.Map(func(r rune) rune {
			if unicode.IsLetter(r) || unicode.IsDigit(r) {
				return r
			}
			return -1
		}, strings.ToLower(n))
	}
	for _, p := range usualPairs {
		src, dst := slices.Index(plain, p[0]), slices.Index(plain, p[1])
		if src >= 0 && dst >= 0 {
			return want{src: src + 1, dst: dst + 1}, true
		}
	}
	return want{}, false
}

// named resolves Columns.
func (c *Config) named(file string, names []string) (w want, err error) {
	at := []*int{&w.src, &w.dst, &w.weight, &w.time}
	for i, name := range c.Columns {
		if name == "" {
			continue
		}
		if *at[i], err = columnAt(file, name, names); err != nil {
			return w, err
		}
	}
	return w, nil
}

// columnAt is the number of a column that is given by its name or number.
func columnAt(file, name string, names []string) (int, error) {
	if n, err := strconv.Atoi(name); err == nil {
		if names != nil && n > len(names) {
			return 0, Fault(file, "there is no column %d; its columns are %s", n, quoted(names))
		}
		return n, nil
	}
	if names == nil {
		return 0, Fault(file, "it has no header, so column %q cannot be found; give the column's number", name)
	}
	at := slices.Index(names, name)
	switch {
	case at < 0:
		return 0, Fault(file, "there is no column %q; its columns are %s", name, quoted(names))
	case slices.Contains(names[at+1:], name):
		return 0, Fault(file, "there are two columns %q; give the column's number", name)
	}
	return at + 1, nil
}

// checkColumns refuses Columns that cannot be meant.
func (c *Config) checkColumns() error {
	if c.Columns == nil {
		return nil
	}
	if len(c.Columns) < 2 || len(c.Columns) > 4 || c.Columns[0] == "" || c.Columns[1] == "" {
		return option("columns %s: name two to four, source,target[,weight[,time]]", quoted(c.Columns))
	}
	for i, name := range c.Columns {
		if n, err := strconv.Atoi(name); err == nil && n < 1 {
			return option("column %d: columns are counted from 1", n)
		}
		if name != "" && slices.Contains(c.Columns[:i], name) {
			return option("column %s is named twice", name)
		}
	}
	return nil
}

// weighted tells whether Columns asks for the weights of a format whose columns
// have no names of their own.
func (c *Config) weighted(file string) (bool, error) {
	names := [][]string{{"1", "src", "source"}, {"2", "dst", "target"}, {"3", "weight"}}
	for i, name := range c.Columns {
		if i >= len(names) || !slices.Contains(names[i], strings.ToLower(name)) {
			return false, Fault(file, "its columns are src,dst,weight, in this order; there is no other choice (%s)", quoted(c.Columns))
		}
	}
	return len(c.Columns) == 3, nil
}
