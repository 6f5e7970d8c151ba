//go:build linux

package uring

import (
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"
)

// DefaultDepth is the depth of a ring whose Config names none, and of the cache above it.
const DefaultDepth = 256

// maxDepth leaves room for one more entry in the largest submission queue that
// the kernel makes (32,768).
const maxDepth = 16384

// Read is one read of a group: as many bytes as Bufs hold, from Off on.
type Read struct {
	File *File
	Off  int64
	Bufs [][]byte // filled in turn; for a direct file each is aligned to File.Align

	N   int   // result: bytes read, less than asked for only at the end of the file
	Err error // result: nil or an *OpError; the bytes of Bufs are then undefined
}

// want is how many bytes the read asks for.
func (r *Read) want() int {
	n := 0
	for _, b := range r.Bufs {
		n += len(b)
	}
	return n
}

// Group is the unit that is queued and waited for. It belongs to the ring from
// Queue until Wait or Poll returns it, and may be queued again afterwards.
type Group struct {
	Reads []Read
	Tag   any // the caller's own; the ring does not look at it

	next   int  // the first read that has not been begun
	left   int  // reads that are not done
	place  int  // where it stands in ring.active
	queued bool // a ring has it
}

// Ring reads groups. See the package comment for who may call what.
type Ring interface {
	// Queue hands over a group. It does not block, and may send reads to the
	// device. It fails, and leaves the group to the caller, when the ring is
	// closed or broken; what is wrong with a single read is in Read.Err later.
	Queue(g *Group) error

	// Wait sends what waits and sleeps until a group is done. It returns nil,
	// nil after a Wake, which may come late by the time of a few reads that
	// were under way. With nothing queued it sleeps until a Wake. An error
	// means that the ring is broken: only Close is left.
	Wait() (*Group, error)

	// Poll sends what waits and returns a group if one is done, else nil, nil.
	// It does not sleep and does not use up a Wake.
	Poll() (*Group, error)

	// Wake ends the Wait in progress, or else the next one. Several Wakes may
	// end only one Wait; none is lost: when a Wait returns nil, nil, all that
	// the wakers did before is visible. Any thread may call it, after Close too.
	Wake()

	// InFlight is the number of reads queued and not yet returned.
	InFlight() int

	// Stats says what the ring has done until its owner's last call. Any
	// goroutine may ask.
	Stats() Stats

	// Close waits for the reads under way; those still in the backlog are
	// given up. Groups not yet returned are the caller's again.
	Close() error
}

// Config says what ring to open. The zero value is a good one.
type Config struct {
	// Backend is one of Backends, or "auto" (the same as ""): "uring", or
	// "pread" with one warning per process where io_uring is refused. Builds
	// with the tag giouring have a backend of that name, too.
	Backend string

	// Depth is how many reads may be under way at once (1 … 16,384; 0 means
	// DefaultDepth). "pread" uses at most as many as it has threads, 64.
	Depth int

	// Arena is memory outside the Go heap that most buffers lie in. The kernel
	// then keeps it mapped, which makes reads cheaper; that counts as locked
	// memory, and is left out when refused. It must outlive the ring, and may
	// not be given back to the system (madvise) meanwhile.
	Arena []byte

	// OnRead, when set, is told how long each read took, from being sent to
	// being fetched. It is called by the ring's owner, within its calls.
	OnRead func(time.Duration)

	// Log takes warnings; nil means slog.Default.
	Log *slog.Logger
}

// backend is a way to read: open makes a driver for ops, whose length is the
// depth, at most maxDepth.
type backend struct {
	maxDepth int
	open     func(c Config, ops []op) (driver, error)
}

// backends has one entry for each backend; each lives in a file of its own.
var backends = map[string]backend{
	"uring": {maxDepth, openRings},
	"pread": {maxThreads, openThreads},
}

// Backends lists the names that Config.Backend may have, "auto" aside.
func Backends() []string { return slices.Sorted(maps.Keys(backends)) }

// Open opens a ring, which belongs to the calling goroutine; that has locked
// its thread. The error wraps ErrUnsupported when the backend that was named
// is refused here.
func Open(c Config) (Ring, error) {
	c, err := c.complete()
	if err != nil {
		return nil, err
	}
	if c.Backend == "auto" {
		return openAuto(c)
	}
	return openNamed(c)
}

func (c Config) complete() (Config, error) {
	if c.Backend == "" {
		c.Backend = "auto"
	}
	if c.Depth == 0 {
		c.Depth = DefaultDepth
	}
	if c.Log == nil {
		c.Log = slog.Default()
	}
	if _, ok := backends[c.Backend]; !ok && c.Backend != "auto" {
		return c, fmt.Errorf("uring: no backend %q; there are auto, %s", c.Backend, strings.Join(Backends(), ", "))
	}
	if c.Depth < 1 || c.Depth > maxDepth {
		return c, fmt.Errorf("uring: depth %d is not in 1 … %d", c.Depth, maxDepth)
	}
	return c, nil
}

func openNamed(c Config) (Ring, error) {
	b := backends[c.Backend]
	return newRing(c, min(c.Depth, b.maxDepth), b.open)
}

// probed is what auto knows about this process: whether io_uring reads. What may
// pass, such as having no descriptor left, is not kept.
var probed struct {
	sync.Mutex
	known  bool
	answer error
}

func probeOnce() error {
	probed.Lock()
	defer probed.Unlock()
	if probed.known {
		return probed.answer
	}
	err := Probe("")
	probed.known, probed.answer = err == nil || errors.Is(err, ErrUnsupported), err
	return err
}

// warnOnce keeps a process with many rings from saying the same many times.
var warnOnce sync.Once

func openAuto(c Config) (Ring, error) {
	err := probeOnce()
	if err == nil {
		c.Backend = "uring"
		var r Ring
		if r, err = openNamed(c); err == nil {
			return r, nil
		}
	}
	if !errors.Is(err, ErrUnsupported) {
		return nil, err
	}
	warnOnce.Do(func() { c.Log.Warn("reading with a pool of threads, which is slower", "reason", err) })
	c.Backend = "pread"
	return openNamed(c)
}
