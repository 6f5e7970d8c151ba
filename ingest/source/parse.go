//go:build linux

package source

import (
	"bytes"
	"math"
	"strconv"
	"strings"

	"github.com/aether-ooc/aether-ooc/internal/base"
)

// safeDigits is how many decimal digits always fit in 63 bits.
const safeDigits = 18

// blanks are what parts columns where nothing else does: any number of spaces and
// tabs.
const blanks = ' '

// rowParser reads lines with an edge on each. A line ends with \n, \r\n or \r;
// the last one may have no end. Columns are parted by sep, with blanks around it
// as one likes; a tab is no blank where it is sep, so that an empty column is
// seen. What follows the last column that is wanted is passed over.
type rowParser struct {
	ids
	names  bool // of nodes, in place of ids
	seed   uint64
	sep    byte // a comma, a semicolon, a tab, or blanks
	want   want
	header []byte // skipped wherever it is met; nil: there is none
}

func (p *rowParser) parse(text []byte, b *Batch) *InputError {
	next := p.careful
	if p.want == (want{src: 1, dst: 2}) && !p.names {
		next = p.quick
	}
	for i := 0; i < len(text); {
		var bad *InputError
		if i, bad = next(text, i, b); bad != nil {
			return bad
		}
	}
	return nil
}

// quick reads the line at i, source and target first and plain digits, or leaves
// it to careful. It gives the place of the next line.
func (p *rowParser) quick(text []byte, i int, b *Batch) (int, *InputError) {
	at := p.skipBlanks(text, i)
	src, j := digits(text, at)
	if src -= p.from; j == at || j-at > safeDigits || src >= p.count {
		return p.careful(text, i, b)
	}
	k := p.skipBlanks(text, j)
	if p.sep != blanks {
		if k == len(text) || text[k] != p.sep {
			return p.careful(text, i, b)
		}
		k = p.skipBlanks(text, k+1)
	} else if k == j {
		return p.careful(text, i, b)
	}
	dst, j := digits(text, k)
	if dst -= p.from; j == k || j-k > safeDigits || dst >= p.count {
		return p.careful(text, i, b)
	}
	next, ok := p.passOver(text, j)
	if !ok {
		return p.careful(text, i, b)
	}
	b.Lines++
	b.Src, b.Dst = append(b.Src, src), append(b.Dst, dst)
	b.Max = max(b.Max, src, dst)
	return next, nil
}

// passOver goes from the end of the last column that is wanted to the next line,
// if there is nothing that wants a closer look.
func (p *rowParser) passOver(text []byte, j int) (next int, ok bool) {
	if j < len(text) && text[j] == '\n' {
		return j + 1, true
	}
	k := p.skipBlanks(text, j)
	if k < len(text) && text[k] != '\r' && text[k] != '\n' && text[k] != p.sep && !isComment(text[k]) && (p.sep != blanks || k == j) {
		return 0, false
	}
	for ; k < len(text) && text[k] != '\n'; k++ {
		if text[k] == '"' {
			return 0, false
		}
		if text[k] == '\r' {
			_, next = lineEnd(text, k)
			return next, true
		}
	}
	return min(k+1, len(text)), true
}

func (p *rowParser) skipBlanks(text []byte, i int) int {
	for i < len(text) && (text[i] == ' ' || text[i] == '\t' && p.sep != '\t') {
		i++
	}
	return i
}

// digits reads decimal digits from i on; the number has wrapped where there
// were more than safeDigits.
func digits(text []byte, i int) (v base.NodeID, end int) {
	for ; i < len(text); i++ {
		d := text[i] - '0'
		if d > 9 {
			break
		}
		v = v*10 + base.NodeID(d)
	}
	return v, i
}

// careful reads the line at i, whatever it is.
func (p *rowParser) careful(text []byte, i int, b *Batch) (int, *InputError) {
	b.Lines++
	end, next := lineEnd(text, i)
	line := text[i:end]
	if isIdle(line) || p.header != nil && bytes.Equal(line, p.header) {
		b.Skipped++
		return next, nil
	}
	if bad := p.row(line, b); bad != nil {
		bad.Line, bad.Row = b.Lines, -1
		return next, bad
	}
	return next, nil
}

