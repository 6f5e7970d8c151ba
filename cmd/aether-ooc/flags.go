package main

import (
	"encoding/json"
	"fmt"
	"maps"
	"runtime/debug"
	"slices"
	"strconv"
	"strings"

	"github.com/dustin/go-humanize"
	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/aether-ooc/aether-ooc/engine"
	"github.com/aether-ooc/aether-ooc/internal/report"
)

// byteSize is a flag that takes 1048576, 512MiB, 2GB and the like.
type byteSize int64

func (b *byteSize) String() string {
	if *b == 0 {
		return ""
	}
	return humanize.IBytes(uint64(*b))
}

func (b *byteSize) Type() string { return "bytes" }

func (b *byteSize) Set(s string) error {
	n, err := report.ParseBytes(s)
	if err != nil {
		return fmt.Errorf("%w: write a number of bytes, or one with a unit, such as 512MiB or 2GB", err)
	}
	*b = byteSize(n)
	return nil
}

// fanouts is a flag that takes 25,10 or -1,5.
type fanouts []int

func (f *fanouts) String() string {
	parts := make([]string, len(*f))
	for i, k := range *f {
		parts[i] = strconv.Itoa(k)
	}
	return strings.Join(parts, ",")
}

func (f *fanouts) Type() string { return "list" }

func (f *fanouts) Set(s string) error {
	parsed, err := report.ParseFanouts(s)
	if err != nil {
		return fmt.Errorf("%w: write how many neighbours each hop draws, such as 25,10; -1 takes all", err)
	}
	*f = parsed
	return nil
}

// choice is a flag that takes one of some words.
type choice struct {
	word  string
	words []string
}

func (c *choice) String() string { return c.word }

func (c *choice) Type() string { return "string" }

func (c *choice) Set(s string) error {
	if !slices.Contains(c.words, s) {
		return fmt.Errorf("choose one of %s", strings.Join(c.words, ", "))
	}
	c.word = s
	return nil
}

// memoryFlag binds --memory.
func memoryFlag(f *pflag.FlagSet, b *byteSize, help string) {
	f.VarP(b, "memory", "m", help)
}

const dtypeHelp = "bf16: read the 16-bit words of --features as bfloat16, which .npy cannot name"

const engineMemoryHelp = "budget for index, cache, buffers and batches in flight (default a quarter of what the machine or cgroup allows)"

// limitHeap tells the Go runtime how much of the engine's budget its heap may
// take: what does not lie off the heap. Only a command does this, never a library.
func limitHeap(i engine.Info) { limitHeapBeside(i, 0) }

// limitHeapBeside allows what the command itself holds beside the engine.
func limitHeapBeside(i engine.Info, more int64) {
	const garbage = 32 << 20 // without room for it the collector would never rest; it is not in the budget
	debug.SetMemoryLimit(i.Budget.Memory - i.Budget.Mapped + garbage + more)
}

// printer prints a report as text, or as JSON under --json.
type printer struct{ json bool }

func (p *printer) bind(f *pflag.FlagSet) {
	f.BoolVar(&p.json, "json", false, "print the report as JSON")
}

func (p *printer) print(c *cobra.Command, report interface{ Text() string }) error {
	if p.json {
		enc := json.NewEncoder(c.OutOrStdout())
		enc.SetIndent("", "  ")
		return enc.Encode(report)
	}
	_, err := fmt.Fprint(c.OutOrStdout(), report.Text())
	return err
}

// choose maps the word given to a flag to its value.
func choose[T any](flag, word string, values map[string]T) (T, error) {
	if v, ok := values[word]; ok {
		return v, nil
	}
	var none T
	return none, usagef("%s %q: choose one of %s", flag, word, strings.Join(slices.Sorted(maps.Keys(values)), ", "))
}
