package engine

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/aether-ooc/aether-ooc/blockcache"
)

// table is a file with a row for each node: the features, or an attribute.
type table struct {
	name, path string
	source     source
	dim        int64
	dtype      string
	file       blockcache.FileID
}

type source interface {
	Bytes() int64
	RowBytes() int64
	Gather(ctx context.Context, l *blockcache.Lane, rows []int64, dst []byte) error
}

func (t *table) info() TableInfo {
	return TableInfo{Name: t.name, Path: t.path, Dim: t.dim, DType: t.dtype}
}

// tables are all that the engine has open.
func (e *Engine) tables() []*table {
	all := slices.Clone(e.attrs)
	if e.features != nil {
		all = append(all, e.features)
	}
	return all
}

// openTables opens what build left beside the graph.
func (e *Engine) openTables() error { return nil }

// choose finds the tables of a request: features first, nil where not wanted or
// not there, then the attributes.
func (e *Engine) choose(r Request) ([]*table, error) {
	chosen := []*table{nil}
	if r.Features {
		chosen[0] = e.features
	}
	for i, name := range r.Attrs {
		at := slices.IndexFunc(e.attrs, func(t *table) bool { return t.name == name })
		if at < 0 {
			return nil, bad("Attrs", fmt.Sprintf("%q", r.Attrs), "the graph has no attribute %q; %s", name, e.attrNames())
		}
		if slices.Contains(r.Attrs[:i], name) {
			return nil, bad("Attrs", fmt.Sprintf("%q", r.Attrs), "ask for %q once", name)
		}
		chosen = append(chosen, e.attrs[at])
	}
	return chosen, nil
}

func (e *Engine) attrNames() string {
	var names []string
	for _, t := range e.attrs {
		names = append(names, t.name)
	}
	if len(names) == 0 {
		return "it has none"
	}
	return "it has " + strings.Join(names, ", ")
}
