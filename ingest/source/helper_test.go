//go:build linux

package source

import (
	"bufio"
	"bytes"
	"compress/gzip"
	"context"
	"encoding/binary"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/aether-ooc/aether-ooc/internal/npy"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// pair is an edge, source first.
type pair [2]uint64

func pairsOf(b *Batch) (edges []pair) {
	for i := range b.Src {
		edges = append(edges, pair{uint64(b.Src[i]), uint64(b.Dst[i])})
	}
	return edges
}

func textOf(edges []pair) string {
	var b strings.Builder
	for _, e := range edges {
		fmt.Fprintf(&b, "%d\t%d\n", e[0], e[1])
	}
	return b.String()
}

// arrayOf is the .npy of a (2, E) array of uint64 in C order.
func arrayOf(edges []pair) string { return encode(edges, "uint64", false, false, false) }

// rows is a .npy of the given shape; its bytes count upwards.
func rows(dtype string, shape ...int64) string {
	b := npy.AppendHeader(nil, dtype, shape)
	h, _ := npy.ParseHeader(b)
	for i := range h.Bytes() {
		b = append(b, byte(i*7+3))
	}
	return string(b)
}

// encode makes a .npy of edges in one of the forms that NumPy can save.
func encode(edges []pair, dtype string, big, fortran, byEdge bool) string {
	e := int64(len(edges))
	shape := []int64{2, e}
	if byEdge {
		shape = []int64{e, 2}
	}
	b := string(npy.AppendHeader(nil, dtype, shape))
	if big {
		b = strings.Replace(b, "'<", "'>", 1)
	}
	if fortran {
		b = strings.Replace(b, "'fortran_order': False", "'fortran_order': True ", 1)
	}
	var order binary.ByteOrder = binary.LittleEndian
	if big {
		order = binary.BigEndian
	}
	var data []byte
	put := func(v uint64) {
		if strings.HasSuffix(dtype, "32") {
			data = append(data, 0, 0, 0, 0)
			order.PutUint32(data[len(data)-4:], uint32(v))
		} else {
			data = append(data, 0, 0, 0, 0, 0, 0, 0, 0)
			order.PutUint64(data[len(data)-8:], v)
		}
	}
	if fortran != byEdge { // source and target by turns
		for _, e := range edges {
			put(e[0])
			put(e[1])
		}
	} else {
		for column := range 2 {
			for _, e := range edges {
				put(e[column])
			}
		}
	}
	return b + string(data)
}

func gzipped(members ...string) string {
	var b bytes.Buffer
	for _, m := range members {
		w := gzip.NewWriter(&b)
		w.Write([]byte(m))
		w.Close()
	}
	return b.String()
}

func writeFile(t testing.TB, dir, name, content string) string {
	t.Helper()
	path := filepath.Join(dir, name)
	require.NoError(t, os.WriteFile(path, []byte(content), 0o666))
	return path
}

// readAll reads a list twice, as a build does and to count it, and checks that
// no descriptor is left and that what was promised came true.
func readAll(t testing.TB, c Config) (edges []pair, err error) {
	t.Helper()
	before := descriptors(t)
	edges, err = readOnce(t, c)
	require.Equal(t, before, descriptors(t), "descriptors are left")
	return edges, err
}

func readOnce(t testing.TB, c Config) (edges []pair, err error) {
	t.Helper()
	c.Workers = 2
	s, err := Open(c)
	if err != nil {
		return nil, err
	}
	defer func() { require.NoError(t, s.Close()) }()
	next := int64(0)
	err = s.Each(context.Background(), func(b *Batch) error {
		require.Equal(t, next, b.First)
		next += int64(len(b.Src))
		edges = append(edges, pairsOf(b)...)
		return nil
	})
	if err != nil {
		return edges, err
	}
	require.LessOrEqual(t, next, s.Most())
	if known := s.Known(); known >= 0 {
		require.Equal(t, known, next)
	}
	return edges, nil
}

func descriptors(t testing.TB) int {
	open, err := os.ReadDir("/proc/self/fd")
	require.NoError(t, err)
	return len(open)
}

// streamOf is an opened input that can only be read from the front.
func streamOf(name, content string) *file {
	r := bufio.NewReaderSize(strings.NewReader(content), sniffBytes)
	head, _ := r.Peek(sniffBytes)
	return &file{name: name, size: -1, head: head, r: r, read: new(atomic.Int64)}
}
