package host

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
)

func names(t *testing.T, dir string) []string {
	t.Helper()
	entries, err := os.ReadDir(dir)
	require.NoError(t, err)
	list := []string{}
	for _, e := range entries {
		list = append(list, e.Name())
	}
	return list
}

func TestPendingAppearsWhole(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "x")
	require.NoError(t, os.WriteFile(path, []byte("old"), 0o600))
	p, err := CreatePending(path)
	require.NoError(t, err)
	_, err = p.WriteString("new")
	require.NoError(t, err)
	b, err := os.ReadFile(path)
	require.NoError(t, err)
	require.Equal(t, "old", string(b))
	require.NoError(t, p.Commit())
	p.Abort()
	b, err = os.ReadFile(path)
	require.NoError(t, err)
	require.Equal(t, "new", string(b))
	require.Equal(t, []string{"x"}, names(t, dir))
}

func TestPendingAborted(t *testing.T) {
	dir := t.TempDir()
	p, err := CreatePending(filepath.Join(dir, "x"))
	require.NoError(t, err)
	p.Abort()
	require.Empty(t, names(t, dir))
}

func TestPendingRefuses(t *testing.T) {
	dir := t.TempDir()
	_, err := CreatePending(dir)
	require.ErrorIs(t, err, ErrTarget)
	_, err = CreatePending(filepath.Join(dir, "none", "x"))
	require.ErrorContains(t, err, "choose a folder")
	require.Empty(t, names(t, dir))
}
