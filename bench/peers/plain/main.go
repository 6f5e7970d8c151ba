package main

import (
	"errors"
	"flag"
	"fmt"
	"os"
	"strconv"
	"strings"
	"time"
)

const usage = `usage:
  plain csc EDGES.npy FOLDER
  plain sample [flags] FOLDER SEEDS.npy`

func main() {
	if err := run(os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, "plain:", err)
		os.Exit(1)
	}
}

func run(args []string) error {
	switch {
	case len(args) == 3 && args[0] == "csc":
		return writeCSC(args[1], args[2])
	case len(args) > 0 && args[0] == "sample":
		return sample(args[1:])
	default:
		return errors.New(usage)
	}
}

// job is what to sample, and when to stop.
type job struct {
	seeds     []int32
	batchSize int
	fanouts   []int
	threads   int
	limit     time.Duration // no batch is begun after it
}

func (j job) batches() int { return len(j.seeds) / j.batchSize }

func (j job) batch(i int) []int32 { return j.seeds[i*j.batchSize:][:j.batchSize] }

func sample(args []string) error {
	f := flag.NewFlagSet("plain sample", flag.ContinueOnError)
	fanouts := f.String("fanouts", "25,10", "neighbours to draw at each hop")
	batchSize := f.Int("batch-size", 1024, "seeds of a batch")
	threads := f.Int("threads", 1, "batches made at once")
	seconds := f.Float64("seconds", 3600, "begin no batch after this time")
	if err := f.Parse(args); err != nil {
		return err
	}
	if f.NArg() != 2 || *batchSize < 1 || *threads < 1 {
		return errors.New(usage)
	}
	begun := time.Now()
	g, err := readGraph(f.Arg(0))
	if err != nil {
		return err
	}
	j := job{batchSize: *batchSize, threads: *threads, limit: time.Duration(*seconds * float64(time.Second))}
	if j.fanouts, err = parseFanouts(*fanouts); err != nil {
		return err
	}
	if j.seeds, err = readArray[int32](f.Arg(1), "int32"); err != nil {
		return err
	}
	fmt.Printf("{\"ready_seconds\": %.3f}\n", time.Since(begun).Seconds())
	for done := range g.batches(j) {
		fmt.Printf("{\"batch\": %d, \"items\": %d, \"end_seconds\": %.6f}\n", done.batch, done.edges, done.end.Seconds())
	}
	return nil
}

func parseFanouts(text string) ([]int, error) {
	var all []int
	for word := range strings.SplitSeq(text, ",") {
		n, err := strconv.Atoi(word)
		if err != nil || n < 1 {
			return nil, fmt.Errorf("fanout %q: a number above zero is needed", word)
		}
		all = append(all, n)
	}
	return all, nil
}
