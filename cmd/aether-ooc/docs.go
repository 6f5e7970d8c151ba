package main

import (
	"bytes"
	"fmt"
	"os"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/cobra/doc"
)

// newDocs is the hidden command that writes docs/CLI.md from the flags; a test
// compares the two.
func newDocs() *cobra.Command {
	var out string
	c := &cobra.Command{
		Use: "docs", Short: "Write the command reference as Markdown", Hidden: true, Args: exactly(0, "no arguments"),
		RunE: func(c *cobra.Command, _ []string) error {
			page, err := cliPage(c.Root())
			if err != nil {
				return err
			}
			return os.WriteFile(out, page, 0o644)
		},
	}
	c.Flags().StringVar(&out, "out", "docs/CLI.md", "file to write")
	return c
}

// cliPage is docs/CLI.md: every visible command, depth first.
func cliPage(root *cobra.Command) ([]byte, error) {
	root.InitDefaultCompletionCmd() // it is listed only once the root has been executed
	var b bytes.Buffer
	b.WriteString("# The command line\n\nMade from the flags by `make docs`; do not edit.\n\n")
	err := eachCommand(root, func(c *cobra.Command) error {
		c.InitDefaultHelpFlag()
		var one bytes.Buffer
		if err := doc.GenMarkdownCustom(c, &one, linkToSection); err != nil {
			return fmt.Errorf("docs: %s: %w", c.CommandPath(), err)
		}
		b.Write(one.Bytes())
		b.WriteByte('\n')
		return nil
	})
	return append(bytes.TrimRight(b.Bytes(), "\n"), '\n'), err
}

func linkToSection(file string) string {
	return "#" + strings.ReplaceAll(strings.TrimSuffix(file, ".md"), "_", "-")
}

func eachCommand(c *cobra.Command, fn func(*cobra.Command) error) error {
	if c.Hidden || c.Name() == "help" || c.Name() == "completion" {
		return nil
	}
	if err := fn(c); err != nil {
		return err
	}
	for _, sub := range c.Commands() {
		if err := eachCommand(sub, fn); err != nil {
			return err
		}
	}
	return nil
}
