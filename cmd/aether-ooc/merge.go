package main

import (
	"log/slog"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/aether-ooc/aether-ooc/ingest"
)

func newMerge() *cobra.Command {
	var (
		m   mergeFlags
		out printer
	)
	c := &cobra.Command{
		Use:   "merge GRAPH EDGES... --out NEW",
		Short: "Add edges to a graph without sorting it again",
		Long: `Make a new graph of a graph and edge lists: the one, to the byte, that build makes of
all their edge lists, GRAPH's first. Only the new edges are sorted; GRAPH is read once
from front to back and stays as it is. So a night's new edges cost about a copy of the
graph, and a reader of the old one is not disturbed.

New edges are numbered on from the last row of GRAPH's input, and edges that were there
keep their e_id. Direction, reverses, parallel edges, loops and what e_id means are as
GRAPH was built. Edge lists are given as to build: see 'aether-ooc build --help'.

Features and attributes beside GRAPH are copied, but for those that are given anew. If
there are more nodes than before they must be given anew, or left out.`,
		Example: `  aether-ooc merge graph.bin today.csv.gz --out graph-2.bin
  aether-ooc merge graph.bin 'log/*.parquet' --columns user_id,item_id --out graph-2.bin
  aether-ooc merge graph.bin today.npy --features x-2.npy --node-attr y=y-2.npy --out graph-2.bin
  aether-ooc verify graph-2.bin --against edges.npy today.npy`,
		Args: func(c *cobra.Command, args []string) error {
			if len(args) < 2 {
				return usagef("merge takes a graph and edge lists, got %d arguments; see '%s --help'", len(args), c.CommandPath())
			}
			return nil
		},
		RunE: func(c *cobra.Command, args []string) error {
			cfg, err := m.config(args[0], args[1:])
			if err != nil {
				return err
			}
			bar := newProgress(c, "it")
			cfg.Source.Stdin = c.InOrStdin()
			cfg.Progress, cfg.Log = bar.step, slog.Default()
			res, err := ingest.Merge(c.Context(), cfg)
			bar.finish()
			if err != nil {
				return marked(err)
			}
			return out.print(c, res)
		},
		DisableAutoGenTag: true,
	}
	m.bind(c.Flags())
	out.bind(c.Flags())
	return c
}

// mergeFlags holds the flags of merge as they were written.
type mergeFlags struct {
	cfg      ingest.MergeConfig
	source   sourceFlags
	beside   attachmentFlags
	encoding string
	memory   byteSize
}

func (m *mergeFlags) bind(f *pflag.FlagSet) {
	f.StringVarP(&m.cfg.Out, "out", "o", "", "graph file to write (required), another than GRAPH")
	m.source.bind(f)
	m.beside.bind(f)
	f.BoolVar(&m.cfg.DropAttachments, "drop-attachments", false, "do not copy the features and attributes that lie beside GRAPH")
	f.Int64Var(&m.cfg.NumNodes, "num-nodes", 0, "number of nodes (default GRAPH's, or the largest new id + 1)")
	f.StringVar(&m.encoding, "encoding", "", "how lists are packed, plain or compact (default as in GRAPH)")
	f.IntVar(&m.cfg.Workers, "workers", 0, "threads that read and sort (default one per CPU)")
	f.StringVar(&m.cfg.Temp, "tmp", "", "folder for new edges that do not fit in memory, and their ids (default beside the new graph)")
	memoryFlag(f, &m.memory, "most memory to use, for any number of edges (default half of what the machine or cgroup allows)")
}

func (m *mergeFlags) config(graph string, inputs []string) (ingest.MergeConfig, error) {
	cfg := m.cfg
	cfg.Base, cfg.Memory = graph, int64(m.memory)
	var err error
	if cfg.Source, err = m.source.config(inputs); err != nil {
		return cfg, err
	}
	if m.encoding != "" {
		e, err := choose("--encoding", m.encoding, encodings)
		if err != nil {
			return cfg, err
		}
		cfg.Encoding = &e
	}
	cfg.Features, cfg.FeaturesDType = m.beside.features, m.beside.dtype
	cfg.NodeAttrs, err = m.beside.attrs()
	return cfg, err
}
