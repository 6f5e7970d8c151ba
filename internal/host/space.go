//go:build linux

package host

import (
	"os"
	"syscall"
)

// DiskFree is how many bytes the filesystem of a file or folder still takes
// from who asks.
func DiskFree(path string) (int64, error) {
	var st syscall.Statfs_t
	if err := syscall.Statfs(path, &st); err != nil {
		return 0, &os.PathError{Op: "statfs", Path: path, Err: err}
	}
	return int64(st.Bavail) * int64(st.Bsize), nil
}
