//go:build linux

package source

import (
	"fmt"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/aether-ooc/aether-ooc/internal/base"
	"github.com/aether-ooc/aether-ooc/internal/report"
)

// ids are the node ids that an input may name: count of them from the first, which
// is node 0.
type ids struct {
	from, count base.NodeID
	declared    bool // the input says how many, not the caller
}

// anyID allows every id.
var anyID = ids{count: MaxNodeID + 1}

func (c *Config) ids() ids {
	r := ids{from: base.NodeID(c.Base), count: anyID.count}
	if c.Nodes > 0 {
		r.count = base.NodeID(c.Nodes)
	}
	return r
}

// node turns an id of the input into a node; ok is false where there is no such
// node. An id below from wraps, and so lies above every count.
func (r ids) node(id base.NodeID) (v base.NodeID, ok bool) {
	v = id - r.from
	return v, v < r.count
}

// reason says why word, as it stands in the input, names no node, and what to do.
func (r ids) reason(word string) string {
	_, notFloat := strconv.ParseFloat(word, 64)
	switch {
	case word == "":
		return "the column is missing or empty; every row needs a source and a target (put # before what is no edge)"
	case isDigits(word):
		return r.outside(word)
	case word[0] == '-' && isDigits(word[1:]):
		return "negative; node ids are 0 … 2^63-1, remove or renumber it"
	case strings.ContainsFunc(word, unicode.IsControl) || !utf8.ValidString(word):
		return "binary data where a node id should be; is this a text file?"
	case isMissing(word):
		return "a missing value where a node id should be; remove the row"
	case notFloat == nil:
		return "not a plain integer; write ids without sign, point or exponent (1e3 as 1000)"
	default:
		return "not a number; name the columns that hold the ids (--columns), say that this line is a header (--header yes) or put # before it, or number named nodes (--relabel names)"
	}
}

func isDigits[S string | []byte](word S) bool {
	for i := range len(word) {
		if word[i]-'0' > 9 {
			return false
		}
	}
	return len(word) > 0
}

// isMissing tells what programs write where there is no value.
func isMissing(word string) bool {
	switch strings.ToLower(word) {
	case "null", "na", "n/a", "nan", "none", "nil", `\n`, "<na>":
		return true
	}
	return false
}

// outside tells an id that no graph can have from one that this graph cannot.
func (r ids) outside(word string) string {
	id, err := strconv.ParseUint(word, 10, 63)
	switch {
	case err == nil && base.NodeID(id) < r.from && r.declared:
		return "ids start at 1 in this format; correct it"
	case err == nil && base.NodeID(id) < r.from:
		return "ids were said to start at 1 (--base 1); leave that out if they start at 0"
	case err != nil || r.count == anyID.count:
		return "too large; node ids must be below 2^63-1"
	case r.declared:
		return fmt.Sprintf("no such node: the file declares %d nodes; correct that number or this one", r.count)
	}
	return fmt.Sprintf("no such node: the number of nodes was given as %d; raise it to the largest id%s, or leave it out", r.count, report.If(r.from == 0, " + 1"))
}

func shorten(word string) string {
	const most = 40
	if len(word) <= most {
		return word
	}
	return word[:most] + "…"
}
