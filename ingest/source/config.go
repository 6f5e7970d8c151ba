//go:build linux

package source

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// check refuses what cannot be meant, and fills in the rest.
func (c *Config) check() error {
	if len(c.Inputs) == 0 {
		return option("no input given; name an edge list")
	}
	if c.Format != FormatAuto && find(c.Format) == nil {
		return option("format %q is not known; use %s", c.Format, formatNames())
	}
	if !slices.Contains([]Header{HeaderAuto, HeaderYes, HeaderNo}, c.Header) {
		return option("header %q is not known; use auto, yes or no", c.Header)
	}
	if !slices.Contains([]Layout{LayoutAuto, LayoutColumns, LayoutRows}, c.Layout) {
		return option("layout %q is not known; use %s or %s", c.Layout, LayoutColumns, LayoutRows)
	}
	if c.Base != 0 && c.Base != 1 {
		return option("base %d: ids are counted from 0 or from 1", c.Base)
	}
	if c.Nodes < 0 {
		return option("number of nodes %d is negative; leave it out to count them", c.Nodes)
	}
	if err := c.checkColumns(); err != nil {
		return err
	}
	c.Workers = max(1, c.Workers)
	if c.Stdin == nil {
		c.Stdin = os.Stdin
	}
	return nil
}

// stdin is how standard input is called in errors.
const stdin = "standard input"

// expand resolves globs, and refuses to read an input twice.
func expand(inputs []string) (names []string, err error) {
	for _, in := range inputs {
		found := []string{in}
		if in == "-" {
			found = []string{stdin}
		} else if isGlob(in) {
			if found, err = filepath.Glob(in); err != nil {
				return nil, option("%q is no pattern of file names (%v)", in, err)
			}
			if len(found) == 0 {
				return nil, Fault(in, "no file matches this pattern; look at it with ls")
			}
		}
		for _, name := range found {
			if st, err := os.Stat(name); err == nil && st.IsDir() && name != stdin {
				if name, err = inFolder(name); err != nil {
					return nil, err
				}
			}
			names = append(names, name)
		}
	}
	seen := map[string]bool{}
	for _, name := range names {
		if seen[filepath.Clean(name)] {
			return nil, option("%s is given twice; its edges would be doubled", name)
		}
		seen[filepath.Clean(name)] = true
	}
	return names, nil
}

// isGlob tells a pattern from the name of a file with brackets in it.
func isGlob(name string) bool {
	if !strings.ContainsAny(name, "*?[") {
		return false
	}
	_, err := os.Lstat(name)
	return errors.Is(err, os.ErrNotExist)
}
