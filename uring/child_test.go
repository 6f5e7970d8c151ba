//go:build linux

package uring

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"unsafe"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"
)

// Some refusals of the kernel cannot be taken back, so they are tested in a
// child: the test program again, which finds in its environment what to do.
const childEnv = "AETHER_OOC_URING_TEST_CHILD"

var children = map[string]func(arg string) error{
	"memlock": childMemlock,
	"seccomp": childSeccomp,
}

// runChild is the whole life of a child.
func runChild() (code int, ok bool) {
	task, arg, _ := strings.Cut(os.Getenv(childEnv), ":")
	run := children[task]
	if run == nil {
		return 0, false
	}
	runtime.LockOSThread()
	if err := run(arg); err != nil {
		fmt.Println("FAIL:", err)
		return 1, true
	}
	return 0, true
}

// child runs a task and returns what it printed and logged.
func child(t *testing.T, task string) string {
	t.Helper()
	cmd := exec.Command("/proc/self/exe")
	cmd.Env = append(os.Environ(), childEnv+"="+task)
	out, err := cmd.CombinedOutput()
	require.NoError(t, err, "%s", out)
	return string(out)
}

// readBack opens a ring and reads a file with it.
func readBack(c Config) (Stats, error) {
	dir, err := os.MkdirTemp("", "uring")
	if err != nil {
		return Stats{}, err
	}
	defer func() { _ = os.RemoveAll(dir) }()
	path := filepath.Join(dir, "data")
	if err := os.WriteFile(path, content(64*block), 0o600); err != nil {
		return Stats{}, err
	}
	f, err := OpenFile(path, Direct)
	if err != nil {
		return Stats{}, err
	}
	defer func() { _ = f.Close() }()
	r, err := Open(c)
	if err != nil {
		return Stats{}, err
	}
	defer func() { _ = r.Close() }()
	return r.Stats(), probeRead(r, f)
}

// childMemlock reads with next to no memory that may be locked; root is exempt
// from that limit by a capability, so that goes first.
func childMemlock(string) error {
	lim := unix.Rlimit{Cur: 64 << 10, Max: 64 << 10}
	if err := unix.Setrlimit(unix.RLIMIT_MEMLOCK, &lim); err != nil {
		return err
	}
	if err := dropCapability(unix.CAP_IPC_LOCK); err != nil {
		return err
	}
	arena, err := unix.Mmap(-1, 0, 64<<20, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_ANON|unix.MAP_PRIVATE)
	if err != nil {
		return err
	}
	s, err := readBack(Config{Backend: "uring", Depth: 256, Arena: arena})
	if err == nil && s.FixedBuffers {
		err = errors.New("64 MiB are locked under a limit of 64 KiB")
	}
	fmt.Printf("%+v\n", s)
	return err
}

func dropCapability(c int) error {
	h := unix.CapUserHeader{Version: unix.LINUX_CAPABILITY_VERSION_3}
	var d [2]unix.CapUserData
	if err := unix.Capget(&h, &d[0]); err != nil {
		return err
	}
	d[c/32].Effective &^= 1 << (c % 32)
	return unix.Capset(&h, &d[0])
}

func TestSmallMemlockLimit(t *testing.T) {
	require.Contains(t, child(t, "memlock"), "FixedBuffers:false")
}

// seccompCases are what a sandbox may do to io_uring: which call, which errno.
var seccompCases = map[string]struct {
	call  uintptr
	errno unix.Errno
}{
	"setup EPERM":    {unix.SYS_IO_URING_SETUP, unix.EPERM},
	"setup ENOSYS":   {unix.SYS_IO_URING_SETUP, unix.ENOSYS},
	"setup ENOMEM":   {unix.SYS_IO_URING_SETUP, unix.ENOMEM},
	"enter EPERM":    {unix.SYS_IO_URING_ENTER, unix.EPERM},
	"register EPERM": {unix.SYS_IO_URING_REGISTER, unix.EPERM},
}

// childSeccomp forbids itself a call, and tries both a forced ring and auto.
func childSeccomp(name string) error {
	c, ok := seccompCases[name]
	if !ok {
		return fmt.Errorf("no case %q", name)
	}
	if err := forbid(c.call, c.errno); err != nil {
		return err
	}
	_, err := readBack(Config{Backend: "uring"})
	fmt.Println("forced:", err, errors.Is(err, ErrUnsupported), errors.Is(err, c.errno))
	for range 3 {
		s, err := readBack(Config{Depth: 16})
		if err != nil {
			return err
		}
		fmt.Println("auto:", s.Backend, s.FixedFiles)
	}
	return nil
}

// forbid installs a seccomp filter: the call fails with errno.
func forbid(call uintptr, errno unix.Errno) error {
	filter := []unix.SockFilter{
		{Code: unix.BPF_LD | unix.BPF_W | unix.BPF_ABS, K: 0}, // the call's number
		{Code: unix.BPF_JMP | unix.BPF_JEQ | unix.BPF_K, Jt: 0, Jf: 1, K: uint32(call)},
		{Code: unix.BPF_RET | unix.BPF_K, K: unix.SECCOMP_RET_ERRNO | uint32(errno)},
		{Code: unix.BPF_RET | unix.BPF_K, K: unix.SECCOMP_RET_ALLOW},
	}
	prog := unix.SockFprog{Len: uint16(len(filter)), Filter: &filter[0]}
	if err := unix.Prctl(unix.PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0); err != nil {
		return err
	}
	_, _, e := unix.Syscall(unix.SYS_SECCOMP, unix.SECCOMP_SET_MODE_FILTER, unix.SECCOMP_FILTER_FLAG_TSYNC, uintptr(unsafe.Pointer(&prog)))
	if e != 0 {
		return e
	}
	return nil
}

func TestSeccomp(t *testing.T) {
	for name, c := range seccompCases {
		t.Run(name, func(t *testing.T) {
			out := child(t, "seccomp:"+name)
			if c.call == unix.SYS_IO_URING_REGISTER {
				require.Contains(t, out, "forced: <nil>")
				require.Equal(t, 3, strings.Count(out, "auto: uring false"), out)
				return
			}
			require.Contains(t, out, "true true", "ErrUnsupported, and the errno")
			require.Contains(t, out, "pread backend", "a remedy")
			require.Equal(t, 3, strings.Count(out, "auto: pread"), out)
			require.Equal(t, 1, strings.Count(out, "level=WARN")+strings.Count(out, " WARN "), out)
		})
	}
}
