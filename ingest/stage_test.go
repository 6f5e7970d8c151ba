//go:build linux

package ingest

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"
)

// mounted is a small filesystem of its own, which only root can have.
func mounted(t *testing.T, flags uintptr, options string) string {
	t.Helper()
	if os.Getuid() != 0 {
		t.Skip("mounting a small filesystem needs root")
	}
	dir := t.TempDir()
	if err := syscall.Mount("tmpfs", dir, "tmpfs", flags, options); err != nil {
		if errors.Is(err, syscall.EPERM) {
			t.Skip("mounting a small filesystem is not allowed here")
		}
		require.NoError(t, err)
	}
	t.Cleanup(func() { require.NoError(t, syscall.Unmount(dir, 0)) })
	return dir
}

// Whenever the disk fills up, the build says so and leaves nothing; the room
// grows until it succeeds, so every write is the one that fails once.
func TestDiskFullInEveryPhase(t *testing.T) {
	source := t.TempDir()
	edges := make([]pair, 20_000)
	for i := range edges {
		edges[i] = pair{uint64(i * 7 % 5000), uint64(i % 5000)}
	}
	c := Config{Input: writeFile(t, source, "e.txt", textOf(edges)), Memory: smallMemory,
		Features: writeFile(t, source, "x.npy", rows("float32", 5000, 4)), NodeAttrs: []NodeAttr{{"y", writeFile(t, source, "y.npy", rows("int64", 5000))}}}
	for pages := 2; ; pages += 3 {
		dir := mounted(t, 0, fmt.Sprintf("size=%d", pages*os.Getpagesize()))
		c.Out = filepath.Join(dir, "g.bin")
		_, err := run(t, c)
		if err == nil {
			require.Greater(t, pages, 50, "the disk was never full")
			_, got := readLists(t, c.Out)
			require.Equal(t, naiveLists(edges, c), got)
			return
		}
		require.ErrorIs(t, err, syscall.ENOSPC)
		left, err := os.ReadDir(dir)
		require.NoError(t, err)
		require.Empty(t, left)
	}
}

func TestDiskFullWhileGenerating(t *testing.T) {
	for _, name := range []string{"e.npy", "e.txt"} {
		dir := mounted(t, 0, "size=64k")
		_, err := RMAT(context.Background(), RMATConfig{Scale: 10, EdgeFactor: 16, Out: filepath.Join(dir, name), Workers: 3})
		require.ErrorIs(t, err, syscall.ENOSPC)
		left, err := os.ReadDir(dir)
		require.NoError(t, err)
		require.Empty(t, left)
	}
}

func TestTargetsThatCannotBeWritten(t *testing.T) {
	in := writeFile(t, t.TempDir(), "e.txt", "0 1\n")
	dir := t.TempDir()
	_, err := run(t, Config{Input: in, Out: filepath.Join(dir, "none", "g.bin")})
	require.ErrorContains(t, err, "the folder does not exist")
	_, err = RMAT(context.Background(), RMATConfig{Out: filepath.Join(dir, "none", "e.npy")})
	require.ErrorContains(t, err, "the folder does not exist")

	pipe, link := filepath.Join(dir, "pipe.npy"), filepath.Join(dir, "link.npy")
	require.NoError(t, syscall.Mkfifo(pipe, 0o600))
	require.NoError(t, os.Symlink(pipe, link))
	for _, out := range []string{pipe, link} {
		_, err = run(t, Config{Input: in, Out: out})
		require.ErrorIs(t, err, ErrOption, "what is no file is not replaced by one")
		_, err = RMAT(context.Background(), RMATConfig{Out: out})
		require.ErrorIs(t, err, ErrOption)
	}

	readOnly := mounted(t, syscall.MS_RDONLY, "")
	_, err = run(t, Config{Input: in, Out: filepath.Join(readOnly, "g.bin")})
	require.ErrorIs(t, err, syscall.EROFS)
}

func TestStageIsTakenOnce(t *testing.T) {
	dir := t.TempDir()
	target := filepath.Join(dir, "g.bin")
	s, err := openStage(target)
	require.NoError(t, err)
	f, err := s.create(target)
	require.NoError(t, err)
	_, err = openStage(target)
	require.ErrorIs(t, err, ErrBusy)
	require.FileExists(t, f.Name())
	other, err := openStage(filepath.Join(dir, "h.bin"))
	require.NoError(t, err, "another target is another matter")
	other.close()
	require.NoError(t, s.commit())
	s.close()
	require.FileExists(t, target)
	requireNoStage(t, target)
}

// Builds of one target that start and end all the time never break each other.
func TestStagesByTurns(t *testing.T) {
	target := filepath.Join(t.TempDir(), "g.bin")
	done := make(chan error)
	for range 4 {
		go func() {
			for range 200 {
				if err := stageOnce(target); err != nil {
					done <- err
					return
				}
			}
			done <- nil
		}()
	}
	for range 4 {
		require.NoError(t, <-done)
	}
	requireNoStage(t, target)
}

func stageOnce(target string) error {
	s, err := openStage(target)
	if errors.Is(err, ErrBusy) {
		return nil
	}
	if err != nil {
		return err
	}
	defer s.close()
	if _, err := s.create(target); err != nil {
		return err
	}
	return s.commit()
}

func TestFilesOfADeadOwnerAreRemoved(t *testing.T) {
	dir := t.TempDir()
	target := filepath.Join(dir, "g.bin")
	stale := filepath.Join(dir, ".g.bin.building")
	require.NoError(t, os.Mkdir(stale, 0o777))
	writeFile(t, stale, "g.bin", "half a graph")
	writeFile(t, stale, "g.bin.features.npy", "half a matrix")
	_, err := run(t, Config{Input: writeFile(t, dir, "e.txt", "0 1\n"), Out: target})
	require.NoError(t, err)
	entries, err := os.ReadDir(dir)
	require.NoError(t, err)
	require.Len(t, entries, 2)
}
