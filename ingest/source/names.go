//go:build linux

package source

import (
	"bytes"
	"fmt"
	"unicode/utf8"

	"github.com/apache/arrow/go/v17/arrow"
	arrays "github.com/apache/arrow/go/v17/arrow/array"

	"github.com/aether-ooc/aether-ooc/internal/base"
	"github.com/aether-ooc/aether-ooc/internal/binfmt"
)

// Name is a node's name and the id that stands for it. Its bytes are the batch's.
type Name struct {
	ID    base.NodeID
	Bytes []byte
}

// met are the names of a batch, each once.
type met struct {
	names []Name
	at    map[base.NodeID]int
}

func (m *met) reset() {
	m.names = m.names[:0]
	clear(m.at)
}

// meet is the id of a name, or why it can have none.
func (m *met) meet(name []byte, seed uint64) (id base.NodeID, reason string) {
	switch {
	case len(name) == 0:
		return 0, "empty; every row needs the names of two nodes"
	case !utf8.Valid(name):
		return 0, "no UTF-8, which a name must be; convert the file (iconv -t utf-8)"
	}
	id = binfmt.NameID(name, seed)
	if at, ok := m.at[id]; !ok {
		if m.at == nil {
			m.at = map[base.NodeID]int{}
		}
		m.at[id] = len(m.names)
		m.names = append(m.names, Name{id, name})
	} else if known := m.names[at].Bytes; !bytes.Equal(known, name) {
		return 0, fmt.Sprintf("it has the same hash as %.40q; take another seed for the hash (--relabel-seed)", known)
	}
	return id, ""
}

// name reads a column of text as a name.
func (p *rowParser) name(f field, column int, b *Batch) (base.NodeID, *InputError) {
	word := f.word
	switch {
	case f.cut != 0:
		return 0, complain(f.whole(), column, "a name that runs into a sign for comments; put it in double quotes")
	case f.quoted:
		word = bytes.ReplaceAll(word, []byte(`""`), []byte{'"'})
	case bytes.IndexByte(word, '"') >= 0:
		return 0, complain(string(word), column, "a quote in a name that is not in quotes itself; put all of it in double quotes, its own quotes twice")
	case isMissing(string(word)):
		return 0, complain(string(word), column, "what programs write for a missing value; remove the row, or put it in double quotes if it is a name")
	}
	id, reason := b.met.meet(word, p.seed)
	if reason != "" {
		return 0, complain(string(word), column, reason)
	}
	return id, nil
}

// checkNames refuses a format that has no words.
func (c *Config) checkNames(file string, f Format) error {
	switch f {
	case FormatText, FormatParquet, FormatArrow:
		return nil
	}
	if c.Names {
		return Fault(file, "%s has no names of nodes; relabel its numbers (--relabel ids), or none", f)
	}
	return nil
}

// isName tells columns of words.
func isName(t arrow.DataType) bool {
	if d, ok := t.(*arrow.DictionaryType); ok {
		t = d.ValueType
	}
	return t.ID() == arrow.STRING || t.ID() == arrow.LARGE_STRING
}

// wordsOf gives the i-th word of a column of them.
func wordsOf(a arrow.Array) func(i int) string {
	switch a := a.(type) {
	case *arrays.String:
		return a.Value
	case *arrays.LargeString:
		return a.Value
	case *arrays.Dictionary:
		of := wordsOf(a.Dictionary())
		return func(i int) string { return of(a.GetValueIndex(i)) }
	}
	panic("source: a column of " + a.DataType().String())
}

// named turns a column of names into nodes.
func (t *table) named(dst []base.NodeID, a arrow.Array, role int, first int64) error {
	word := wordsOf(a)
	for i := range dst {
		name := word(i)
		id, reason := t.batch.met.meet([]byte(name), t.seed)
		if reason != "" {
			return t.bad(first+int64(i), role, name, reason)
		}
		dst[i] = id
		t.batch.Max = max(t.batch.Max, id)
	}
	return nil
}
