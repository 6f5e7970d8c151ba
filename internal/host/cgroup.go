//go:build linux

package host

import (
	"errors"
	"fmt"
	"io/fs"
	"path"
	"slices"
	"strconv"
	"strings"
)

// group is the memory control group of the process: a folder below the mount
// point of its hierarchy. Paths have no leading slash, as fs.FS wants them.
type group struct {
	mount string // where the hierarchy is mounted
	dir   string // the group's own folder, mount or below it
	v2    bool
}

func (g group) limitFile() string {
	if g.v2 {
		return "memory.max"
	}
	return "memory.limit_in_bytes"
}

func (g group) peakFile() string {
	if g.v2 {
		return "memory.peak"
	}
	return "memory.max_usage_in_bytes"
}

// limit is the least limit on the way from the group up to the mount point. A
// level without a file (the root of version 2 has none) limits nothing.
func (g group) limit(root fs.FS) int64 {
	least := int64(Unlimited)
	for dir := g.dir; ; dir = path.Dir(dir) {
		if text, err := fs.ReadFile(root, path.Join(dir, g.limitFile())); err == nil {
			least = min(least, parseLimit(string(text)))
		}
		if dir == g.mount || dir == "." {
			return least
		}
	}
}

// parseLimit reads a limit file. What is no number ("max") limits nothing.
func parseLimit(text string) int64 {
	n, err := strconv.ParseInt(strings.TrimSpace(text), 10, 64)
	if err != nil || n < 0 {
		return Unlimited
	}
	return n
}

func cgroupPeak(root fs.FS) (int64, error) {
	g, ok := memoryGroup(root)
	if !ok {
		return 0, errors.New("host: the process is in no memory control group")
	}
	name := path.Join(g.dir, g.peakFile())
	text, err := fs.ReadFile(root, name)
	if err != nil {
		return 0, fmt.Errorf("host: %w", err)
	}
	n, err := strconv.ParseInt(strings.TrimSpace(string(text)), 10, 64)
	if err != nil {
		return 0, fmt.Errorf("host: /%s: %w", name, err)
	}
	return n, nil
}

// memoryGroup finds the group that limits this process's memory. A machine that
// mounts both versions gives the memory controller to one of them; version 1 has
// it where it names it.
func memoryGroup(root fs.FS) (group, bool) {
	groups, err := fs.ReadFile(root, "proc/self/cgroup")
	if err != nil {
		return group{}, false
	}
	mounts, err := fs.ReadFile(root, "proc/self/mountinfo")
	if err != nil {
		return group{}, false
	}
	if g, ok := findGroup(string(groups), string(mounts), false); ok {
		return g, true
	}
	return findGroup(string(groups), string(mounts), true)
}

func findGroup(groups, mounts string, v2 bool) (group, bool) {
	own, ok := parseGroupPath(groups, v2)
	if !ok {
		return group{}, false
	}
	m, ok := parseMount(mounts, v2)
	if !ok {
		return group{}, false
	}
	point := strings.TrimPrefix(m.point, "/")
	return group{mount: point, dir: path.Join(point, below(own, m.root)), v2: v2}, true
}

// below gives own relative to the part of the tree that is mounted. In a
// container the group may be named as the host sees it while the mount shows
// only the container's part: then the mount point itself is our group.
func below(own, root string) string {
	if root == "/" {
		return own
	}
	rest, ok := strings.CutPrefix(own, root)
	if !ok || rest != "" && rest[0] != '/' {
		return ""
	}
	return rest
}

// parseGroupPath reads /proc/self/cgroup: lines of "number:controllers:path",
// where version 2 is the line "0::path".
func parseGroupPath(text string, v2 bool) (string, bool) {
	for line := range strings.Lines(text) {
		f := strings.SplitN(strings.TrimSpace(line), ":", 3)
		if len(f) != 3 {
			continue
		}
		if v2 && f[0] == "0" && f[1] == "" || !v2 && slices.Contains(strings.Split(f[1], ","), "memory") {
			return path.Clean("/" + f[2]), true
		}
	}
	return "", false
}

type mount struct{ root, point string }

// parseMount reads /proc/self/mountinfo: "id parent dev root point options
// [optional …] - type source superoptions".
func parseMount(text string, v2 bool) (mount, bool) {
	for line := range strings.Lines(text) {
		head, tail, ok := strings.Cut(strings.TrimSpace(line), " - ")
		f, t := strings.Fields(head), strings.Fields(tail)
		if !ok || len(f) < 5 || len(t) < 3 {
			continue
		}
		if v2 && t[0] == "cgroup2" || !v2 && t[0] == "cgroup" && slices.Contains(strings.Split(t[2], ","), "memory") {
			return mount{root: f[3], point: f[4]}, true
		}
	}
	return mount{}, false
}
