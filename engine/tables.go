package engine

import (
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"strings"

	"github.com/aether-ooc/aether-ooc/features"
	"github.com/aether-ooc/aether-ooc/layout"
)

// table is a file with a row for each node: the features, or an attribute.
type table struct {
	name string
	*features.Source
}

// dim is the values of a row, 0 for an attribute that has one axis. Features
// always have two: one axis counts as a column.
func (t *table) dim(role layout.Role) int64 {
	if len(t.Dims()) == 0 && role == layout.Attr {
		return 0
	}
	return t.Dim()
}

func (t *table) info(role layout.Role) TableInfo {
	return TableInfo{Name: t.name, Path: t.Path(), Dim: t.dim(role), DType: t.DType()}
}

// tables are all that the engine has open.
func (e *Engine) tables() []*table {
	all := slices.Clone(e.attrs)
	if e.features != nil {
		all = append(all, e.features)
	}
	if e.original != nil {
		all = append(all, e.original)
	}
	return all
}

// attachments are the files to open as tables. Features that the options name
// take the place of those beside the graph.
func (e *Engine) attachments() []layout.Attachment {
	return slices.DeleteFunc(slices.Clone(e.graph.Attachments), func(a layout.Attachment) bool {
		return a.Role != layout.Attr && (a.Role != layout.Features || e.options.Features != "")
	})
}

// openTables opens what build left beside the graph, and the features that the
// options name.
func (e *Engine) openTables() error {
	if ids, ok := e.graph.Table.Find(layout.KindOriginal, 0, layout.ColOriginalIDs); ok {
		e.original = &table{"original ids", features.OfSection(e.file, ids, e.graph.CheckBlock)}
	}
	for _, a := range e.attachments() {
		s, err := features.OpenAttachment(e.path, e.graph.Superblock, a, e.options.mode(), e.options.Log)
		if errors.Is(err, fs.ErrNotExist) {
			err = fmt.Errorf("%w; build left it beside the graph, and it belongs there: copy it along, with its %s", err, layout.SumsPath(""))
		}
		if err != nil {
			return fmt.Errorf("engine: opening %s of %s: %w", a.Name, e.path, err)
		}
		if t := (&table{a.Name, s}); a.Role == layout.Features {
			e.features = t
		} else {
			e.attrs = append(e.attrs, t)
		}
	}
	slices.SortFunc(e.attrs, func(a, b *table) int { return strings.Compare(a.name, b.name) })
	if e.options.Features == "" {
		return nil
	}
	s, err := features.Open(e.options.Features, features.Options{Role: layout.Features,
		Nodes: e.graph.Superblock.Nodes, Fingerprint: e.graph.Superblock.Fingerprint, DType: e.options.FeaturesDType, Mode: e.options.mode(), Log: e.options.Log})
	if err != nil {
		return fmt.Errorf("engine: opening the features of %s: %w", e.path, err)
	}
	e.features = &table{layout.FeaturesAttachment().Name, s}
	return nil
}

// choose finds the tables of a request: features first, nil where not wanted or
// not there, then the attributes, then the original ids, nil where not wanted.
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
	if !r.OriginalIDs {
		return append(chosen, nil), nil
	}
	return append(chosen, e.original), e.checkOriginal()
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
