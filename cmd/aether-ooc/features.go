package main

import (
	"errors"
	"strconv"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/aether-ooc/aether-ooc/ingest/matrix"
)

func newFeatures() *cobra.Command {
	var (
		b   matrixFlags
		out printer
	)
	c := &cobra.Command{
		Use:   "features MATRIX --out FILE",
		Short: "Make a feature file from .npy, .npz, Parquet or raw values",
		Long: `Write the rows of a matrix into a feature file: no row of up to 4 KiB lies over
the end of a block, so each costs one read. Sampling takes the file by --features.

Rows belong to nodes in the order of their ids; or each row is named, by --key (a
column of a Parquet file) or --ids (a .npy). With --graph the number of rows is
checked, and checksums that belong to the graph are written beside the file.

--dtype rounds to the nearest, ties to even; what a value's new type cannot hold
is refused. Fortran order and big-endian values are turned round.`,
		Example: `  aether-ooc features x.npy --out x.aef --graph graph.bin
  aether-ooc features x.npz --array feat --out x.aef --dtype f16
  aether-ooc features x.parquet --key node_id --out x.aef --graph graph.bin --fill 0
  aether-ooc features x.f32 --raw float32 --shape 1000000,128 --out x.aef`,
		Args: exactly(1, "one matrix"),
		RunE: func(c *cobra.Command, args []string) error {
			cfg, err := b.config(c.Flags(), args[0])
			if err != nil {
				return err
			}
			bar := newProgress(c, "it")
			cfg.Progress = bar.step
			res, err := matrix.Features(c.Context(), cfg)
			bar.finish()
			if errors.Is(err, matrix.ErrOption) {
				return usageError{err}
			}
			if err != nil {
				return err
			}
			return out.print(c, res)
		},
		DisableAutoGenTag: true,
	}
	b.bind(c.Flags())
	out.bind(c.Flags())
	return c
}

// matrixFlags holds the flags of features as they were written.
type matrixFlags struct {
	cfg                      matrix.FeaturesConfig
	columns                  []string
	shape, raw, words, dtype string
	fill                     float64
	memory                   byteSize
}

func (b *matrixFlags) bind(f *pflag.FlagSet) {
	f.StringVarP(&b.cfg.Out, "out", "o", "", "feature file to write (required)")
	f.StringVar(&b.cfg.Graph, "graph", "", "the graph whose nodes (or edges) the rows belong to")
	f.BoolVar(&b.cfg.Edges, "edges", false, "rows belong to edges, in the order of e_id")
	f.Int64Var(&b.cfg.Rows, "rows", 0, "number of rows that there must be (default the graph's)")
	f.StringVar(&b.cfg.Input.Member, "array", "", "which array of an .npz")
	f.StringSliceVar(&b.columns, "columns", nil, "which columns of a Parquet file (default all but --key)")
	f.StringVar(&b.cfg.Input.Key, "key", "", "column of a Parquet file that names each row")
	f.StringVar(&b.cfg.IDs, "ids", "", "a .npy of integers that names each row")
	f.Float64Var(&b.fill, "fill", 0, "what rows that are not named hold (default: each must be named)")
	f.StringVar(&b.raw, "raw", "", "the input is values without a header, of this type: float32, bf16, …; needs --shape")
	f.StringVar(&b.shape, "shape", "", "ROWS,COLUMNS of a raw input")
	f.StringVar(&b.words, "words", "", "bf16: the 16-bit words of a .npy or .npz are bfloat16, which it cannot name")
	f.StringVar(&b.dtype, "dtype", "", "f32, f16 or bf16: round values to that (default the input's own)")
	memoryFlag(f, &b.memory, "most memory to use (default half of what the machine or cgroup allows)")
}

var matrixDTypes = map[string]string{"f32": "float32", "f16": "float16", "bf16": matrix.BFloat16,
	"float32": "float32", "float16": "float16", "bfloat16": matrix.BFloat16}

func (b *matrixFlags) config(f *pflag.FlagSet, path string) (matrix.FeaturesConfig, error) {
	cfg := b.cfg
	cfg.Input.Path, cfg.Input.Columns, cfg.Memory = path, b.columns, int64(b.memory)
	if f.Changed("fill") {
		cfg.Fill = &b.fill
	}
	if b.dtype != "" {
		var err error
		if cfg.DType, err = choose("--dtype", b.dtype, matrixDTypes); err != nil {
			return cfg, err
		}
	}
	if b.words != "" {
		var err error
		if cfg.Input.DType, err = choose("--words", b.words, map[string]string{"bf16": matrix.BFloat16}); err != nil {
			return cfg, err
		}
	}
	if (b.raw == "") != (b.shape == "") {
		return cfg, usagef("a raw input needs both --raw and --shape")
	}
	return cfg, b.rawInput(&cfg.Input)
}

func (b *matrixFlags) rawInput(in *matrix.Config) error {
	if b.raw == "" {
		return nil
	}
	in.DType = b.raw
	if known, ok := matrixDTypes[b.raw]; ok {
		in.DType = known
	}
	for _, part := range strings.Split(b.shape, ",") {
		n, err := strconv.ParseInt(strings.TrimSpace(part), 10, 64)
		if err != nil {
			return usagef("--shape %q: write ROWS,COLUMNS, such as 1000000,128", b.shape)
		}
		in.Shape = append(in.Shape, n)
	}
	return nil
}