// lineEnd is where the line of i ends and where the next one begins.
func lineEnd(text []byte, i int) (end, next int) {
	for end = i; end < len(text) && text[end] != '\n' && text[end] != '\r'; end++ {
	}
	next = end + 1
	if next < len(text) && text[end] == '\r' && text[next] == '\n' {
		next++
	}
	return end, min(next, len(text))
}

// row reads the columns of a line.
func (p *rowParser) row(line []byte, b *Batch) *InputError {
	words := [4]field{}
	last := max(p.want.src, p.want.dst, p.want.weight, p.want.time)
	rest := cutter{line: line, sep: p.sep}
	for column := 1; rest.more() && (column <= last || isCSV(p.sep)); column++ {
		f, ok := rest.next(column > last)
		if !ok {
			return &InputError{Column: column, Value: shorten(string(f.word)), Reason: "a quoted column does not end in its line; write line breaks in text as \\n, or leave the column out"}
		}
		switch column {
		case p.want.src:
			words[0] = f
		case p.want.dst:
			words[1] = f
		case p.want.weight:
			words[2] = f
		case p.want.time:
			words[3] = f
		}
	}
	return p.take(words, b)
}

// take appends the edge that the words give.
func (p *rowParser) take(words [4]field, b *Batch) *InputError {
	src, bad := p.end(words[0], p.want.src, b)
	if bad != nil {
		return bad
	}
	dst, bad := p.end(words[1], p.want.dst, b)
	if bad != nil {
		return bad
	}
	if p.want.weight > 0 {
		weight, ok := parseWeight(words[2].whole())
		if !ok {
			return complain(words[2].whole(), p.want.weight, "no finite decimal number, which a weight must be; remove the row or correct it")
		}
		b.Weight = append(b.Weight, weight)
	}
	if p.want.time > 0 {
		time, err := strconv.ParseInt(words[3].whole(), 10, 64)
		if err != nil {
			return complain(words[3].whole(), p.want.time, "no integer of 64 bits, which a time must be; write times as whole seconds or the like")
		}
		b.Time = append(b.Time, time)
	}
	b.Src, b.Dst = append(b.Src, src), append(b.Dst, dst)
	b.Max = max(b.Max, src, dst)
	return nil
}

// end reads the column of an end of an edge.
func (p *rowParser) end(f field, column int, b *Batch) (base.NodeID, *InputError) {
	if p.names {
		return p.name(f, column, b)
	}
	return p.id(f, column)
}

func (p *rowParser) id(f field, column int) (base.NodeID, *InputError) {
	if v, end := digits(f.word, 0); end > 0 && end == len(f.word) && end <= safeDigits {
		if v, ok := p.node(v); ok {
			return v, nil
		}
	}
	return p.odd(string(f.word), column)
}

// odd reads an id of more digits, or says what is wrong with it.
func (p *rowParser) odd(word string, column int) (base.NodeID, *InputError) {
	if isDigits(word) {
		if n, err := strconv.ParseUint(word, 10, 63); err == nil {
			if v, ok := p.node(base.NodeID(n)); ok {
				return v, nil
			}
		}
	}
	if strings.ContainsAny(word, " \t,;") {
		return 0, complain(word, column, "not a plain integer; the columns are parted by "+sepName[p.sep]+", as in the first line: write all lines alike")
	}
	return 0, complain(word, column, p.reason(word))
}

func complain(word string, column int, reason string) *InputError {
	return &InputError{Column: column, Value: shorten(word), Reason: reason}
}

// parseWeight reads a finite number; digits, sign, point and exponent are what
// may stand in it.
func parseWeight(word string) (float64, bool) {
	if strings.Trim(word, "0123456789+-.eE") != "" {
		return 0, false
	}
	w, err := strconv.ParseFloat(word, 64)
	return w, err == nil && !math.IsInf(w, 0)
}

// sepName calls separators by their names, in the order in which a line of words
// is searched for them.
var (
	seps    = []byte{'\t', ',', ';'}
	sepName = map[byte]string{'\t': "tabs", ',': "commas", ';': "semicolons", blanks: "blanks"}
)

