//go:build linux

package host

import (
	"os"
	"path/filepath"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestCheckTarget(t *testing.T) {
	dir := t.TempDir()
	at := func(name string) string { return filepath.Join(dir, name) }
	require.NoError(t, os.WriteFile(at("file"), nil, 0o600))
	require.NoError(t, os.Mkdir(at("folder"), 0o700))
	require.NoError(t, os.Symlink("file", at("link")))
	require.NoError(t, os.Symlink("nowhere", at("dangling")))
	require.NoError(t, syscall.Mkfifo(at("pipe"), 0o600))
	for _, path := range []string{at("file"), at("new"), at("none/new")} {
		require.NoError(t, CheckTarget(path), path)
	}
	require.NoError(t, CheckTarget(at("file"), at("other"), at("folder")))
	require.NoError(t, os.Link(at("file"), at("same")))
	require.ErrorIs(t, CheckTarget(at("file"), at("other"), at("same")), ErrTarget)
	require.ErrorIs(t, CheckTarget(at("file"), at("link")), ErrTarget)
	for _, path := range []string{at("folder"), at("folder/"), at("link"), at("dangling"), at("pipe"), "/dev/null"} {
		require.ErrorIs(t, CheckTarget(path), ErrTarget, path)
	}
}
