//go:build linux

package ingest

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"syscall"

	"github.com/aether-ooc/aether-ooc/internal/host"
)

// stage is a hidden folder beside a target in which its files are written
// before they are renamed into place. It is locked while its owner lives, so a
// folder that can be locked belongs to nobody, and what it holds is rubbish.
type stage struct {
	target string
	dir    *os.File // holds the lock
	files  []staged
}

type staged struct {
	file  *os.File
	final string
}

// openStage takes the stage of target, clearing what a dead owner left.
func openStage(target string) (*stage, error) {
	if err := host.CheckTarget(target); err != nil {
		return nil, option("%v", err)
	}
	path := filepath.Join(filepath.Dir(target), "."+filepath.Base(target)+".building")
	for {
		dir, err := lockDir(path)
		if errors.Is(err, os.ErrNotExist) {
			continue // its owner removed it between two of our steps
		}
		if err != nil {
			return nil, fmt.Errorf("cannot write %s: %w", target, err)
		}
		s := &stage{target: target, dir: dir}
		if err := s.clear(); err != nil {
			dir.Close()
			return nil, fmt.Errorf("cannot write %s: removing what a killed build left: %w", target, err)
		}
		return s, nil
	}
}

// lockDir makes the folder if need be and locks it. The error is
// os.ErrNotExist when the folder vanished meanwhile.
func lockDir(path string) (*os.File, error) {
	if err := os.Mkdir(path, 0o777); err != nil && !errors.Is(err, os.ErrExist) {
		return nil, noParent(err)
	}
	dir, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	if err := syscall.Flock(int(dir.Fd()), syscall.LOCK_EX|syscall.LOCK_NB); err != nil {
		dir.Close()
		if errors.Is(err, syscall.EWOULDBLOCK) {
			return nil, fmt.Errorf("%w by another process (it holds %s); wait for it or end it", ErrBusy, path)
		}
		return nil, &os.PathError{Op: "flock", Path: path, Err: err}
	}
	mine, err := dir.Stat()
	if err == nil {
		err = samePlace(path, mine)
	}
	if err != nil {
		dir.Close()
		return nil, err
	}
	return dir, nil
}

// noParent keeps a missing folder of the target apart from a vanished stage.
func noParent(err error) error {
	if errors.Is(err, os.ErrNotExist) {
		return fmt.Errorf("the folder does not exist (%v); make it first", err)
	}
	return err
}

// samePlace tells whether path still is the folder that was locked.
func samePlace(path string, locked os.FileInfo) error {
	now, err := os.Stat(path)
	if err == nil && !os.SameFile(now, locked) {
		err = os.ErrNotExist
	}
	return err
}

func (s *stage) clear() error {
	names, err := os.ReadDir(s.dir.Name())
	for _, n := range names {
		err = errors.Join(err, os.Remove(filepath.Join(s.dir.Name(), n.Name())))
	}
	return err
}

// create starts a file that commit will rename to final, in the target's
// folder. The target itself comes first.
func (s *stage) create(final string) (*os.File, error) {
	if err := host.CheckTarget(final); err != nil {
		return nil, err
	}
	f, err := os.OpenFile(filepath.Join(s.dir.Name(), filepath.Base(final)), os.O_RDWR|os.O_CREATE|os.O_EXCL, 0o666)
	if err != nil {
		return nil, err
	}
	s.files = append(s.files, staged{f, final})
	return f, nil
}

// commit makes the files durable and puts them in place, the target last.
func (s *stage) commit() error {
	for _, f := range s.files {
		if err := f.file.Sync(); err != nil {
			return err
		}
	}
	for i := range s.files {
		f := s.files[len(s.files)-1-i]
		if err := os.Rename(f.file.Name(), f.final); err != nil {
			return err
		}
	}
	return host.SyncDir(filepath.Dir(s.target))
}

// close removes what was not put in place, and gives the lock back.
func (s *stage) close() {
	for _, f := range s.files {
		f.file.Close()
	}
	_ = s.clear() // what stays is removed by the next build
	_ = os.Remove(s.dir.Name())
	s.dir.Close()
}
