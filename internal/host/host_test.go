//go:build linux

package host

import (
	"testing"
	"testing/fstest"

	"github.com/stretchr/testify/require"
)

const (
	meminfo  = "MemTotal:       25165824 kB\nMemFree:         1000000 kB\n"
	mountsV1 = `24 18 0:22 / /sys/fs/cgroup ro,nosuid - tmpfs tmpfs ro,mode=755
27 24 0:25 / /sys/fs/cgroup/cpu,cpuacct rw - cgroup cgroup rw,cpu,cpuacct
30 24 0:28 / /sys/fs/cgroup/memory rw,nosuid shared:12 - cgroup cgroup rw,memory
`
	mountsV2     = "25 18 0:23 / /sys/fs/cgroup rw,nosuid shared:4 - cgroup2 cgroup2 rw,nsdelegate\n"
	mountsHybrid = mountsV1 + "31 24 0:29 / /sys/fs/cgroup/unified rw - cgroup2 cgroup2 rw\n"
	// A container without a namespace of its own for control groups.
	mountsDocker = "30 24 0:28 /docker/abc /sys/fs/cgroup/memory ro - cgroup cgroup rw,memory\n"
)

const memTotal = int64(24) << 30

func machine(files ...string) fstest.MapFS {
	m := fstest.MapFS{"proc/meminfo": {Data: []byte(meminfo)}}
	for i := 0; i < len(files); i += 2 {
		m[files[i]] = &fstest.MapFile{Data: []byte(files[i+1])}
	}
	return m
}

func TestMemoryLimit(t *testing.T) {
	const groups, mounts = "proc/self/cgroup", "proc/self/mountinfo"
	for _, c := range []struct {
		name string
		fs   fstest.MapFS
		want int64
	}{
		{"no control groups", machine(), memTotal},
		{"v1 unlimited", machine(groups, "3:memory:/\n", mounts, mountsV1,
			"sys/fs/cgroup/memory/memory.limit_in_bytes", "9223372036854771712\n"), memTotal},
		{"v1 own limit", machine(groups, "5:cpu,cpuacct:/\n3:memory:/a/b\n", mounts, mountsV1,
			"sys/fs/cgroup/memory/a/b/memory.limit_in_bytes", "1048576\n"), 1 << 20},
		{"v1 parent's limit", machine(groups, "3:memory:/a/b\n", mounts, mountsV1,
			"sys/fs/cgroup/memory/a/memory.limit_in_bytes", "4096\n",
			"sys/fs/cgroup/memory/a/b/memory.limit_in_bytes", "1048576\n"), 4096},
		{"v1 seen from a container", machine(groups, "3:memory:/docker/abc/x\n", mounts, mountsDocker,
			"sys/fs/cgroup/memory/x/memory.limit_in_bytes", "8192\n"), 8192},
		{"v1 outside of what is mounted", machine(groups, "3:memory:/docker/abcdef\n", mounts, mountsDocker,
			"sys/fs/cgroup/memory/memory.limit_in_bytes", "12288\n"), 12288},
		{"v2 max", machine(groups, "0::/user.slice\n", mounts, mountsV2,
			"sys/fs/cgroup/user.slice/memory.max", "max\n"), memTotal},
		{"v2 own limit", machine(groups, "0::/user.slice/s\n", mounts, mountsV2,
			"sys/fs/cgroup/user.slice/s/memory.max", "2097152\n"), 2 << 20},
		{"v2 parent's limit", machine(groups, "0::/user.slice/s\n", mounts, mountsV2,
			"sys/fs/cgroup/user.slice/memory.max", "65536\n",
			"sys/fs/cgroup/user.slice/s/memory.max", "max\n"), 65536},
		{"hybrid: version 1 has memory", machine(groups, "3:memory:/a\n0::/u\n", mounts, mountsHybrid,
			"sys/fs/cgroup/memory/a/memory.limit_in_bytes", "16384\n",
			"sys/fs/cgroup/unified/u/memory.max", "4096\n"), 16384},
	} {
		t.Run(c.name, func(t *testing.T) {
			got, err := memoryLimit(c.fs)
			require.NoError(t, err)
			require.Equal(t, c.want, got)
		})
	}
}

func TestMemoryLimitUnreadable(t *testing.T) {
	_, err := memoryLimit(fstest.MapFS{})
	require.Error(t, err)
	for _, text := range []string{"", "MemFree: 1 kB\n", "MemTotal: x kB\n", "MemTotal: -1 kB\n", "MemTotal: 9223372036854775807 kB\n"} {
		_, err := memoryLimit(fstest.MapFS{"proc/meminfo": {Data: []byte(text)}})
		require.ErrorContains(t, err, "/proc/meminfo", "%q", text)
	}
}

func TestCgroupPeak(t *testing.T) {
	v1 := machine("proc/self/cgroup", "3:memory:/a\n", "proc/self/mountinfo", mountsV1,
		"sys/fs/cgroup/memory/a/memory.max_usage_in_bytes", "123\n")
	v2 := machine("proc/self/cgroup", "0::/a\n", "proc/self/mountinfo", mountsV2, "sys/fs/cgroup/a/memory.peak", "456\n")
	old := machine("proc/self/cgroup", "0::/a\n", "proc/self/mountinfo", mountsV2)
	for _, c := range []struct {
		name string
		fs   fstest.MapFS
		want int64
		err  string
	}{
		{"v1", v1, 123, ""},
		{"v2", v2, 456, ""},
		{"v2 without a peak", old, 0, "memory.peak"},
		{"none", machine(), 0, "no memory control group"},
	} {
		t.Run(c.name, func(t *testing.T) {
			got, err := cgroupPeak(c.fs)
			if c.err != "" {
				require.ErrorContains(t, err, c.err)
				return
			}
			require.NoError(t, err)
			require.Equal(t, c.want, got)
		})
	}
}

func TestParseVersion(t *testing.T) {
	for release, want := range map[string]Version{
		"6.18.44-generic": {6, 18},
		"5.10.0":          {5, 10},
		"4.4":             {4, 4},
	} {
		got, err := parseVersion(release)
		require.NoError(t, err)
		require.Equal(t, want, got)
	}
	for _, release := range []string{"", "linux", "6"} {
		_, err := parseVersion(release)
		require.ErrorContains(t, err, "kernel release")
	}
	require.True(t, Version{5, 10}.AtLeast(5, 10))
	require.True(t, Version{6, 0}.AtLeast(5, 19))
	require.False(t, Version{5, 9}.AtLeast(5, 10))
	require.Equal(t, "6.18", Version{6, 18}.String())
}

// The machine that runs the tests answers every question in a way that makes sense.
func TestThisMachine(t *testing.T) {
	limit, err := MemoryLimit()
	require.NoError(t, err)
	rss, err := RSS()
	require.NoError(t, err)
	peak, err := PeakRSS()
	require.NoError(t, err)
	require.Positive(t, rss)
	require.GreaterOrEqual(t, limit, rss)
	require.GreaterOrEqual(t, peak, rss)

	v, err := Kernel()
	require.NoError(t, err)
	require.True(t, v.AtLeast(3, 0), v.String())
	require.Positive(t, CPUs())
}
