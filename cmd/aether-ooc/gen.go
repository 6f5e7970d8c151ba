package main

import (
	"io"
	"os"

	"github.com/spf13/cobra"

	"github.com/aether-ooc/aether-ooc/ingest"
)

func newGen() *cobra.Command {
	return group("gen", "Make an edge list to try things on", newGenRMAT())
}

func newGenRMAT() *cobra.Command {
	var (
		cfg    ingest.RMATConfig
		format string
		out    printer
	)
	c := &cobra.Command{
		Use:   "rmat --scale N --out FILE",
		Short: "Make an RMAT graph",
		Long: `Make the edge list of an RMAT graph: 2^scale nodes, edge-factor × 2^scale edges,
a, b, c, d = 0.57, 0.19, 0.19, 0.05 (Chakrabarti, Zhan, Faloutsos, SDM 2004; the
parameters of Graph500), ids scrambled, loops and parallel edges kept. The edges
are streamed, so memory stays flat at any scale, and depend on the seed alone.

The suffix of FILE decides: .npy is an array of shape (2, E), .txt has a line
"source target" for each edge. "-" is standard output, as a .npy of shape (E, 2)
that build reads from its standard input, or as text on a terminal.`,
		Example: `  aether-ooc gen rmat --scale 20 --edge-factor 16 --seed 1 --out edges.npy
  aether-ooc gen rmat --scale 10 --out - --format text | head
  aether-ooc gen rmat --scale 27 --out - | aether-ooc build - --out graph.bin --memory 1GiB`,
		Args: exactly(0, "no arguments"),
		RunE: func(c *cobra.Command, _ []string) error {
			bar := newProgress(c, "edges")
			cfg.Progress, cfg.Stdout = bar.step, c.OutOrStdout()
			if cfg.Format = ingest.Format(format); format == "auto" {
				cfg.Format = formatFor(cfg.Out, cfg.Stdout)
			}
			res, err := ingest.RMAT(c.Context(), cfg)
			bar.finish()
			if err != nil {
				return marked(err)
			}
			if cfg.Out == "-" {
				return nil
			}
			return out.print(c, res)
		},
		DisableAutoGenTag: true,
	}
	f := c.Flags()
	f.IntVar(&cfg.Scale, "scale", 20, "log2 of the number of nodes")
	f.Int64Var(&cfg.EdgeFactor, "edge-factor", 16, "edges per node")
	f.Uint64Var(&cfg.Seed, "seed", 1, "seed; the same one gives the same edges")
	f.StringVarP(&cfg.Out, "out", "o", "", "file to write, .npy or .txt; - for standard output (required)")
	f.StringVar(&format, "format", "auto", "what to write: auto, text or npy")
	f.StringVar(&cfg.DType, "dtype", "", "int32 or int64 ids in a .npy (default the narrower that fits)")
	f.IntVar(&cfg.Workers, "workers", 0, "threads (default one per CPU)")
	out.bind(f)
	return c
}

// formatFor leaves the choice to the file's name, but for a terminal, which
// shows text only.
func formatFor(out string, stdout io.Writer) ingest.Format {
	if f, ok := stdout.(*os.File); ok && out == "-" && isTerminal(f) {
		return ingest.FormatText
	}
	return ingest.FormatAuto
}
