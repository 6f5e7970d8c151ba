package matrix

import (
	"errors"
	"fmt"
	"path/filepath"
	"strings"
)

// ErrInput marks a file that holds no such matrix.
var ErrInput = errors.New("not a matrix of numbers")

// Config says where a matrix lies.
type Config struct {
	Path    string
	Member  string   // of an .npz; "": its only one
	Columns []string // of a Parquet file; empty: all but Key
	Key     string   // column of a Parquet file that names each row; "": rows are in order
	DType   string   // of a raw file: NumPy's word or bfloat16; of .npy and .npz "bfloat16" to read 16-bit words as that, else ""
	Shape   []int64  // of a raw file: rows and columns
}

// Reader gives the rows of a matrix in the order of the file.
type Reader interface {
	DType() string // NumPy's word, or bfloat16
	Rows() int64
	Dim() int64 // values of a row
	// Next fills dst with as many whole rows as fit, and keys, which has room for
	// each, with their names where there are any. Fewer than fit may come; io.EOF
	// when there is none left.
	Next(dst []byte, keys []int64) (rows int, err error)
	Keyed() bool
	Close() error
}

// BFloat16 is the dtype that NumPy has no word for.
const BFloat16 = "bfloat16"

// Open opens a matrix by its suffix; with a Shape it is raw.
func Open(c Config) (Reader, error) {
	suffix := strings.ToLower(filepath.Ext(c.Path))
	if c.Shape != nil {
		return openRaw(c)
	}
	switch suffix {
	case ".npy":
		return openNPY(c)
	case ".npz":
		return openNPZ(c)
	case ".parquet", ".pq":
		return openParquet(c)
	}
	return nil, refuse(c.Path, "the suffix %q is not known: give an .npy, .npz or .parquet, or a raw file with its shape and dtype", suffix)
}

func refuse(path, format string, args ...any) error {
	return fmt.Errorf("%s: %w: %s", path, ErrInput, fmt.Sprintf(format, args...))
}
