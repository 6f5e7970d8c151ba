package main

import (
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/dustin/go-humanize"
	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/aether-ooc/aether-ooc/bench"
	"github.com/aether-ooc/aether-ooc/internal/host"
)

func newBench() *cobra.Command {
	var option string
	c := group("bench", "Measure the device, the sampling and what lies between")
	c.Long = `Measure what a machine and a graph can do: the device alone, the sampling of
mini-batches, and the parts between. Each workload is a command; "bench run" runs
job files, in fio's manner, that hold several.

All options are explained by --cmdhelp NAME; --cmdhelp all lists them.`
	help := c.RunE
	c.RunE = func(c *cobra.Command, args []string) error {
		if option == "" {
			return help(c, args)
		}
		return explain(c, option)
	}
	c.Flags().StringVar(&option, "cmdhelp", "", "explain an option; all lists every one")
	_ = c.RegisterFlagCompletionFunc("cmdhelp", cobra.FixedCompletions(bench.AllOptions(), cobra.ShellCompDirectiveNoFileComp))
	for _, w := range bench.Workloads() {
		c.AddCommand(newWorkload(w))
	}
	c.AddCommand(newBenchRun(), newBenchCompare())
	return c
}

// explain prints the pages of an option.
func explain(c *cobra.Command, name string) error {
	names := []string{name}
	if name == "all" {
		names = bench.AllOptions()
	}
	for i, n := range names {
		rows, err := bench.OptionsNamed(n)
		if err != nil {
			return usageError{err}
		}
		for j, o := range rows {
			if i+j > 0 {
				fmt.Fprintln(c.OutOrStdout())
			}
			fmt.Fprint(c.OutOrStdout(), o.Describe())
		}
	}
	return nil
}

// newWorkload makes the command of a workload from the table of options.
func newWorkload(w *bench.Workload) *cobra.Command {
	settings, err := bench.NewSettings(w.Name)
	if err != nil {
		panic(err) // the table contradicts itself
	}
	var out benchOutput
	c := &cobra.Command{
		Use: w.Name + " " + w.Target, Short: w.Short, Long: w.Long, Example: w.Example,
		Args:              exactly(1, map[bool]string{true: "one graph", false: "one file"}[w.Target == "GRAPH"]),
		DisableAutoGenTag: true,
		RunE: func(c *cobra.Command, args []string) error {
			if err := settings.Set("target", args[0]); err != nil {
				return markedBench(err)
			}
			return measure(c, []bench.Section{{Name: w.Name, Settings: settings}}, out)
		},
	}
	for _, o := range bench.OptionsOf(w.Name) {
		if o.Name != "target" && !o.Jobs {
			bindOption(c, o, settings.Set, settings.Get(o.Name))
		}
	}
	c.Flags().SetNormalizeFunc(aliases(bench.OptionsOf(w.Name)))
	out.bind(c)
	return c
}

// aliases lets a flag be written by any of its option's names.
func aliases(rows []*bench.Option) func(*pflag.FlagSet, string) pflag.NormalizedName {
	main := map[string]string{}
	for _, o := range rows {
		for _, a := range o.Alias {
			main[a] = o.Name
		}
	}
	return func(_ *pflag.FlagSet, name string) pflag.NormalizedName {
		name = strings.ReplaceAll(name, "_", "-")
		if m, ok := main[name]; ok {
			name = m
		}
		return pflag.NormalizedName(name)
	}
}

// bindOption makes a row of the table a flag.
func bindOption(c *cobra.Command, o *bench.Option, set func(name, word string) error, value string) {
	f := c.Flags().VarPF(&optionFlag{o, set, value}, o.Name, o.Short, o.Usage())
	if o.Kind.Name == "bool" {
		f.NoOptDefVal = "true"
	}
	if o.Choices != nil {
		_ = c.RegisterFlagCompletionFunc(o.Name, cobra.FixedCompletions(o.Words(), cobra.ShellCompDirectiveNoFileComp))
	}
}

// optionFlag is a row of the table as a flag.
type optionFlag struct {
	option *bench.Option
	set    func(name, word string) error
	value  string
}

func (f *optionFlag) String() string { return f.value }
func (f *optionFlag) Type() string   { return f.option.Kind.Name }

func (f *optionFlag) Set(word string) error {
	f.value = word
	return f.set(f.option.Name, word)
}

// newBenchRun runs job files.
func newBenchRun() *cobra.Command {
	var (
		names    []string
		parse    bool
		override = map[string]string{}
		out      benchOutput
	)
	c := &cobra.Command{
		Use: "run JOBFILE…", Short: "Run the sections of job files",
		Long: `Run the sections of job files, which are written like fio's: [global] options for
all that follows, then a named section for each measurement, whose workload says
what it is. ${NAME} stands for a variable of the environment.

Runs of several sections take turns, so that what else happens on the machine meets
all alike. Options given here hold for all sections whose workload has them.`,
		Example: `  aether-ooc bench run bench/jobs/device.job --target graph.bin
  aether-ooc bench run bench/jobs/sample.job --target graph.bin --section cold --repeat 5 --json
  aether-ooc bench run mine.job --parse-only`,
		DisableAutoGenTag: true,
		Args: func(c *cobra.Command, args []string) error {
			if len(args) == 0 {
				return usagef("run takes one job file or more; see '%s --help'", c.CommandPath())
			}
			return nil
		},
		RunE: func(c *cobra.Command, args []string) error {
			sections, err := readJobs(args, override, names)
			if err != nil {
				return markedBench(err)
			}
			if parse {
				fmt.Fprint(c.OutOrStdout(), bench.Print(sections))
				return markedBench(bench.Check(sections))
			}
			return measure(c, sections, out)
		},
	}
	set := func(name, word string) error {
		override[name] = word
		return bench.CheckWord(name, word)
	}
	for _, o := range bench.SharedOptions() {
		row := *o
		row.Help, row.Auto = "in all sections: "+o.Help, ""
		bindOption(c, &row, set, "")
	}
	c.Flags().SetNormalizeFunc(aliases(bench.SharedOptions()))
	c.Flags().StringArrayVar(&names, "section", nil, "run only this section; may be repeated")
	c.Flags().BoolVar(&parse, "parse-only", false, "read and check the job files, print what they mean, and run nothing")
	out.bind(c)
	return c
}

