//go:build linux

package serve

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// ErrServed marks a socket on which a live server already answers.
var ErrServed = errors.New("already served")

// ErrListen marks an address on which nobody can listen.
var ErrListen = errors.New("bad listen address")

const (
	maxSocketPath = 107 // bytes; sun_path has 108, the last is a zero
	lockPatience  = 5 * time.Second
)

// socketPath gives the path in a listen address, unix:///path or unix:path.
func socketPath(listen string) (string, error) {
	path, ok := strings.CutPrefix(listen, "unix:")
	path = strings.TrimPrefix(path, "//")
	switch {
	case !ok || path == "":
		return "", fmt.Errorf("serve: %w %q: give unix:///path/of/the.sock", ErrListen, listen)
	case len(path) > maxSocketPath:
		return "", fmt.Errorf("serve: %w: the socket path %s has %d bytes, the kernel allows %d: choose a shorter one, such as unix:///tmp/aether.sock",
			ErrListen, path, len(path), maxSocketPath)
	}
	return path, nil
}

// CheckListen says what is wrong with a listen address, if anything, before
// there is an engine to serve.
func CheckListen(listen string) error {
	_, err := socketPath(listen)
	return err
}

// socket is a listening unix socket and the file that leads to it.
type socket struct {
	net.Listener
	path string
	file fs.FileInfo
}

// listen binds path. A socket file on which nobody listens is replaced; a live
// one is ErrServed.
func listen(ctx context.Context, path string) (*socket, error) {
	unlock, err := lockFolder(ctx, path)
	if err != nil {
		return nil, err
	}
	defer unlock()
	if err := clearStale(path); err != nil {
		return nil, err
	}
	l, err := bind(ctx, path)
	if err != nil {
		return nil, fmt.Errorf("serve: cannot listen on %s: %w; choose a path that you may write to", path, err)
	}
	file, err := os.Lstat(path)
	if err != nil {
		l.Close()
		return nil, fmt.Errorf("serve: the new socket is gone: %w", err)
	}
	return &socket{Listener: l, path: path, file: file}, nil
}

// bind makes the socket with mode 0600 from its first moment: the file takes
// the mode of the descriptor.
func bind(ctx context.Context, path string) (net.Listener, error) {
	config := net.ListenConfig{Control: func(_, _ string, c syscall.RawConn) error {
		var err error
		if ctl := c.Control(func(fd uintptr) { err = unix.Fchmod(int(fd), 0o600) }); ctl != nil {
			return ctl
		}
		return err
	}}
	l, err := config.Listen(ctx, "unix", path)
	if err == nil {
		l.(*net.UnixListener).SetUnlinkOnClose(false) // remove does it, with more care
	}
	return l, err
}

// clearStale makes way at path.
func clearStale(path string) error {
	file, err := os.Lstat(path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil
	case err != nil:
		return fmt.Errorf("serve: %w", err)
	case file.Mode().Type() != fs.ModeSocket:
		return fmt.Errorf("serve: %w: %s exists and is no socket: choose another path, or remove it", ErrListen, path)
	}
	conn, err := net.DialTimeout("unix", path, time.Second)
	if err == nil {
		conn.Close()
	}
	if !errors.Is(err, syscall.ECONNREFUSED) {
		return fmt.Errorf("serve: %s is %w: use that server, stop it, or choose another path", path, ErrServed)
	}
	return os.Remove(path)
}

// remove takes the socket file away, unless it is another's by now.
func (s *socket) remove() error {
	unlock, err := lockFolder(context.Background(), s.path)
	if err != nil {
		return err
	}
	defer unlock()
	if now, err := os.Lstat(s.path); err != nil || !os.SameFile(now, s.file) {
		return nil
	}
	return os.Remove(s.path)
}

// lockFolder keeps other servers from looking at or changing the sockets in
// path's folder. It leaves no file behind.
func lockFolder(ctx context.Context, path string) (unlock func(), err error) {
	dir, err := os.Open(filepath.Dir(path))
	if err != nil {
		return nil, fmt.Errorf("serve: %w: %w; make the folder first", ErrListen, err)
	}
	ctx, cancel := context.WithTimeout(ctx, lockPatience)
	defer cancel()
	for {
		err := unix.Flock(int(dir.Fd()), unix.LOCK_EX|unix.LOCK_NB)
		if err == nil {
			return func() { dir.Close() }, nil
		}
		if !errors.Is(err, unix.EWOULDBLOCK) && !errors.Is(err, unix.EINTR) || ctx.Err() != nil {
			dir.Close()
			return nil, fmt.Errorf("serve: cannot lock the folder of %s: %w; choose one that no other program locks", path, err)
		}
		time.Sleep(10 * time.Millisecond)
	}
}
