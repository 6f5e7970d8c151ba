//go:build linux

package ingest

import (
	"bufio"
	"bytes"
	"context"
	"fmt"
	"io"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/aether-ooc/aether-ooc/internal/base"
)

// batch is a run of edges, row after row: edge i goes from src[i] to dst[i].
type batch struct {
	src, dst       []base.NodeID
	max            base.NodeID // the largest id in it
	lines, skipped int64       // of a text
}

func (b *batch) reset() { *b = batch{src: b.src[:0], dst: b.dst[:0]} }

// source is an edge list being read.
type source interface {
	// rows is how many edges there are at most, -1 where only reading tells.
	rows() (int64, error)
	// each decodes the whole list, once, and calls fn with its batches in order,
	// from the calling goroutine. A batch is valid until fn returns.
	each(ctx context.Context, fn func(*batch) error) error
	// position is how many of the file's bytes were read.
	position() int64
	Close() error
}

// input is an opened edge list and what is known of it.
type input struct {
	source
	format Format
	bytes  int64 // of the file; 0 where it has no length (a pipe)
}

// most is how many edges there can be: the shortest takes four bytes, "0 1\n".
func (in *input) most() int64 {
	if t, ok := in.source.(*textSource); in.bytes == 0 || (ok && !t.plain) {
		return math.MaxInt64
	}
	return in.bytes/4 + 1
}

// bom is the mark that some programs put before UTF-8.
const bom = "\xef\xbb\xbf"

// sniffBytes is how much of a file its format is told from.
const sniffBytes = 4096

var textSuffixes = []string{".txt", ".tsv", ".csv", ".edges", ".edgelist", ".el", ".gz"}

// openInput opens an edge list whose ids must not exceed limit.
func openInput(c Config, limit base.NodeID) (*input, error) {
	f, err := os.Open(c.Input)
	if err != nil {
		return nil, err
	}
	in, err := newInput(f, c, limit)
	if err != nil {
		f.Close()
		return nil, err
	}
	return in, nil
}

func newInput(f *os.File, c Config, limit base.NodeID) (*input, error) {
	st, err := f.Stat()
	if err != nil {
		return nil, err
	}
	if st.IsDir() {
		return nil, fault(c.Input, "this is a folder; name the edge list in it")
	}
	r := bufio.NewReaderSize(f, sniffBytes)
	head, err := r.Peek(sniffBytes)
	if err != nil && err != io.EOF {
		return nil, fmt.Errorf("%s: %w", c.Input, err)
	}
	format, err := tell(c.Input, c.Format, head)
	if err != nil {
		return nil, err
	}
	in := &input{format: format}
	if st.Mode().IsRegular() {
		in.bytes = st.Size()
	}
	if format == FormatNPY {
		in.source, err = newArraySource(f, st, c.Workers, limit)
	} else {
		in.source, err = newTextSource(f, r, in.bytes, c.Workers, limit)
	}
	return in, err
}

// foreign are formats that are known by their first bytes and not read.
var foreign = []struct{ magic, what string }{
	{"PK\x03\x04", "a zip archive (.npz?); save its array alone with numpy.save"},
	{"PAR1", "a Parquet file; write its two columns as text, or as .npy with numpy.save"},
	{"ARROW1", "an Arrow file; write its two columns as text, or as .npy with numpy.save"},
	{"\x28\xb5\x2f\xfd", "compressed with zstd; decompress it first"},
	{"BZh", "compressed with bzip2; decompress it first"},
	{"\xfd7zXZ", "compressed with xz; decompress it first"},
	{"\xff\xfe", "text in UTF-16; convert it with iconv -f UTF-16 -t UTF-8"},
	{"\xfe\xff", "text in UTF-16; convert it with iconv -f UTF-16 -t UTF-8"},
	{"%%MatrixMarket", "a Matrix Market file, whose ids start at 1 after a line of sizes; write it as .npy of 0-based ids"},
}

// tell decides how a file is to be read: what its first bytes prove comes
// before what the caller says, and that before what its name promises.
func tell(path string, asked Format, head []byte) (Format, error) {
	if err := refuseForeign(path, head); err != nil {
		return "", err
	}
	switch suffix := strings.ToLower(filepath.Ext(path)); {
	case asked == FormatText && isArray(head):
		return "", fault(path, "this is a .npy file, not text; leave the format out")
	case isArray(head) || asked == FormatNPY || (asked == FormatAuto && suffix == ".npy"):
		return FormatNPY, nil
	case asked == FormatText || isGzip(head) || slices.Contains(textSuffixes, suffix) || looksLikeEdges(head):
		return FormatText, nil
	default:
		return "", fault(path, "the format cannot be told from the name (%q) or the content; name it (--format text or npy)", suffix)
	}
}

func refuseForeign(path string, head []byte) error {
	for _, f := range foreign {
		if bytes.HasPrefix(head, []byte(f.magic)) {
			return fault(path, "this is %s", f.what)
		}
	}
	return nil
}

func isArray(head []byte) bool { return bytes.HasPrefix(head, []byte("\x93NUMPY")) }

func isGzip(head []byte) bool { return bytes.HasPrefix(head, []byte{0x1f, 0x8b}) }

// looksLikeEdges tells whether the first line is a comment or two numbers.
func looksLikeEdges(head []byte) bool {
	head = bytes.TrimPrefix(head, []byte(bom))
	if len(head) > 0 && (head[0] == '#' || head[0] == '%') {
		return utf8.Valid(head[:min(len(head), 64)])
	}
	end := bytes.IndexAny(head, "\r\n")
	if end < 0 {
		end = len(head)
	}
	var b batch
	return parseLines(head[:end], &b, maxNodeID) == nil && len(b.src) == 1
}
