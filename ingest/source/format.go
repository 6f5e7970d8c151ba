//go:build linux

package source

import (
	"bytes"
	"context"
	"path/filepath"
	"slices"
	"strings"
	"unicode/utf8"
)

// Format is how edges are written down.
type Format string

// The formats. Each may be compressed with gzip, bgzip or zstd.
const (
	FormatAuto    Format = "" // by content, then by name
	FormatText    Format = "text"
	FormatMTX     Format = "mtx"
	FormatMETIS   Format = "metis"
	FormatNPY     Format = "npy"
	FormatNPZ     Format = "npz"
	FormatArrow   Format = "arrow"
	FormatParquet Format = "parquet"
)

// format is what is known of one Format. A new one is a row of formats and a
// file of its own.
type format struct {
	name     Format
	suffixes []string // that promise it
	magic    []string // first bytes that prove it
	help     string   // for people: what it is
	open     func(c *Config, f *file) (decoder, error)
}

// decoder reads one opened input.
type decoder interface {
	// each calls fn with all batches in the order of their rows, once, from the
	// calling goroutine; a batch is valid until fn returns. Ids count from 0 and
	// were checked against Config.Nodes. First is not its business.
	each(ctx context.Context, fn func(*Batch) error) error
	// extent is what is known before reading.
	extent() extent
	// close gives back what the decoder holds besides its file.
	close() error
}

// extent is how much an input holds, as far as it says.
type extent struct {
	rows  int64 // exactly; -1: not known
	most  int64 // edges at most; -1: not known
	nodes int64 // declared; 0: none
}

// formats in the order in which they are tried and told of.
var formats = []*format{
	{
		name: FormatText, open: openText,
		suffixes: []string{".txt", ".tsv", ".csv", ".edges", ".edgelist", ".el", ".snap"},
		help:     "lines of \"source target\", parted by blanks, tabs, commas or semicolons; # and % start comments (SNAP, CSV, TSV)",
	},
	{
		name: FormatMTX, open: openMatrixMarket, suffixes: []string{".mtx"}, magic: []string{"%%MatrixMarket", "%%matrixmarket"},
		help: "Matrix Market, in coordinate form: entry (i, j) is the edge i → j; of a symmetric matrix also j → i",
	},
	{
		name: FormatMETIS, open: openMETIS, suffixes: []string{".graph", ".metis"},
		help: "adjacency lists of METIS: a line per node; an edge stands in the lists of both ends, else use --undirected",
	},
	{
		name: FormatNPY, open: openArray, suffixes: []string{".npy"}, magic: []string{"\x93NUMPY"},
		help: "an integer array of shape (2, E) or (E, 2), as numpy.save writes it",
	},
	{
		name: FormatNPZ, open: openNPZ, suffixes: []string{".npz"}, magic: []string{"PK\x03\x04"},
		help: "an .npz with edge_index (PyTorch Geometric, OGB), SciPy's coo, csr or csc, or indptr and indices (GraphBolt, DGL)",
	},
	{
		name: FormatArrow, open: openArrow, suffixes: []string{".arrow", ".arrows", ".feather", ".ipc"}, magic: []string{arrowFile, arrowStream},
		help: "integer columns of an Arrow IPC stream or file (Feather)",
	},
	{
		name: FormatParquet, open: openParquet, suffixes: []string{".parquet", ".pq"}, magic: []string{"PAR1"},
		help: "integer columns of a Parquet file",
	},
}

// FormatInfo is what Formats tells of a format.
type FormatInfo struct {
	Name     Format
	Suffixes []string
	Help     string
}

// Formats lists what can be read.
func Formats() (all []FormatInfo) {
	for _, f := range formats {
		all = append(all, FormatInfo{f.name, f.suffixes, f.help})
	}
	return all
}

func find(name Format) *format {
	if i := slices.IndexFunc(formats, func(f *format) bool { return f.name == name }); i >= 0 {
		return formats[i]
	}
	return nil
}

func formatNames() string {
	var names []string
	for _, f := range formats {
		names = append(names, string(f.name))
	}
	return strings.Join(names, ", ")
}

// foreign are formats that are known by their first bytes and not read.
var foreign = []struct{ magic, what string }{
	{"FEA1", "a Feather file of version 1; write it again with pyarrow.feather.write_feather"},
	{"BZh", "compressed with bzip2; decompress it first, or pipe bzcat into standard input"},
	{"\xfd7zXZ", "compressed with xz; decompress it first, or pipe xzcat into standard input"},
	{"\x04\x22\x4d\x18", "compressed with lz4; decompress it first, or pipe lz4cat into standard input"},
	{"\xff\xfe", "text in UTF-16; convert it with iconv -f UTF-16 -t UTF-8"},
	{"\xfe\xff", "text in UTF-16; convert it with iconv -f UTF-16 -t UTF-8"},
}

// tell decides how an input is to be read: what its first bytes prove comes
// before what the caller says, and that before what its name promises.
func tell(f *file, asked Format) (*format, error) {
	for _, x := range foreign {
		if bytes.HasPrefix(f.head, []byte(x.magic)) {
			return nil, Fault(f.name, "this is %s", x.what)
		}
	}
	proven := slices.IndexFunc(formats, func(x *format) bool { return x.proves(f.head) })
	suffix := suffixOf(f.name)
	promised := slices.IndexFunc(formats, func(x *format) bool { return slices.Contains(x.suffixes, suffix) })
	switch {
	case proven >= 0 && asked != FormatAuto && asked != formats[proven].name:
		return nil, Fault(f.name, "the content is %s, not %s; leave the format out", formats[proven].name, asked)
	case proven >= 0:
		return formats[proven], nil
	case asked != FormatAuto:
		return find(asked), nil
	case promised >= 0:
		return formats[promised], nil
	case looksLikeEdges(f.head):
		return find(FormatText), nil
	}
	return nil, Fault(f.name, "the format cannot be told from the name (%q) or the content; name it (--format %s)", suffix, formatNames())
}

func (x *format) proves(head []byte) bool {
	return slices.ContainsFunc(x.magic, func(m string) bool { return bytes.HasPrefix(head, []byte(m)) })
}

// suffixOf is the suffix that tells the format: that of a compression is passed
// over.
func suffixOf(name string) string {
	name = strings.ToLower(name)
	suffix := filepath.Ext(name)
	if codecNamed(name) != nil {
		if inner := filepath.Ext(strings.TrimSuffix(name, suffix)); inner != "" {
			return inner
		}
		return ".txt"
	}
	return suffix
}

// looksLikeEdges tells whether the first line is a comment or two numbers.
func looksLikeEdges(head []byte) bool {
	head = bytes.TrimPrefix(head, []byte(bom))
	if len(head) > 0 && isComment(head[0]) {
		return utf8.Valid(head[:min(len(head), 64)])
	}
	end := bytes.IndexAny(head, "\r\n")
	if end < 0 {
		end = len(head)
	}
	p := rowParser{ids: anyID, sep: separator(head[:end]), want: want{src: 1, dst: 2}}
	var b Batch
	return p.parse(head[:end], &b) == nil && len(b.Src) == 1
}
