//go:build linux

package source

import (
	"strconv"
	"strings"

	"github.com/aether-ooc/aether-ooc/internal/base"
)

// safeDigits is how many decimal digits always fit in 63 bits.
const safeDigits = 18

// parseLines appends the edges of the lines in text to b. A line ends with \n,
// \r\n or \r; the last one may have no end. Its two ids are parted by blanks,
// tabs, a comma or a semicolon; what follows the second is ignored. The error's
// Line counts from the text's first line.
func parseLines(text []byte, b *Batch, r ids) *InputError {
	for i := 0; i < len(text); {
		b.Lines++
		i = skipBlanks(text, i)
		if i == len(text) || isEnd(text[i]) {
			b.Skipped++
			i = nextLine(text, i)
			continue
		}
		src, j := digits(text, i)
		if src -= r.from; j == i || j-i > safeDigits || src > r.limit || !endsID(text, j) {
			if src, j = carefully(text, i, r); j < 0 {
				return complain(text, i, 1, b.Lines, r)
			}
		}
		i = skipSeparator(text, j)
		dst, j := digits(text, i)
		if dst -= r.from; j == i || j-i > safeDigits || dst > r.limit || !endsID(text, j) {
			if dst, j = carefully(text, i, r); j < 0 {
				return complain(text, i, 2, b.Lines, r)
			}
		}
		b.Src, b.Dst = append(b.Src, src), append(b.Dst, dst)
		b.Max = max(b.Max, src, dst)
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
func carefully(text []byte, i int, r ids) (v base.NodeID, end int) {
	word := wordAt(text, i)
	if word == "" || strings.Trim(word, "0123456789") != "" {
		return 0, -1
	}
	n, err := strconv.ParseUint(word, 10, 63)
	if err != nil {
		return 0, -1
	}
	v, ok := r.node(base.NodeID(n))
	if !ok {
		return 0, -1
	}
	return v, i + len(word)
}

func wordAt(text []byte, i int) string {
	j := i
	for !endsID(text, j) {
		j++
	}
	return string(text[i:j])
}

// complain says what is wrong with the word at i.
func complain(text []byte, i, column int, line int64, r ids) *InputError {
	word := wordAt(text, i)
	return &InputError{Line: line, Row: -1, Column: column, Value: shorten(word), Reason: r.reason(word)}
}
