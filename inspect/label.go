package inspect

import (
	"bytes"
	"fmt"
	"strconv"

	"github.com/aether-ooc/aether-ooc/internal/base"
	"github.com/aether-ooc/aether-ooc/layout"
	"github.com/aether-ooc/aether-ooc/scan"
)

// labels are how nodes are written: by their ids, or by their own.
type labels struct {
	own *scan.Originals // nil: by their ids
	buf []byte
}

// labels begins; original asks for own ids and names.
func (j *job) labels(original bool) (*labels, error) {
	if !original {
		return &labels{}, nil
	}
	if j.Original() == layout.NoOriginal {
		return nil, option("%s keeps no original ids: its ids are the input's; leave --original out", j.Path)
	}
	return &labels{own: j.Originals()}, nil
}

// named tells whether labels are words.
func (l *labels) named() bool { return l.own != nil && l.own.Kind() == layout.OriginalNames }

// id is the number that stands for a node, where labels are numbers.
func (l *labels) id(v base.NodeID) (base.NodeID, error) {
	if l.own == nil {
		return v, nil
	}
	return l.own.ID(v)
}

// name is the node's name, valid until the next.
func (l *labels) name(v base.NodeID) (_ []byte, err error) {
	l.buf, err = l.own.AppendName(l.buf[:0], v)
	return l.buf, err
}

// append writes a node as a column of text: a number, or a name in quotes, which
// thus is no number, no comment and no missing value.
func (l *labels) append(line []byte, v base.NodeID) ([]byte, error) {
	if !l.named() {
		id, err := l.id(v)
		return strconv.AppendUint(line, uint64(id), 10), err
	}
	name, err := l.name(v)
	if err != nil {
		return line, err
	}
	if bytes.ContainsAny(name, "\r\n") {
		return line, option("the name %.60q has a line break, which lines cannot hold; export to Parquet", name)
	}
	return fmt.Appendf(line, "\"%s\"", bytes.ReplaceAll(name, []byte{'"'}, []byte(`""`))), nil
}

// find gives the nodes that the words and ids stand for.
func (l *labels) find(words []string, ids []base.NodeID) ([]base.NodeID, error) {
	if l.named() && len(ids) > 0 {
		return nil, option("nodes are given as a file of numbers, but this graph's have names: write them out")
	}
	var found []uint64
	var err error
	if l.named() {
		found, err = l.own.FindNames(words)
	} else {
		var own []base.NodeID
		if own, err = numbers(words); err != nil {
			return nil, err
		}
		ids = append(own, ids...)
		if l.own == nil {
			return ids, nil
		}
		found, err = l.own.Find(ids)
	}
	if err != nil {
		return nil, err
	}
	nodes := make([]base.NodeID, len(found))
	for i, v := range found {
		if v == layout.NotFound {
			return nil, l.unknown(i, words, ids)
		}
		nodes[i] = base.NodeID(v)
	}
	return nodes, nil
}

func (l *labels) unknown(i int, words []string, ids []base.NodeID) error {
	if l.named() {
		return option("no node has the name %.60q", words[i])
	}
	return option("no node has the original id %d", ids[i])
}

func numbers(words []string) (ids []base.NodeID, err error) {
	for _, word := range words {
		v, err := strconv.ParseUint(word, 10, 63)
		if err != nil {
			return nil, option("%.60q is no node id: write numbers, such as 0 17", word)
		}
		ids = append(ids, base.NodeID(v))
	}
	return ids, nil
}
