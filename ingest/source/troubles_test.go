//go:build linux

package source

import (
	"bytes"
	"context"
	"encoding/hex"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/cockroachdb/datadriven"
	"github.com/klauspost/compress/zstd"
	"github.com/stretchr/testify/require"

	"github.com/aether-ooc/aether-ooc/internal/npy"
)

// TestTroubles reads the inputs of testdata/troubles, in which every kind of
// trouble that people report is a case:
//
//	read name=… [gzip|zstd|bgzip|hex] [cut=N] [header=… columns=(…) base=… nodes=… format=… layout=…]
//	    makes a file of the lines, joined (line ends are written as \n; each line is a
//	    member of an archive), less its last N bytes, and reads it; name=- is a pipe
//	npy name=… dtype=… shape=… [fortran] [more=N] …
//	    the same with an array of the numbers, and N bytes more
//	file, array
//	    only make the file, for
//	list input=(…) …
//	    which reads several
func TestTroubles(t *testing.T) {
	datadriven.Walk(t, filepath.Join("testdata", "troubles"), func(t *testing.T, path string) {
		dir := t.TempDir()
		datadriven.RunTest(t, path, func(t *testing.T, d *datadriven.TestData) string {
			switch d.Cmd {
			case "file", "read":
				writeFile(t, dir, word(d, "name"), fileContent(t, d))
			case "array", "npy":
				writeFile(t, dir, word(d, "name"), arrayContent(t, d))
			case "list":
			default:
				t.Fatalf("%s: no such command", d.Cmd)
			}
			if d.Cmd == "file" || d.Cmd == "array" {
				return ""
			}
			return strings.ReplaceAll(readContent(t, d, dir), dir+"/", "")
		})
	})
}

func word(d *datadriven.TestData, key string) string {
	arg, _ := d.Arg(key)
	return strings.Join(arg.Vals, ",")
}

func number(t *testing.T, d *datadriven.TestData, key string) int {
	if !d.HasArg(key) {
		return 0
	}
	n, err := strconv.Atoi(word(d, key))
	require.NoError(t, err)
	return n
}

// unescape joins the lines of an input and reads its escapes.
func unescape(t *testing.T, line string) string {
	s, err := strconv.Unquote(`"` + strings.ReplaceAll(line, `"`, `\"`) + `"`)
	require.NoError(t, err, line)
	return s
}

func fileContent(t *testing.T, d *datadriven.TestData) string {
	var members []string
	for _, line := range strings.Split(d.Input, "\n") {
		members = append(members, unescape(t, line))
	}
	content := strings.Join(members, "")
	switch {
	case d.HasArg("gzip"):
		content = gzipped(members...)
	case d.HasArg("bgzip"):
		content = bgzipped(t, members...)
	case d.HasArg("zstd"):
		content = zstdOf(t, members...)
	case d.HasArg("hex"):
		raw, err := hex.DecodeString(strings.ReplaceAll(content, " ", ""))
		require.NoError(t, err)
		content = string(raw)
	}
	return content[:len(content)-number(t, d, "cut")]
}

func zstdOf(t *testing.T, frames ...string) (content string) {
	z, err := zstd.NewWriter(nil, zstd.WithEncoderConcurrency(1))
	require.NoError(t, err)
	for _, f := range frames {
		content += string(z.EncodeAll([]byte(f), nil))
	}
	require.NoError(t, z.Close())
	return content
}

// bgzipped makes members as bgzip does, whose extra field says how long they are.
func bgzipped(t *testing.T, members ...string) (content string) {
	for _, m := range members {
		plain := gzipped(m)
		head := plain[:3] + "\x04" + plain[4:10] + "\x06\x00BC\x02\x00"
		size := len(head) + 2 + len(plain) - 10 - 1
		content += head + string([]byte{byte(size), byte(size >> 8)}) + plain[10:]
	}
	return content + bgzipEnd
}

func arrayContent(t *testing.T, d *datadriven.TestData) string {
	var shape []int64
	for _, n := range strings.Split(word(d, "shape"), "x") {
		v, err := strconv.ParseInt(n, 10, 64)
		require.NoError(t, err)
		shape = append(shape, v)
	}
	b := string(npy.AppendHeader(nil, word(d, "dtype"), shape))
	if d.HasArg("fortran") {
		b = strings.Replace(b, "'fortran_order': False", "'fortran_order': True ", 1)
	}
	size := npy.SizeOf(word(d, "dtype"))
	for _, n := range strings.Fields(d.Input) {
		v, err := strconv.ParseUint(n, 10, 64)
		if err != nil {
			signed, err := strconv.ParseInt(n, 10, 64)
			require.NoError(t, err)
			v = uint64(signed)
		}
		for range size {
			b += string([]byte{byte(v)})
			v >>= 8
		}
	}
	return b + strings.Repeat("x", number(t, d, "more"))
}

// readContent reads and tells what came of it.
func readContent(t *testing.T, d *datadriven.TestData, dir string) string {
	c := Config{Format: Format(word(d, "format")), Header: Header(word(d, "header")), Layout: Layout(word(d, "layout")),
		Base: number(t, d, "base"), Nodes: int64(number(t, d, "nodes")), Workers: 2}
	for _, name := range strings.Split(word(d, "input")+word(d, "name"), ",") {
		if name != "-" {
			name = filepath.Join(dir, name)
		}
		c.Inputs = append(c.Inputs, name)
	}
	if columns := word(d, "columns"); columns != "" {
		c.Columns = strings.Split(columns, ",")
	}
	if in, err := os.ReadFile(filepath.Join(dir, "-")); err == nil {
		c.Stdin = bytes.NewReader(in)
	}
	var b strings.Builder
	if err := tellAll(t, c, &b); err != nil {
		require.True(t, errors.Is(err, ErrInput) || errors.Is(err, ErrOption), "%v", err)
		fmt.Fprintf(&b, "error: %v\n", err)
	}
	return b.String()
}

func tellAll(t *testing.T, c Config, w *strings.Builder) error {
	before := descriptors(t)
	defer func() { require.Equal(t, before, descriptors(t), "descriptors are left") }()
	s, err := Open(c)
	if err != nil {
		return err
	}
	defer s.Close()
	n, lines, skipped := int64(0), int64(0), int64(0)
	var edges []string
	err = s.Each(context.Background(), func(b *Batch) error {
		for i := range b.Src {
			edge := fmt.Sprintf("%d→%d", b.Src[i], b.Dst[i])
			if len(b.Weight) > 0 {
				edge += fmt.Sprintf(" w=%v", b.Weight[i])
			}
			if len(b.Time) > 0 {
				edge += fmt.Sprintf(" t=%d", b.Time[i])
			}
			edges = append(edges, edge)
		}
		require.Equal(t, n, b.First)
		n += int64(len(b.Src))
		lines, skipped = lines+b.Lines, skipped+b.Skipped
		return nil
	})
	if err != nil {
		return err
	}
	fmt.Fprintf(w, "%s: %s", s.Format(), strings.Join(edges, ", "))
	if lines > 0 {
		fmt.Fprintf(w, " (%d lines, %d skipped)", lines, skipped)
	}
	if s.Nodes() > 0 {
		fmt.Fprintf(w, " of %d nodes", s.Nodes())
	}
	w.WriteByte('\n')
	require.LessOrEqual(t, n, s.Most())
	require.True(t, s.Known() < 0 || s.Known() == n)
	rows, err := s.Rows(context.Background())
	require.NoError(t, err)
	require.True(t, rows < 0 || rows == n)
	return nil
}
