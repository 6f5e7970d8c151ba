package main

import (
	"errors"
	"log/slog"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/aether-ooc/aether-ooc/ingest"
	"github.com/aether-ooc/aether-ooc/layout"
)

// marked gives a mistake in a Config the exit code of a mistake in a flag.
func marked(err error) error {
	if errors.Is(err, ingest.ErrOption) {
		return usageError{err}
	}
	return err
}

func newBuild() *cobra.Command {
	var (
		b   buildFlags
		out printer
	)
	c := &cobra.Command{
		Use:   "build EDGES... --out GRAPH",
		Short: "Build graph.bin from edge lists",
		Long: `Build a graph file from edge lists: files, patterns of file names, and - for
standard input, read one after the other in the order given (those of a pattern
in ascending order), as one list. Whatever is wrong in them is an error that names
the file, the line or row, the column and the value, and leaves no graph.

The formats, each uncompressed or in gzip, bgzip or zstd:
` + formatHelp() + `
The format is told from the first bytes, else from the name. A node is a number: ids
are counted from 0, or from 1 with --base 1; --relabel takes any ids. An edge's id (e_id) is its row in the list.

Features and node attributes are copied beside the graph and found from its path
alone. The output appears whole or not at all. Edges that do not fit in --memory (24
bytes each) go through a temporary file, 12 bytes each (24 where an id or a row
passes 2^32), and the graph comes out the same.`,
		Example: `  aether-ooc build edges.npy --out graph.bin
  aether-ooc build edges.txt.gz --out graph.bin --undirected --drop-self-loops
  aether-ooc build edges.npy --out graph.bin --encoding compact
  aether-ooc build follows.csv --relabel ids --out graph.bin
  aether-ooc build 'part-*.csv.zst' --columns user_id,item_id --out graph.bin
  zcat edges.gz | awk '$3 > 0' | aether-ooc build - --out graph.bin
  aether-ooc build edges.npy --out graph.bin --features x.npy --node-attr y=y.npy`,
		Args: atLeastOne("edge lists"),
		RunE: func(c *cobra.Command, args []string) error {
			cfg, err := b.config(args)
			if err != nil {
				return err
			}
			bar := newProgress(c, "it")
			cfg.Source.Stdin = c.InOrStdin()
			cfg.Progress, cfg.Log = bar.step, slog.Default()
			res, err := ingest.Run(c.Context(), cfg)
			bar.finish()
			if err != nil {
				return marked(err)
			}
			return out.print(c, res)
		},
		DisableAutoGenTag: true,
	}
	b.bind(c.Flags())
	out.bind(c.Flags())
	return c
}

// buildFlags holds the flags of build as they were written.
type buildFlags struct {
	cfg                ingest.Config
	source             sourceFlags
	beside             attachmentFlags
	direction, edgeIDs string
	encoding, relabel  string
	memory             byteSize
}

func (b *buildFlags) bind(f *pflag.FlagSet) {
	f.StringVarP(&b.cfg.Out, "out", "o", "", "graph file to write (required)")
	b.source.bind(f)
	b.beside.bind(f)
	f.Int64Var(&b.cfg.NumNodes, "num-nodes", 0, "number of nodes (default the largest id + 1)")
	f.StringVar(&b.direction, "direction", "in", "in: a node's list holds the sources of its incoming edges, as PyG samples; out: the targets of its outgoing ones")
	f.StringVar(&b.edgeIDs, "edge-ids", "input", "what e_id means: input (the row in the edge list) or stored (the place in the file, which saves space)")
	f.StringVar(&b.encoding, "encoding", "compact", `how lists are packed: compact, short lists in as many bits as the largest id needs and long ones in fewer (Elias-Fano),
still read at any place without unpacking; or plain, a whole number of bytes for each neighbour: a larger file, of
which less fits in memory, for a little less work per edge. Batches are the same`)
	f.StringVar(&b.relabel, "relabel", "none", `number the nodes anew: ids, where the input's are sparse 64-bit numbers, or names, where they are words; none takes
the input's ids as they are. A node's number is the rank of its own id (of a hash of its name) among all that occur. The own
ids and names are kept in the graph: sample --original-ids, extract and export --original give them back, and lists of
seeds may be given in them. Rows of --features lie in the order of the own ids`)
	f.Uint64Var(&b.cfg.RelabelSeed, "relabel-seed", 0, "seed of the hash of names, to be changed if two names of one input should have the same hash")
	f.BoolVar(&b.cfg.Undirected, "undirected", false, "add the reverse of every edge, with the same edge id; loops are not doubled")
	f.BoolVar(&b.cfg.Dedup, "dedup", false, "of parallel edges keep the one of the lowest row")
	f.BoolVar(&b.cfg.DropSelfLoops, "drop-self-loops", false, "leave self loops out")
	f.IntVar(&b.cfg.Workers, "workers", 0, "threads (default one per CPU)")
	f.StringVar(&b.cfg.Temp, "tmp", "", "folder for edges that do not fit in memory, best on a fast local disk (default beside the graph)")
	memoryFlag(f, &b.memory, "most memory to use, for any size of graph (default half of what the machine or cgroup allows)")
}

func (b *buildFlags) config(inputs []string) (ingest.Config, error) {
	cfg := b.cfg
	cfg.Memory = int64(b.memory)
	var err error
	if cfg.Source, err = b.source.config(inputs); err != nil {
		return cfg, err
	}
	if cfg.Direction, err = choose("--direction", b.direction, map[string]layout.Direction{"in": layout.In, "out": layout.Out}); err != nil {
		return cfg, err
	}
	if cfg.EdgeIDs, err = choose("--edge-ids", b.edgeIDs, map[string]layout.EdgeIDMode{"input": layout.EdgeIDsInput, "stored": layout.EdgeIDsStored}); err != nil {
		return cfg, err
	}
	if cfg.Encoding, err = choose("--encoding", b.encoding, encodings); err != nil {
		return cfg, err
	}
	if cfg.Relabel, err = choose("--relabel", b.relabel, map[string]layout.Original{"none": layout.NoOriginal, "ids": layout.OriginalIDs, "names": layout.OriginalNames}); err != nil {
		return cfg, err
	}
	cfg.Features, cfg.FeaturesDType = b.beside.features, b.beside.dtype
	cfg.NodeAttrs, err = b.beside.attrs()
	return cfg, err
}

// encodings are the words for them.
var encodings = map[string]layout.Encoding{"plain": layout.Plain, "compact": layout.Compact}

// attachmentFlags say what is to lie beside a graph.
type attachmentFlags struct {
	features, dtype string
	named           []string
}

func (a *attachmentFlags) bind(f *pflag.FlagSet) {
	f.StringVar(&a.features, "features", "", "feature rows of the nodes, a .npy of shape (N, D)")
	f.StringVar(&a.dtype, "dtype", "", dtypeHelp)
	f.StringArrayVar(&a.named, "node-attr", nil, "NAME=FILE.npy: an attribute of the nodes, such as labels; may be repeated")
}

func (a *attachmentFlags) attrs() (list []ingest.NodeAttr, err error) {
	for _, named := range a.named {
		name, path, ok := strings.Cut(named, "=")
		if !ok || name == "" || path == "" {
			return nil, usagef("--node-attr %q: write NAME=FILE.npy", named)
		}
		list = append(list, ingest.NodeAttr{Name: name, Path: path})
	}
	return list, nil
}
