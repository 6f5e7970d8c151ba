//go:build linux

package uring

import (
	"bufio"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"runtime"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"
)

// benchFileSize is large against a device's own cache of translations, and soon
// written.
const benchFileSize = 1 << 30

// BenchmarkRandomRead reads random blocks of 4 KiB with O_DIRECT, always as many
// at once as the depth allows, in groups of one (as fio counts) or of many (as
// the cache asks). Compare with
//
//	fio --name=r --filename=FILE --rw=randread --bs=4k --direct=1 --ioengine=io_uring \
//	    --iodepth=128 --registerfiles=1 --fixedbufs=1 --time_based --runtime=10
func BenchmarkRandomRead(b *testing.B) {
	f := benchFile(b)
	for _, backend := range Backends() {
		for _, depth := range []int{1, 32, 128, 256} {
			for _, group := range []int{1, 32} {
				if group > depth {
					continue
				}
				b.Run(fmt.Sprintf("%s/depth=%d/group=%d", backend, depth, group), func(b *testing.B) {
					runtime.LockOSThread()
					defer runtime.UnlockOSThread()
					benchReads(b, f, backend, depth, group)
				})
			}
		}
	}
}

func benchFile(b *testing.B) *File {
	b.Helper()
	path := filepath.Join(b.TempDir(), "data")
	out, err := os.Create(path)
	require.NoError(b, err)
	w := bufio.NewWriterSize(out, 1<<20)
	rng := rand.NewChaCha8([32]byte{})
	chunk := make([]byte, 1<<20)
	for range benchFileSize / len(chunk) {
		_, _ = rng.Read(chunk)
		_, err = w.Write(chunk)
		require.NoError(b, err)
	}
	require.NoError(b, w.Flush())
	require.NoError(b, out.Sync())
	require.NoError(b, out.Close())
	f, err := OpenFile(path, DirectOnly)
	require.NoError(b, err)
	b.Cleanup(func() { require.NoError(b, f.Close()) })
	return f
}

func benchReads(b *testing.B, f *File, backend string, depth, group int) {
	size := depth * block
	arena, err := unix.Mmap(-1, 0, size, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_ANON|unix.MAP_PRIVATE)
	require.NoError(b, err)
	defer func() { require.NoError(b, unix.Munmap(arena)) }()
	r, err := Open(Config{Backend: backend, Depth: depth, Arena: arena})
	require.NoError(b, err)
	defer func() { require.NoError(b, r.Close()) }()

	rng := rand.New(rand.NewPCG(1, 1))
	queue := func(g *Group) {
		for i := range g.Reads {
			g.Reads[i].Off = rng.Int64N(benchFileSize/block) * block
		}
		require.NoError(b, r.Queue(g))
	}
	groups := benchGroups(f, arena, group)
	cpu := cpuTime()
	b.SetBytes(block)
	b.ResetTimer()
	for _, g := range groups {
		queue(g)
	}
	for done := 0; done < b.N; done += group {
		g, err := r.Wait()
		if err != nil || g.Reads[0].Err != nil {
			b.Fatal(err, g)
		}
		queue(g)
	}
	b.StopTimer()
	s, wall := r.Stats(), b.Elapsed()
	b.ReportMetric(float64(b.N)/wall.Seconds(), "iops")
	b.ReportMetric(100*float64(cpuTime()-cpu)/float64(wall), "cpu%")
	b.ReportMetric(s.MeanDepth(), "depth")
	b.ReportMetric(s.ReadsPerSyscall(), "reads/call")
}

// benchGroups cuts the arena into groups of single blocks.
func benchGroups(f *File, arena []byte, size int) []*Group {
	var groups []*Group
	for at := 0; at < len(arena); {
		g := &Group{Reads: make([]Read, size)}
		for i := range g.Reads {
			g.Reads[i] = Read{File: f, Bufs: [][]byte{arena[at : at+block : at+block]}}
			at += block
		}
		groups = append(groups, g)
	}
	return groups
}

func cpuTime() time.Duration {
	var u unix.Rusage
	_ = unix.Getrusage(unix.RUSAGE_SELF, &u)
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}
