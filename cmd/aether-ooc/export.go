package main

import (
	"errors"
	"strings"

	"github.com/spf13/cobra"

	"github.com/aether-ooc/aether-ooc/inspect"
	"github.com/aether-ooc/aether-ooc/internal/base"
)

// inspectMarked gives what cannot be had the exit code of a mistake in a flag.
func inspectMarked(err error) error {
	if errors.Is(err, inspect.ErrOption) {
		return usageError{err}
	}
	return err
}

func newExport() *cobra.Command {
	var (
		cfg    inspect.ExportConfig
		format string
		out    printer
	)
	c := &cobra.Command{
		Use:   "export GRAPH",
		Short: "Write a graph back as an edge list, Parquet or CSR",
		Long: `Write all edges of a graph, by list, neighbour and row of the input, streamed:
memory does not grow with the graph. Building the output again gives the same
edges; say --num-nodes where the last nodes have none. An undirected graph is
written with both directions of every edge.

  text     "source target" lines with tabs
  npy      int64 of shape (2, E), the edge_index of PyTorch Geometric
  parquet  int64 columns src and dst
           (or of strings, where --original asks for names)
  csr      an .npz for scipy.sparse.load_npz: A[src, dst], by columns (csc) where
           the graph's lists are in-neighbours, else by rows (csr)`,
		Example: `  aether-ooc export graph.bin | head
  aether-ooc export graph.bin --out edges.parquet --edge-ids
  aether-ooc export graph.bin --out csc.npz`,
		Args: exactly(1, "one graph"),
		RunE: func(c *cobra.Command, args []string) error {
			cfg.Path, cfg.Format, cfg.Stdout = args[0], inspect.Format(format), c.OutOrStdout()
			if out.json && cfg.Out == "" {
				return usagef("--json reports on a file: name it by --out")
			}
			bar := newProgress(c, "B")
			cfg.Progress = bar.phased("exporting")
			res, err := inspect.Export(c.Context(), cfg)
			bar.finish()
			if err != nil || cfg.Out == "" {
				return inspectMarked(err)
			}
			return out.print(c, res)
		},
		DisableAutoGenTag: true,
	}
	f := c.Flags()
	f.StringVarP(&cfg.Out, "out", "o", "", "file to write (default: text to standard output)")
	f.StringVar(&format, "format", "", "text, npy, parquet or csr (default: by the suffix .txt, .tsv, .npy, .parquet or .npz)")
	f.BoolVar(&cfg.EdgeIDs, "edge-ids", false, "write e_id as well: a third column or row, the data of the csr")
	f.BoolVar(&cfg.Original, "original", false, "write nodes by the ids or names that they had before build --relabel (not as csr, names not as npy)")
	out.bind(f)
	return c
}

func newExtract() *cobra.Command {
	var (
		cfg   inspect.ExtractConfig
		nodes string
	)
	c := &cobra.Command{
		Use:   "extract GRAPH NODE...",
		Short: "Print the lists of some nodes",
		Long: `Print nodes' lists in canonical order, one line for each node: the node, its
degree, its neighbours and with --edge-ids their edge ids, parted by tabs. Only
the blocks that hold them are read. Nodes are given as numbers, or by --nodes as a
.npy of ids or a mask.`,
		Example: `  aether-ooc extract graph.bin 0 17 --edge-ids
  aether-ooc extract graph.bin --nodes train_idx.npy --json`,
		RunE: func(c *cobra.Command, args []string) error {
			if len(args) == 0 {
				return usagef("extract takes one graph and some nodes; see '%s --help'", c.CommandPath())
			}
			var err error
			cfg.Path, cfg.Out = args[0], c.OutOrStdout()
			if cfg.Words = args[1:]; !cfg.Original {
				cfg.Words = strings.FieldsFunc(strings.Join(args[1:], ","), func(r rune) bool { return r == ',' })
			}
			if cfg.Nodes, err = nodesOf(nodes); err != nil {
				return err
			}
			if len(cfg.Words)+len(cfg.Nodes) == 0 {
				return usagef("name the nodes: numbers behind the graph, or --nodes FILE.npy")
			}
			return inspectMarked(inspect.Extract(c.Context(), cfg))
		},
		DisableAutoGenTag: true,
	}
	f := c.Flags()
	f.StringVar(&nodes, "nodes", "", "a .npy of node ids, or a mask")
	f.BoolVar(&cfg.EdgeIDs, "edge-ids", false, "print e_id of each edge as well")
	f.BoolVar(&cfg.Original, "original", false, "nodes are given, and printed, by the ids or names that they had before build --relabel")
	f.BoolVar(&cfg.JSON, "json", false, "print a JSON object for each node")
	return c
}

// nodesOf are the nodes named by a file, if any.
func nodesOf(path string) ([]base.NodeID, error) {
	if path == "" {
		return nil, nil
	}
	list, err := readNodes(path)
	return list.IDs, err
}
