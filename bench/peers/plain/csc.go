package main

import (
	"bufio"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"unsafe"

	"github.com/aether-ooc/aether-ooc/internal/npy"
)

// graph holds, for each node v, its in-neighbours row[colptr[v]:colptr[v+1]].
type graph struct {
	colptr []int64
	row    []int32
}

func readGraph(folder string) (*graph, error) {
	colptr, err := readArray[int64](filepath.Join(folder, "colptr.npy"), "int64")
	if err != nil {
		return nil, err
	}
	row, err := readArray[int32](filepath.Join(folder, "row.npy"), "int32")
	if err != nil {
		return nil, err
	}
	return &graph{colptr, row}, nil
}

// writeCSC sorts the edges by target, by counting, and writes the result: row
// once more as int64, since PyG can't do with less.
func writeCSC(edges, folder string) error {
	ends, err := readArray[int32](edges, "int32")
	if err != nil {
		return err
	}
	g := sortByTarget(ends[:len(ends)/2], ends[len(ends)/2:])
	if err := writeArray(filepath.Join(folder, "colptr.npy"), "int64", g.colptr); err != nil {
		return err
	}
	if err := writeArray(filepath.Join(folder, "row.npy"), "int32", g.row); err != nil {
		return err
	}
	return writeArray(filepath.Join(folder, "row64.npy"), "int64", widen(g.row))
}

func sortByTarget(src, dst []int32) *graph {
	nodes := 0
	if len(src) > 0 {
		nodes = int(max(slices.Max(src), slices.Max(dst))) + 1
	}
	g := &graph{make([]int64, nodes+1), make([]int32, len(src))}
	for _, v := range dst {
		g.colptr[v+1]++
	}
	for v := range nodes {
		g.colptr[v+1] += g.colptr[v]
	}
	next := slices.Clone(g.colptr)
	for i, v := range dst {
		g.row[next[v]] = src[i]
		next[v]++
	}
	return g
}

func widen(a []int32) []int64 {
	wide := make([]int64, len(a))
	for i, v := range a {
		wide[i] = int64(v)
	}
	return wide
}

// readArray reads a whole array, whatever its shape, in the order of the file.
// The bytes are taken as they are: the format and this machine are both
// little-endian.
func readArray[T int32 | int64](path, dtype string) ([]T, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	h, err := npy.ReadHeader(f)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	if h.DType != dtype || h.Fortran || h.BigEndian {
		return nil, fmt.Errorf("%s: %s is needed, in C order and little-endian, it holds %s", path, dtype, h.DType)
	}
	values := make([]T, h.Values())
	if _, err := io.ReadFull(f, bytesOf(values)); err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	return values, nil
}

func writeArray[T int32 | int64](path, dtype string, values []T) error {
	f, err := os.Create(path)
	if err != nil {
		return err
	}
	defer f.Close()
	w := bufio.NewWriter(f)
	w.Write(npy.AppendHeader(nil, dtype, []int64{int64(len(values))})) // an error sticks, and is Flush's
	w.Write(bytesOf(values))
	if err := w.Flush(); err != nil {
		return err
	}
	return f.Close()
}

func bytesOf[T int32 | int64](values []T) []byte {
	return unsafe.Slice((*byte)(unsafe.Pointer(unsafe.SliceData(values))), len(values)*int(unsafe.Sizeof(T(0))))
}
