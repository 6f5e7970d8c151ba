//go:build linux

package ingest

import (
	"math"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/aether-ooc/aether-ooc/internal/base"
)

// maxNodeID leaves room for the number of nodes, which is one more.
const maxNodeID = base.NodeID(math.MaxInt64 - 1)

// safeDigits is how many decimal digits always fit in 63 bits.
const safeDigits = 18

// parseLines appends the edges of the lines in text to b. A line ends with \n,
// \r\n or \r; the last one may have no end. Its two ids are parted by blanks,
// tabs, a comma or a semicolon; what follows the second is ignored. The error's
// Line counts from the text's first line.
func parseLines(text []byte, b *batch, limit base.NodeID) *InputError {
	for i := 0; i < len(text); {
		b.lines++
		i = skipBlanks(text, i)
		if i == len(text) || isEnd(text[i]) {
			b.skipped++
			i = nextLine(text, i)
			continue
		}
		src, j := digits(text, i)
		if j == i || j-i > safeDigits || src > limit || !endsID(text, j) {
			if src, j = carefully(text, i); j < 0 || src > limit {
				return complain(text, i, 1, b.lines, limit)
			}
		}
		i = skipSeparator(text, j)
		dst, j := digits(text, i)
		if j == i || j-i > safeDigits || dst > limit || !endsID(text, j) {
			if dst, j = carefully(text, i); j < 0 || dst > limit {
				return complain(text, i, 2, b.lines, limit)
			}
		}
		b.src, b.dst = append(b.src, src), append(b.dst, dst)
		b.max = max(b.max, src, dst)
		i = nextLine(text, j)
	}
	return nil
}

func isBlank(c byte) bool { return c == ' ' || c == '\t' }

// isEnd tells whether c ends what is read of a line.
func isEnd(c byte) bool { return c == '\n' || c == '\r' || c == '#' || c == '%' }

func skipBlanks(text []byte, i int) int {
	for i < len(text) && isBlank(text[i]) {
		i++
	}
	return i
}

// skipSeparator skips blanks with at most one comma or semicolon in them, so
// that an empty column of a .csv is not overlooked.
func skipSeparator(text []byte, i int) int {
	i = skipBlanks(text, i)
	if i < len(text) && (text[i] == ',' || text[i] == ';') {
		i = skipBlanks(text, i+1)
	}
	return i
}

// nextLine is where the line after that of i begins.
func nextLine(text []byte, i int) int {
	for i < len(text) && text[i] != '\n' && text[i] != '\r' {
		i++
	}
	if i+1 < len(text) && text[i] == '\r' && text[i+1] == '\n' {
		i++
	}
	return min(i+1, len(text))
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

// endsID tells whether an id may end before i.
func endsID(text []byte, i int) bool {
	return i == len(text) || isBlank(text[i]) || text[i] == ',' || text[i] == ';' || isEnd(text[i])
}

// carefully reads an id of any number of digits; end is -1 when it is none.
func carefully(text []byte, i int) (v base.NodeID, end int) {
	word := wordAt(text, i)
	if word == "" || strings.Trim(word, "0123456789") != "" {
		return 0, -1
	}
	n, err := strconv.ParseUint(word, 10, 63)
	if err != nil {
		return 0, -1
	}
	return base.NodeID(n), i + len(word)
}

func wordAt(text []byte, i int) string {
	j := i
	for !endsID(text, j) {
		j++
	}
	return string(text[i:j])
}

// complain says what is wrong with the word at i.
func complain(text []byte, i, column int, line int64, limit base.NodeID) *InputError {
	word := wordAt(text, i)
	return &InputError{Line: line, Row: -1, Column: column, Value: shorten(word), Reason: reason(word, limit)}
}

func shorten(word string) string {
	const most = 40
	if len(word) <= most {
		return word
	}
	return word[:most] + "…"
}

// reason says why word is no id, and what to do.
func reason(word string, limit base.NodeID) string {
	_, notFloat := strconv.ParseFloat(word, 64)
	isDigit := func(s string) bool { return s != "" && strings.Trim(s, "0123456789") == "" }
	switch {
	case word == "":
		return "the column is missing or empty; every line needs a source and a target (or a leading #)"
	case isDigit(word):
		return tooLarge(word, limit)
	case word[0] == '-' && isDigit(word[1:]):
		return "negative; node ids are 0 … 2^63-1, remove or renumber it"
	case strings.ContainsFunc(word, isBinary) || !utf8.ValidString(word):
		return "binary data where a node id should be; is this a text file?"
	case notFloat == nil:
		return "not a plain integer; write ids without sign, point or exponent (1e3 as 1000)"
	default:
		return "not a number; put # before a header line, and renumber named nodes 0 … N-1"
	}
}

func isBinary(r rune) bool { return unicode.IsControl(r) }

// tooLarge tells an id that no graph can have from one that this graph cannot.
func tooLarge(word string, limit base.NodeID) string {
	if _, err := strconv.ParseUint(word, 10, 63); err != nil || limit == maxNodeID {
		return "too large; node ids must be below 2^63-1"
	}
	return "no such node: the number of nodes was given as " + strconv.FormatUint(uint64(limit)+1, 10) + "; raise it to the largest id + 1, or leave it out"
}
