package bench

import (
	"bufio"
	"encoding/binary"
	"errors"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"os"
	"path/filepath"

	"github.com/aether-ooc/aether-ooc/internal/npy"
)

// LayoutConfig is an array to measure on, which is made where it is not there,
// as fio lays its files out.
type LayoutConfig struct {
	Rows  int64
	Dim   int64
	DType string // of layoutSizes
	Seed  uint64
}

// layoutSizes are the bytes of the types that an array can be made of.
var layoutSizes = map[string]int64{"float16": 2, "float32": 4, "float64": 8, "int64": 8, "uint8": 1}

// make writes the array at path, unless there is one.
func (c *LayoutConfig) make(path string, e env) error {
	if c == nil {
		return nil
	}
	if _, err := os.Stat(path); !errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	f, err := os.CreateTemp(filepath.Dir(path), ".aether-ooc-bench-*")
	if err != nil {
		return fmt.Errorf("bench: laying out %s: %w", path, err)
	}
	defer os.Remove(f.Name()) // in vain once it has its name
	err = errors.Join(c.write(f, e), f.Sync(), f.Close())
	if err == nil {
		err = os.Rename(f.Name(), path)
	}
	return err
}

// write fills the array with noise.
func (c *LayoutConfig) write(f *os.File, e env) error {
	w := bufio.NewWriterSize(f, 1<<20)
	if _, err := w.Write(npy.AppendHeader(nil, c.DType, []int64{c.Rows, c.Dim})); err != nil {
		return err
	}
	dice := rand.New(rand.NewPCG(c.Seed, 0))
	row := make([]byte, c.Dim*layoutSizes[c.DType]+8)
	for i := range c.Rows {
		for at := 0; at+8 < len(row); at += 8 {
			binary.LittleEndian.PutUint64(row[at:], dice.Uint64())
		}
		if _, err := w.Write(row[:len(row)-8]); err != nil {
			return err
		}
		if i%4096 == 0 {
			e.progress("laying out", i, c.Rows)
		}
	}
	return w.Flush()
}

// sizeOf is a file's length, 0 where there is none.
func sizeOf(path string) int64 {
	info, err := os.Stat(path)
	if err != nil {
		return 0
	}
	return info.Size()
}
