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
		memory byteSize
		out    printer
	)
	c := &cobra.Command{
		Use:   "verify GRAPH",
		Short: "Check every byte of a graph file",
		Long: `Read every byte of a graph file, and of the features and attributes beside it, and
check all seals and all invariants of the format. The first damage ends it with
exit code 3 and the place: file, section, block and offset.`,
		Example: `  aether-ooc verify graph.bin && echo whole`,
		Args:    exactly(1, "one graph"),
		RunE: func(c *cobra.Command, args []string) error {
			bar := newProgress(c, "B")
			res, err := inspect.Verify(c.Context(), inspect.Config{Path: args[0], Memory: int64(memory), Progress: bar.phased("verifying")})
			bar.finish()
			if err != nil {
				return err
			}
			return out.print(c, res)
		},
		DisableAutoGenTag: true,
	}
	memoryFlag(c.Flags(), &memory, "memory for checking that no edge id stands twice; what does not fit is reported as unchecked (default 512MiB)")
	out.bind(c.Flags())
	return c
}
