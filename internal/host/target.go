package host

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
)

// ErrTarget marks a path that no result may be written to.
var ErrTarget = errors.New("cannot be replaced")

// CheckTarget refuses, with ErrTarget, a path that holds anything but a regular
// file, or one of the files that the result is made from. A rename replaces
// whatever has the name: done by root, a result "written to" /dev/null would take
// the device away from the whole machine.
func CheckTarget(path string, inputs ...string) error {
	info, err := os.Lstat(path)
	if err != nil { // there is nothing, or writing beside it will say what is wrong
		return nil
	}
	for _, input := range inputs {
		if in, err := os.Stat(input); err == nil && os.SameFile(in, info) {
			return fmt.Errorf("%s is an input too, and so it %w: name another file to write", path, ErrTarget)
		}
	}
	switch mode := info.Mode(); {
	case mode.IsRegular():
		return nil
	case mode.IsDir():
		return fmt.Errorf("%s is a folder, which %w: name the file to write", path, ErrTarget)
	case mode&fs.ModeSymlink != 0:
		return fmt.Errorf("%s is a symbolic link, which %w: name the file that it leads to, or remove it", path, ErrTarget)
	default:
		return fmt.Errorf("%s is a device, pipe or socket, which %w: name a regular file to write", path, ErrTarget)
	}
}

// SyncDir makes a rename in the folder at path last through a power cut.
func SyncDir(path string) error {
	d, err := os.Open(path)
	if err != nil {
		return err
	}
	defer d.Close()
	return d.Sync()
}
