//go:build linux

package host

import (
	"fmt"
	"io/fs"
	"math"
	"os"
	"runtime"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"
)

// Unlimited is the limit of what has none.
const Unlimited = math.MaxInt64

// MemoryLimit is how many bytes of memory this process may use: the least of
// the machine's memory and of the limits of its control group and that group's
// parents. Swap does not count.
func MemoryLimit() (int64, error) { return memoryLimit(os.DirFS("/")) }

// RSS is how many bytes of this process are in memory now.
func RSS() (int64, error) { return statusBytes(os.DirFS("/"), "VmRSS") }

// PeakRSS is the most that RSS has been since the process began.
func PeakRSS() (int64, error) { return statusBytes(os.DirFS("/"), "VmHWM") }

// CgroupPeak is the most memory in bytes that the process's control group has
// held, page cache included. It fails where there is no memory control group,
// or where the kernel keeps no peak (control groups 2 before Linux 5.19).
func CgroupPeak() (int64, error) { return cgroupPeak(os.DirFS("/")) }

// CPUs is how many threads may compute at once. The Go runtime starts with the
// least of the machine's processors, the affinity mask and the control group's
// quota; GOMAXPROCS overrides it, and so it does here.
func CPUs() int { return runtime.GOMAXPROCS(0) }

// Version is a kernel's version.
type Version struct{ Major, Minor int }

// AtLeast reports whether v is the given version or a later one.
func (v Version) AtLeast(major, minor int) bool {
	return v.Major > major || v.Major == major && v.Minor >= minor
}

// String gives the version as "6.18".
func (v Version) String() string { return fmt.Sprintf("%d.%d", v.Major, v.Minor) }

// Kernel is the version of the running kernel.
func Kernel() (Version, error) {
	var u unix.Utsname
	if err := unix.Uname(&u); err != nil {
		return Version{}, fmt.Errorf("host: reading the kernel's version: %w", err)
	}
	return parseVersion(unix.ByteSliceToString(u.Release[:]))
}

// parseVersion reads a release such as "6.18.44-generic".
func parseVersion(release string) (Version, error) {
	var v Version
	if _, err := fmt.Sscanf(release, "%d.%d", &v.Major, &v.Minor); err != nil {
		return Version{}, fmt.Errorf("host: kernel release %q is not of the form 6.18", release)
	}
	return v, nil
}

func memoryLimit(root fs.FS) (int64, error) {
	limit, err := keyBytes(root, "proc/meminfo", "MemTotal")
	if err != nil {
		return 0, err
	}
	if g, ok := memoryGroup(root); ok {
		limit = min(limit, g.limit(root))
	}
	return limit, nil
}

func statusBytes(root fs.FS, key string) (int64, error) {
	return keyBytes(root, "proc/self/status", key)
}

func keyBytes(root fs.FS, name, key string) (int64, error) {
	text, err := fs.ReadFile(root, name)
	if err != nil {
		return 0, fmt.Errorf("host: %w", err)
	}
	n, err := parseKiB(string(text), key)
	if err != nil {
		return 0, fmt.Errorf("host: /%s: %w", name, err)
	}
	return n, nil
}

// parseKiB finds the line "key:   123 kB" and gives its value in bytes.
func parseKiB(text, key string) (int64, error) {
	for line := range strings.Lines(text) {
		rest, ok := strings.CutPrefix(line, key+":")
		if !ok {
			continue
		}
		kib, err := strconv.ParseInt(strings.TrimSuffix(strings.TrimSpace(rest), " kB"), 10, 64)
		if err != nil || kib < 0 || kib > math.MaxInt64/1024 {
			return 0, fmt.Errorf("%s is %q, not a number of kB", key, strings.TrimSpace(rest))
		}
		return kib * 1024, nil
	}
	return 0, fmt.Errorf("no line %s", key)
}