// readJobs reads job files, sets in all sections what the command line says, and
// keeps the sections that were named.
func readJobs(files []string, override map[string]string, names []string) ([]bench.Section, error) {
	sections, err := bench.ReadJobs(override, files...)
	if err != nil {
		return nil, err
	}
	return bench.Select(sections, names)
}

// measure runs sections and prints what they measured.
func measure(c *cobra.Command, sections []bench.Section, out benchOutput) error {
	if err := out.check(); err != nil {
		return err
	}
	bar := newProgress(c, "it")
	d, err := bench.Run(c.Context(), sections, bench.Hooks{
		Log: newLogger(c), Opened: limitHeap, Progress: bar.step,
		Status: func(section string, s bench.Status) {
			fmt.Fprintf(c.ErrOrStderr(), "[%s] %.1f s: %s %s, %s/s\n", section, s.Elapsed.Seconds(), humanize.Comma(s.Done), s.Unit, humanize.CommafWithDigits(s.PerSecond, 0))
		},
	})
	bar.finish()
	if d == nil {
		return markedBench(err)
	}
	return errors.Join(out.print(c, d), err)
}

// markedBench gives a mistake in an option the exit code of a mistake in a flag.
func markedBench(err error) error {
	if errors.Is(err, bench.ErrOption) {
		return usageError{err}
	}
	return markedRequest(err)
}

// benchOutput is how a document is printed.
type benchOutput struct {
	json    string
	reports []string
}

func (o *benchOutput) bind(c *cobra.Command) {
	c.Flags().StringVar(&o.json, "json", "", "print the report as JSON; json+ adds histograms' buckets and series over time")
	c.Flags().Lookup("json").NoOptDefVal = "json"
	c.Flags().StringArrayVar(&o.reports, "report", nil, "write the report to this file too, in the form that its name ends in: .html, one page with plots that needs nothing else, .json or .txt; may be repeated")
	_ = c.RegisterFlagCompletionFunc("json", cobra.FixedCompletions(jsonForms(), cobra.ShellCompDirectiveNoFileComp))
}

func jsonForms() []string { return slices.Sorted(maps.Keys(rawForms)) }

// rawForms are the words for --json, and whether they mean raw data too.
var rawForms = map[string]bool{"json": false, "json+": true}

func (o *benchOutput) check() error {
	for _, path := range o.reports {
		if _, ok := reportForms[filepath.Ext(path)]; !ok {
			return usagef("--report %s: its form follows its name: end it in .html, .json or .txt", path)
		}
		if err := host.CheckTarget(path); err != nil {
			return usagef("--report: %w", err)
		}
	}
	if o.json == "" {
		return nil
	}
	_, err := choose("--json", o.json, rawForms)
	return err
}

// reportForms are how a report is written, by the ending of its file's name.
var reportForms = map[string]func(*bench.Document) ([]byte, error){
	".html": (*bench.Document).HTML,
	".json": func(d *bench.Document) ([]byte, error) { return d.JSON(false) },
	".txt":  func(d *bench.Document) ([]byte, error) { return []byte(d.Text()), nil },
}

func (o *benchOutput) print(c *cobra.Command, d *bench.Document) error {
	for _, path := range o.reports {
		b, err := reportForms[filepath.Ext(path)](d)
		if err != nil {
			return err
		}
		if err := os.WriteFile(path, b, 0o644); err != nil {
			return err
		}
	}
	if o.json == "" {
		_, err := fmt.Fprint(c.OutOrStdout(), d.Text())
		return err
	}
	b, err := d.JSON(rawForms[o.json])
	if err != nil {
		return err
	}
	_, err = c.OutOrStdout().Write(b)
	return err
}

// newBenchCompare compares two reports.
func newBenchCompare() *cobra.Command {
	var out printer
	c := &cobra.Command{
		Use: "compare OLD.json NEW.json", Short: "Tell what differs between two reports",
		Long: `Compare the medians of two reports that bench has written with --json, section by
section, and tell what chance explains (Mann-Whitney, p ≥ 0.05) from what it does
not. That takes four runs or more on each side: --repeat. Each side may be several
files, separated by commas, whose runs count together. "make bench-compare REF=main"
builds two commits and lets their runs take turns.`,
		Example: `  aether-ooc bench sample graph.bin --repeat 5 --json > old.json
  aether-ooc bench sample graph.bin --repeat 5 --json --merge 1 > new.json
  aether-ooc bench compare old.json new.json`,
		Args: exactly(2, "two reports"), DisableAutoGenTag: true,
		RunE: func(c *cobra.Command, args []string) error {
			old, err := bench.Load(strings.Split(args[0], ",")...)
			if err != nil {
				return markedBench(err)
			}
			new, err := bench.Load(strings.Split(args[1], ",")...)
			if err != nil {
				return markedBench(err)
			}
			return out.print(c, bench.Compare(old, new))
		},
	}
	out.bind(c.Flags())
	return c
}
