//go:build linux

package serve_test

import (
	"context"
	"io/fs"
	"net"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/aether-ooc/aether-ooc/serve"
)

func TestSocketFile(t *testing.T) {
	s := start(t, newFake(t), nil)
	path := strings.TrimPrefix(s.listen, "unix://")
	file, err := os.Lstat(path)
	require.NoError(t, err)
	require.Equal(t, fs.ModeSocket|0o600, file.Mode())
	s.end(t)
	entries, err := os.ReadDir(filepath.Dir(path))
	require.NoError(t, err)
	require.Empty(t, entries)
}

func TestALiveSocketIsLeftAlone(t *testing.T) {
	s := start(t, newFake(t), nil)
	_, err := serve.Run(ctx, serve.Config{Engine: newFake(t), Listen: s.listen})
	require.ErrorIs(t, err, serve.ErrServed)
	_, err = s.dial(t).Info(ctx)
	require.NoError(t, err)
}

// deadSocket leaves a socket file on which nobody listens.
func deadSocket(t *testing.T, path string) {
	l, err := net.Listen("unix", path)
	require.NoError(t, err)
	l.(*net.UnixListener).SetUnlinkOnClose(false)
	require.NoError(t, l.Close())
}

func TestADeadSocketIsReplaced(t *testing.T) {
	path := filepath.Join(shortDir(t), "a.sock")
	deadSocket(t, path)
	s := start(t, newFake(t), func(c *serve.Config) { c.Listen = "unix:" + path })
	_, err := s.dial(t).Info(ctx)
	require.NoError(t, err)
}

func TestOtherFilesAreLeftAlone(t *testing.T) {
	path := filepath.Join(shortDir(t), "a.sock")
	require.NoError(t, os.WriteFile(path, []byte("precious"), 0o600))
	_, err := serve.Run(ctx, serve.Config{Engine: newFake(t), Listen: "unix://" + path})
	require.ErrorIs(t, err, serve.ErrListen)
	b, err := os.ReadFile(path)
	require.NoError(t, err)
	require.Equal(t, "precious", string(b))
	_, err = serve.Run(ctx, serve.Config{Engine: newFake(t), Listen: "unix://" + path + "/none/a.sock"})
	require.ErrorIs(t, err, serve.ErrListen)
}

// A server whose socket another took over does not remove the other's.
func TestOnlyItsOwnSocketIsRemoved(t *testing.T) {
	s := start(t, newFake(t), nil)
	path := strings.TrimPrefix(s.listen, "unix://")
	require.NoError(t, os.Remove(path))
	other := start(t, newFake(t), func(c *serve.Config) { c.Listen = s.listen })
	s.end(t)
	_, err := other.dial(t).Info(ctx)
	require.NoError(t, err)
}

// Of many servers that find the same dead socket at once, one serves.
func TestOneServerWins(t *testing.T) {
	path := filepath.Join(shortDir(t), "a.sock")
	deadSocket(t, path)
	ctx, cancel := context.WithCancel(ctx)
	var all sync.WaitGroup
	ready, lost := make(chan struct{}, 8), make(chan error, 8)
	for range 8 {
		f := newFake(t)
		all.Go(func() {
			_, err := serve.Run(ctx, serve.Config{Engine: f, Listen: "unix://" + path, Log: quiet, Ready: func() { ready <- struct{}{} }})
			if err != nil {
				lost <- err
			}
		})
	}
	for range 7 {
		require.ErrorIs(t, <-lost, serve.ErrServed)
	}
	<-ready
	cancel()
	all.Wait()
	require.Empty(t, ready)
	require.NoFileExists(t, path)
}
