package host

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
)

// Pending is a file that grows under a hidden name beside its own, and gets its
// own when it is whole.
type Pending struct {
	*os.File
	path string
	done bool
}

// CreatePending begins the file at path, after CheckTarget. The caller ends it
// with Commit or Abort.
func CreatePending(path string, inputs ...string) (*Pending, error) {
	if err := CheckTarget(path, inputs...); err != nil {
		return nil, err
	}
	// os.CreateTemp would make it private; a result is for whoever the umask lets read it.
	hidden := fmt.Sprintf(".%s.%x.tmp", filepath.Base(path), rand.Uint64())
	f, err := os.OpenFile(filepath.Join(filepath.Dir(path), hidden), os.O_RDWR|os.O_CREATE|os.O_EXCL, 0o666)
	if err != nil {
		return nil, fmt.Errorf("cannot write beside %s: %w; choose a folder that exists and that you may write to", path, err)
	}
	return &Pending{File: f, path: path}, nil
}

// Commit brings the file to the disk and gives it its name, in place of what had
// it before. On an error nothing is left.
func (p *Pending) Commit() error {
	defer p.Abort()
	if err := p.Sync(); err != nil {
		return err
	}
	if err := os.Rename(p.Name(), p.path); err != nil {
		return err
	}
	p.done = true
	return errors.Join(p.Close(), SyncDir(filepath.Dir(p.path)))
}

// Abort leaves nothing behind. After Commit it does nothing.
func (p *Pending) Abort() {
	if p.done {
		return
	}
	p.done = true
	p.Close()
	os.Remove(p.Name())
}
