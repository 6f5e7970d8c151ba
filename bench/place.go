package bench

import (
	"bufio"
	"cmp"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"runtime/debug"
	"strings"
	"syscall"

	"github.com/aether-ooc/aether-ooc/internal/host"
	"github.com/aether-ooc/aether-ooc/internal/report"
)

// Host is the machine and the program that measured.
type Host struct {
	Name        string `json:"name"`
	Kernel      string `json:"kernel"`
	CPU         string `json:"cpu"`
	CPUs        int    `json:"cpus"` // that the process may use
	MemoryBytes int64  `json:"memory_bytes"`
	Go          string `json:"go"`
	OSArch      string `json:"os_arch"`
	Revision    string `json:"revision"` // of the program's source, or "unknown"
	Modified    bool   `json:"modified"` // the source had changes beside the revision
}

// Place is where a file lies.
type Place struct {
	Filesystem string `json:"filesystem"`
	Device     string `json:"device"`
	Model      string `json:"model"` // "": the kernel does not say
}

// ThisHost describes the machine; what cannot be found out stays empty.
func ThisHost() Host {
	h := Host{CPU: cpuModel(), CPUs: host.CPUs(), Go: runtime.Version(), OSArch: runtime.GOOS + "/" + runtime.GOARCH}
	h.Name, _ = os.Hostname()
	if b, err := os.ReadFile("/proc/sys/kernel/osrelease"); err == nil {
		h.Kernel = strings.TrimSpace(string(b))
	}
	if n, err := host.MemoryLimit(); err == nil {
		h.MemoryBytes = n
	}
	h.Revision, h.Modified = sourceOf(revision)
	return h
}

// revision is set by the linker (make build): a commit, with "-dirty" where the
// source had changes beside it.
var revision string

// sourceOf tells a revision from its changes. A program that make has not built
// has what the go command knows of its repository.
func sourceOf(revision string) (commit string, modified bool) {
	commit, modified = strings.CutSuffix(revision, "-dirty")
	info, ok := debug.ReadBuildInfo()
	if commit != "" || !ok {
		return cmp.Or(commit, "unknown"), modified
	}
	for _, s := range info.Settings {
		switch s.Key {
		case "vcs.revision":
			commit = s.Value
		case "vcs.modified":
			modified = s.Value == "true"
		}
	}
	return cmp.Or(commit, "unknown"), modified
}

// String gives the host for people.
func (h Host) String() string {
	revision := "revision " + h.Revision[:min(12, len(h.Revision))]
	if h.Modified {
		revision += " with changes"
	}
	return fmt.Sprintf("Linux %s, %d × %s, %s; %s, %s", h.Kernel, h.CPUs, h.CPU, report.Bytes(h.MemoryBytes), h.Go, revision)
}

func cpuModel() string {
	f, err := os.Open("/proc/cpuinfo")
	if err != nil {
		return ""
	}
	defer f.Close()
	for lines := bufio.NewScanner(f); lines.Scan(); {
		if name, value, ok := strings.Cut(lines.Text(), ":"); ok && strings.TrimSpace(name) == "model name" {
			return strings.TrimSpace(value)
		}
	}
	return "CPU"
}

// String gives the place for people.
func (p Place) String() string {
	if p.Device == "" {
		return "unknown"
	}
	return strings.TrimSpace(fmt.Sprintf("%s on %s %s", p.Filesystem, p.Device, p.Model))
}

// placeOf finds the mount that holds the path: of those whose folder is a prefix
// of it the longest, and of equal ones the last.
func placeOf(path string) Place {
	var p Place
	path, err := filepath.Abs(path)
	if err != nil {
		return p
	}
	mounts, err := os.Open("/proc/self/mounts")
	if err != nil {
		return p
	}
	defer mounts.Close()
	longest := 0
	for lines := bufio.NewScanner(mounts); lines.Scan(); {
		f := strings.Fields(lines.Text()) // device, folder, type, …
		if len(f) > 2 && len(f[1]) >= longest && under(path, f[1]) {
			longest, p.Device, p.Filesystem = len(f[1]), f[0], f[2]
		}
	}
	p.Model = modelOf(path)
	return p
}

func under(path, folder string) bool {
	return folder == "/" || path == folder || strings.HasPrefix(path, folder+"/")
}

// modelOf asks the kernel for the disk below the file.
func modelOf(path string) string {
	var st syscall.Stat_t
	if syscall.Stat(path, &st) != nil {
		return ""
	}
	dev := fmt.Sprintf("/sys/dev/block/%d:%d", st.Dev>>8&0xfff, st.Dev&0xff|st.Dev>>12&0xfff00)
	for _, at := range []string{"device/model", "../device/model"} { // a disk, or its partition
		if b, err := os.ReadFile(filepath.Join(dev, at)); err == nil {
			return strings.TrimSpace(string(b))
		}
	}
	return ""
}
