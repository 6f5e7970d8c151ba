package main

import (
	"github.com/spf13/cobra"

	"github.com/aether-ooc/aether-ooc/inspect"
)

func newInspect() *cobra.Command {
	var (
		degrees bool
		out     printer
	)
	c := &cobra.Command{
		Use:   "inspect GRAPH",
		Short: "Explain a graph file",
		Long: `Read a graph file once and tell what it is and how it is packed: counts, degrees,
direction, edge ids, encoding, bits per edge, lists over several blocks, padding,
the index's share of memory and file, fingerprints, sections, and the features and
attributes that lie beside it.`,
		Example: `  aether-ooc inspect graph.bin
  aether-ooc inspect graph.bin --degrees
  aether-ooc inspect graph.bin --json`,
		Args: exactly(1, "one graph"),
		RunE: func(c *cobra.Command, args []string) error {
			bar := newProgress(c, "B")
			res, err := inspect.Run(c.Context(), inspect.Config{Path: args[0], Degrees: degrees, Progress: bar.phased("inspecting")})
			bar.finish()
			if err != nil {
				return err
			}
			return out.print(c, res)
		},
		DisableAutoGenTag: true,
	}
	c.Flags().BoolVar(&degrees, "degrees", false, "show how many nodes have each degree, and how many of the edges are theirs")
	out.bind(c.Flags())
	return c
}

func newVerify() *cobra.Command {
	var (
		cfg     inspect.Config
		edges   sourceFlags
		against []string
		memory  byteSize
		out     printer
	)
	c := &cobra.Command{
		Use:   "verify GRAPH [--against EDGES...]",
		Short: "Check every byte of a graph file, and its lists against their input",
		Long: `Read every byte of a graph file, and of the features and attributes beside it, and
check all seals and all invariants of the format. The first damage ends it with
exit code 3 and the place: file, section, block and offset.

With --against, also read the edge lists that the graph was built from, and see that
every row of them stands where the graph's options put it, under its e_id, and that
nothing else does. The first edge that differs ends it with exit code 3. The lists are
given in the order and with the flags that build was given (and merge after it); they
are read once for each part of the graph that fits in --memory.`,
		Example: `  aether-ooc verify graph.bin && echo whole
  aether-ooc verify graph.bin --against edges.npy
  aether-ooc verify graph-2.bin --against edges.csv today.csv --columns src,dst`,
		Args: func(c *cobra.Command, args []string) error {
			if len(args) == 0 || len(args) > 1 && len(against) != 1 {
				return usagef("verify takes one graph, and behind one --against its edge lists; got %d arguments; see '%s --help'", len(args), c.CommandPath())
			}
			return nil
		},
		RunE: func(c *cobra.Command, args []string) (err error) {
			if cfg.Against, err = edges.config(append(against, args[1:]...)); err != nil {
				return err
			}
			bar := newProgress(c, "B")
			cfg.Path, cfg.Memory, cfg.Progress = args[0], int64(memory), bar.phased("verifying")
			res, err := inspect.Verify(c.Context(), cfg)
			bar.finish()
			if err != nil {
				return inspectMarked(marked(err))
			}
			return out.print(c, res)
		},
		DisableAutoGenTag: true,
	}
	c.Flags().StringArrayVar(&against, "against", nil, "edge lists that the graph must hold; others follow as arguments, in the order of the build")
	edges.bind(c.Flags())
	memoryFlag(c.Flags(), &memory, `memory for checking that no edge id stands twice, where what does not fit is reported as unchecked, and for
comparing lists with --against (default 512MiB)`)
	out.bind(c.Flags())
	return c
}
