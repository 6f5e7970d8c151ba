package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"runtime"
	"strings"

	"github.com/spf13/cobra"

	"github.com/aether-ooc/aether-ooc/layout"
)

// version is set by the linker (make build).
var version = "0.1.0-dev"

// Exit codes, as docs/CLI.md promises them.
const (
	exitOK      = 0
	exitFailure = 1
	exitUsage   = 2
	exitCorrupt = 3
)

// streams is where a command reads and writes, so that tests can look.
type streams struct {
	in       io.Reader
	out, err io.Writer
}

// usageError marks a mistake on the command line: exit code 2.
type usageError struct{ err error }

func (u usageError) Error() string { return u.err.Error() }
func (u usageError) Unwrap() error { return u.err }

func usagef(format string, args ...any) error { return usageError{fmt.Errorf(format, args...)} }

// execute runs one command line and gives its exit code.
func execute(ctx context.Context, args []string, io streams) int {
	root := newRoot(io)
	root.SetArgs(args)
	err := root.ExecuteContext(ctx)
	if err != nil {
		complain(root, io.err, err)
	}
	return exitCode(err)
}

func exitCode(err error) int {
	var usage usageError
	switch {
	case err == nil:
		return exitOK
	case errors.Is(err, layout.ErrCorrupt):
		return exitCorrupt
	case errors.As(err, &usage), strings.HasPrefix(err.Error(), "unknown command"):
		return exitUsage
	default:
		return exitFailure
	}
}

func newRoot(io streams) *cobra.Command {
	root := &cobra.Command{
		Use:   "aether-ooc",
		Short: "Neighbour sampling for graphs larger than RAM",
		Long: `aether-ooc samples mini-batches for graph neural networks from a graph that
lies in one file on a local NVMe device, within a fixed memory budget.

The usual way: build a graph.bin from an edge list, verify it, look at it with
inspect, then sample from it, serve it to trainers, or measure it with bench.

Exit codes: 0 ok, 1 failure, 2 wrong usage, 3 a file is damaged.`,
		Example: `  aether-ooc gen rmat --scale 20 --edge-factor 16 --out edges.npy
  aether-ooc build edges.npy --out graph.bin
  aether-ooc sample graph.bin --fanouts 25,10 --memory 512MiB --out batches.arrow`,
		Version:           fmt.Sprintf("%s (%s, %s/%s)", version, runtime.Version(), runtime.GOOS, runtime.GOARCH),
		SilenceUsage:      true,
		SilenceErrors:     true,
		DisableAutoGenTag: true,
	}
	way := root.PersistentFlags().VarPF(&choice{progressAuto, []string{progressAuto, progressJSON, progressNone}}, "progress", "",
		"auto: a bar, on a terminal; json: a line for each step, and for an error, on standard error; none")
	way.DefValue = progressAuto
	root.SetIn(io.in)
	root.SetOut(io.out)
	root.SetErr(io.err)
	root.SetFlagErrorFunc(func(c *cobra.Command, err error) error {
		return usagef("%w; see '%s --help'", err, c.CommandPath())
	})
	root.AddCommand(newGen(), newBuild(), newMerge(), newFeatures(), newInspect(), newVerify(), newExport(), newExtract(), newSample(), newServe(), newBench(), newDocs())
	return root
}

// group is a command that only holds others.
func group(use, short string, subs ...*cobra.Command) *cobra.Command {
	c := &cobra.Command{Use: use, Short: short, Long: short + ".", DisableAutoGenTag: true,
		RunE: func(c *cobra.Command, args []string) error {
			if len(args) == 0 {
				return c.Help()
			}
			return usagef("unknown command %q for %q; see '%s --help'", args[0], c.CommandPath(), c.CommandPath())
		}}
	c.AddCommand(subs...)
	return c
}

// exactly demands n arguments, named in the error.
func exactly(n int, what string) cobra.PositionalArgs {
	return func(c *cobra.Command, args []string) error {
		if len(args) != n {
			return usagef("%s takes %s, got %d arguments; see '%s --help'", c.Name(), what, len(args), c.CommandPath())
		}
		return nil
	}
}

func atLeastOne(what string) cobra.PositionalArgs {
	return func(c *cobra.Command, args []string) error {
		if len(args) == 0 {
			return usagef("%s takes %s, got none; see '%s --help'", c.Name(), what, c.CommandPath())
		}
		return nil
	}
}

func newLogger(c *cobra.Command) *slog.Logger {
	return slog.New(slog.NewTextHandler(c.ErrOrStderr(), nil))
}