// isCSV tells separators with which columns may be in quotes, line breaks
// included, from those with which a quote is a sign like others.
func isCSV(sep byte) bool { return sep == ',' || sep == ';' }

// separator is what parts the columns of a first line: what follows its first
// column if that is a number, else the strongest of those that are in the line.
func separator(line []byte) byte {
	line = bytes.TrimLeft(line, " ")
	if len(line) > 0 && bytes.IndexByte([]byte("0123456789+-.\""), line[0]) >= 0 {
		end := bytes.IndexAny(line[1:], " \t,;\"") + 1
		if end > 0 && line[end] == '"' {
			end++
		}
		if rest := bytes.TrimLeft(line[end:], " "); end > 0 && len(rest) > 0 && bytes.IndexByte(seps, rest[0]) >= 0 {
			return rest[0]
		}
		return blanks
	}
	for _, sep := range seps {
		if bytes.IndexByte(line, sep) >= 0 {
			return sep
		}
	}
	return blanks
}

// split cuts a first line into its columns.
func (p *rowParser) split(line []byte) (words []string) {
	for rest := (cutter{line: line, sep: p.sep}); rest.more(); {
		f, _ := rest.next(false)
		words = append(words, string(f.word))
	}
	return words
}

// field is the content of a column: without the blanks around it, or its quotes.
type field struct {
	word   []byte
	cut    byte // the comment sign that follows it at once; 0: none
	quoted bool // it stood in quotes; those within it are still twice
}

// whole is the word with what it runs into: a weight of 50% is not 50.
func (f field) whole() string {
	if f.cut != 0 {
		return string(f.word) + string(rune(f.cut))
	}
	return string(f.word)
}

// cutter takes a line apart, from the left.
type cutter struct {
	line []byte
	sep  byte
	done bool
}

func (c *cutter) more() bool {
	if c.sep == blanks && !c.done {
		c.line = c.trim(c.line)
		return len(c.line) > 0 && !isComment(c.line[0])
	}
	return !c.done
}

// next gives the next column; ok is false where its quote is not closed. Of what
// is passed over only that matters, and only in the manner of CSV.
func (c *cutter) next(over bool) (f field, ok bool) {
	c.line = c.trim(c.line)
	if len(c.line) > 0 && c.line[0] == '"' && (!over || isCSV(c.sep)) {
		return c.quoted()
	}
	end := 0
	for end < len(c.line) && !c.ends(c.line[end]) {
		end++
	}
	f.word = c.trimRight(c.line[:end])
	if end < len(c.line) && isComment(c.line[end]) && len(f.word) == end {
		f.cut = c.line[end]
	}
	c.drop(end)
	return f, true
}

func (c *cutter) ends(b byte) bool {
	return b == c.sep || isComment(b) || c.sep == blanks && b == '\t'
}

// drop goes on behind the separator at end, if there is one.
func (c *cutter) drop(end int) {
	if end == len(c.line) || isComment(c.line[end]) {
		c.done = true
		return
	}
	c.line = c.line[end+1:]
}

// quoted takes a column in quotes, in which a quote is written twice.
func (c *cutter) quoted() (f field, ok bool) {
	end := 1
	for ; ; end++ {
		n := bytes.IndexByte(c.line[end:], '"')
		if n < 0 {
			c.done = true
			return field{word: c.line}, false
		}
		if end += n; end+1 == len(c.line) || c.line[end+1] != '"' {
			break
		}
		end++
	}
	f.word, f.quoted = c.line[1:end], true
	behind := end + 1
	for behind < len(c.line) && !c.ends(c.line[behind]) {
		behind++
	}
	if len(c.trimRight(c.line[end+1:behind])) > 0 {
		f.word, f.quoted = c.line[:behind], false // "1"2: no number
	}
	c.drop(behind)
	return f, true
}

func (c *cutter) isBlank(b byte) bool { return b == ' ' || b == '\t' && c.sep != '\t' }

func (c *cutter) trim(b []byte) []byte {
	for len(b) > 0 && c.isBlank(b[0]) {
		b = b[1:]
	}
	return b
}

func (c *cutter) trimRight(b []byte) []byte {
	for len(b) > 0 && c.isBlank(b[len(b)-1]) {
		b = b[:len(b)-1]
	}
	return b
}
