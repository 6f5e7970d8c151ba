package main

import (
	"fmt"
	"strings"

	"github.com/spf13/pflag"

	"github.com/aether-ooc/aether-ooc/ingest/source"
)

// formatHelp lists the formats of edge lists.
func formatHelp() string {
	var b strings.Builder
	for _, f := range source.Formats() {
		fmt.Fprintf(&b, "  %-8s %s\n           (%s)\n", f.Name, f.Help, strings.Join(f.Suffixes, " "))
	}
	return b.String()
}

// sourceFlags say how edge lists are to be read, as the flags were written.
type sourceFlags struct {
	format, header, layout string
	columns                []string
	base                   int
}

func (s *sourceFlags) bind(f *pflag.FlagSet) {
	var names []string
	for _, x := range source.Formats() {
		names = append(names, string(x.Name))
	}
	f.StringVar(&s.format, "format", "auto", "what the inputs are: auto, "+strings.Join(names, ", "))
	f.StringSliceVar(&s.columns, "columns", nil, `of text and tables: the columns to read, by name or number (from 1), as source,target
(default by a usual pair of names, such as src,dst; where columns have no names the first two). build takes a third for
weights and a fourth for times (source,target,,time): they lie beside the graph as GRAPH.edge.weight.npy (float64) and
GRAPH.edge.time.npy (int64), a value for each row of the input, by e_id`)
	f.StringVar(&s.header, "header", "auto", "whether a text's first line names its columns: auto (it does if it holds words only), yes or no")
	f.StringVar(&s.layout, "layout", "auto", "which axis of an array counts the edges: 2xE, Ex2 or auto, which takes shape (2, 2) for 2xE")
	f.IntVar(&s.base, "base", 0, "the first node's id in the inputs, 0 or 1; Matrix Market and METIS always count from 1")
}

func (s *sourceFlags) config(inputs []string) (source.Config, error) {
	c := source.Config{Inputs: inputs, Columns: s.columns, Base: s.base}
	var err error
	if s.format != "auto" {
		c.Format = source.Format(s.format)
	}
	if c.Header, err = choose("--header", s.header, map[string]source.Header{"auto": source.HeaderAuto, "yes": source.HeaderYes, "no": source.HeaderNo}); err != nil {
		return c, err
	}
	c.Layout, err = choose("--layout", s.layout, map[string]source.Layout{"auto": source.LayoutAuto, "2xE": source.LayoutColumns, "Ex2": source.LayoutRows})
	return c, err
}
