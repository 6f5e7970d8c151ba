package bench

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"runtime"
	"slices"
	"strings"
	"sync"
	"syscall"
	"time"
	"unsafe"

	"github.com/aether-ooc/aether-ooc/uring"
)

// DeviceConfig says how to read a file.
type DeviceConfig struct {
	Path       string
	BlockBytes int64         // size of a read; a multiple of 512
	Mix        []Portion     // sizes and how many reads have each, in place of BlockBytes
	Sequential bool          // in the file's order; otherwise at random
	Depth      int           // reads in flight of each lane
	Lanes      int           // threads, each with its own ring
	Backend    string        // see uring.Config
	Buffered   bool          // through the page cache; otherwise O_DIRECT
	Plain      bool          // do not register the buffers with the kernel
	Ramp       time.Duration // read, but not measured, first
	Runtime    time.Duration // measured
	Seed       uint64        // of the offsets and sizes
	Log        *slog.Logger
}

// Portion is one size of a mix of reads.
type Portion struct {
	Bytes  int64 `json:"bytes"`
	Weight int64 `json:"weight"`
}

// Check says what is wrong with the configuration.
func (c DeviceConfig) Check() error {
	for _, p := range c.mix() {
		if p.Bytes < 512 || p.Bytes%512 != 0 {
			return optionf("bench: block size %d: must be a multiple of 512 bytes", p.Bytes)
		}
	}
	switch {
	case c.Backend != "" && !slices.Contains(backends, c.Backend):
		return optionf("bench: backend %q is not known; choose one of %s", c.Backend, strings.Join(backends, ", "))
	case c.Depth < 1 || c.Lanes < 1:
		return optionf("bench: depth %d, lanes %d: both must be at least 1", c.Depth, c.Lanes)
	case c.Runtime <= 0 || c.Ramp < 0:
		return optionf("bench: runtime %v, ramp %v: the runtime must be positive, the ramp not negative", c.Runtime, c.Ramp)
	}
	return nil
}

// mix is the sizes to read.
func (c DeviceConfig) mix() []Portion {
	if c.Mix != nil {
		return c.Mix
	}
	return []Portion{{c.BlockBytes, 1}}
}

// largest is the size of the largest read.
func (c DeviceConfig) largest() int64 {
	var most int64
	for _, p := range c.mix() {
		most = max(most, p.Bytes)
	}
	return most
}

// runDevice reads parts of a file, Depth of them always in flight. When ctx ends
// early the result holds what was measured until then.
func runDevice(ctx context.Context, c DeviceConfig, e env) (*DeviceResult, error) {
	if err := c.Check(); err != nil {
		return nil, err
	}
	file, err := c.open()
	if err != nil {
		return nil, err
	}
	defer file.Close()
	pages := pageCacheOf(c.Path)
	lanes, series, err := runLanes(ctx, c, file, e)
	if err != nil {
		return nil, err
	}
	r := deviceResult(c, file, lanes, ctx.Err() != nil)
	r.PageCacheBytes, r.series = pages, series
	return r, nil
}

// open opens the file and sees to it that the reads fit in.
func (c DeviceConfig) open() (*uring.File, error) {
	mode := uring.DirectOnly
	if c.Buffered {
		mode = uring.Buffered
	}
	file, err := uring.OpenFile(c.Path, mode)
	if err != nil {
		return nil, err
	}
	if file.Size() < c.largest() {
		return nil, errors.Join(fmt.Errorf("bench: %s holds %d bytes, less than one read of %d: name a larger file", c.Path, file.Size(), c.largest()), file.Close())
	}
	return file, nil
}

// runLanes runs the lanes to their end; the first error is everybody's.
func runLanes(ctx context.Context, c DeviceConfig, file *uring.File, e env) ([]*deviceLane, []Point, error) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	lanes := make([]*deviceLane, c.Lanes)
	for i := range lanes {
		lanes[i] = newDeviceLane(c, file, i)
	}
	errs := make([]error, c.Lanes)
	m := watch(e, "reads", c.Ramp, func() int64 { return readsOf(lanes) })
	var wg sync.WaitGroup
	for i, l := range lanes {
		wg.Go(func() {
			if errs[i] = l.run(ctx, c); errs[i] != nil {
				cancel()
			}
		})
	}
	wg.Wait()
	return lanes, m.stop(), errors.Join(errs...)
}

func readsOf(lanes []*deviceLane) int64 {
	var n int64
	for _, l := range lanes {
		n += l.done.Load()
	}
	return n
}

// flight is one read that is kept in flight for ever: as soon as it is done, it
// is sent again to another place.
type flight struct {
	group uring.Group
	buf   []byte
	at    time.Time // when it was queued
}

func (l *deviceLane) run(ctx context.Context, c DeviceConfig) (err error) {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	stride := int(pageUp(c.largest()))
	mapped, arena, err := mapBuffers(stride * c.Depth)
	if err != nil {
		return fmt.Errorf("bench: buffers for depth %d: %w", c.Depth, err)
	}
	defer func() { err = errors.Join(err, syscall.Munmap(mapped)) }()
	ring, err := uring.Open(l.ringConfig(c, arena))
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, ring.Close()) }()
	for i := range c.Depth {
		if err := l.launch(ring, arena[i*stride:(i+1)*stride:(i+1)*stride]); err != nil {
			return err
		}
	}
	return l.turn(ctx, ring, c)
}

const hugePage = 2 << 20

// mapBuffers gives memory to read into, and the mapping that it lies in. It is in
// huge pages where the kernel has them: of small ones, which lie anywhere, the
// device gets each by itself, and a virtual disk may then do half as many reads of
// 64 KiB.
func mapBuffers(size int) (mapped, buffers []byte, err error) {
	whole := (size + hugePage - 1) &^ (hugePage - 1)
	mapped, err = syscall.Mmap(-1, 0, whole+hugePage, syscall.PROT_READ|syscall.PROT_WRITE, syscall.MAP_ANON|syscall.MAP_PRIVATE)
	if err != nil {
		return nil, nil, err
	}
	start := -uintptr(unsafe.Pointer(&mapped[0])) & (hugePage - 1)
	_ = syscall.Madvise(mapped[start:][:whole], syscall.MADV_HUGEPAGE) // refused: then they are small
	buffers = mapped[start:][:size]
	for i := 0; i < size; i += 4096 {
		buffers[i] = 0 // there before the first read
	}
	return mapped, buffers, nil
}

func (l *deviceLane) ringConfig(c DeviceConfig, arena []byte) uring.Config {
	rc := uring.Config{Backend: c.Backend, Depth: c.Depth, OnRead: l.completed, Log: c.Log}
	if !c.Plain {
		rc.Arena = arena
	}
	return rc
}

func pageUp(n int64) int64 { return (n + 4095) &^ 4095 }

// completed is told how long the kernel and the device took for a read. Reads are
// given back in the order in which they are completed, so landed finds their times
// in turn.
func (l *deviceLane) completed(d time.Duration) {
	l.kernel.put(d)
	if l.measuring {
		record(l.clat, d)
	}
}

// launch queues a read's first flight: a group each, so that depth is the number
// of reads in flight and not of groups.
func (l *deviceLane) launch(ring uring.Ring, buf []byte) error {
	f := &flight{buf: buf}
	f.group = uring.Group{Reads: []uring.Read{{File: l.file, Bufs: [][]byte{buf}}}, Tag: f}
	return l.again(ring, f, time.Now())
}

// again queues a flight to its next place.
func (l *deviceLane) again(ring uring.Ring, f *flight, now time.Time) error {
	r := &f.group.Reads[0]
	off, size := l.places.next()
	r.Off, r.Bufs[0], f.at = off, f.buf[:size], now
	return ring.Queue(&f.group)
}

// turn replaces every read that is done by the next until the time is up.
func (l *deviceLane) turn(ctx context.Context, ring uring.Ring, c DeviceConfig) error {
	stop := context.AfterFunc(ctx, ring.Wake)
	defer stop()
	start := time.Now()
	for now := start; ; {
		if !l.measuring && now.Sub(start) >= c.Ramp {
			l.begin(ring)
		}
		if ctx.Err() != nil || now.Sub(start) >= c.Ramp+c.Runtime {
			l.end(ring)
			return nil
		}
		g, err := ring.Wait()
		if err != nil {
			return err
		}
		now = time.Now() // once a read: the clock costs as much as a histogram or two
		if g == nil {
			continue
		}
		if err := l.landed(ring, g.Tag.(*flight), now); err != nil {
			return err
		}
	}
}

// landed counts a read that is done and sends it on.
func (l *deviceLane) landed(ring uring.Ring, f *flight, now time.Time) error {
	if err := f.group.Reads[0].Err; err != nil {
		return err
	}
	l.done.Add(1)
	lat, clat := now.Sub(f.at), l.kernel.take()
	if l.measuring {
		record(l.lat, lat)
		record(l.slat, lat-clat)
	}
	return l.again(ring, f, now)
}

func (l *deviceLane) begin(ring uring.Ring) {
	l.from, l.fromUsage, l.measuring = ring.Stats(), takeUsage(), true
}

// end takes the closing snapshot; a lane cut short in its ramp measured nothing.
func (l *deviceLane) end(ring uring.Ring) {
	if !l.measuring {
		l.begin(ring)
	}
	l.to, l.toUsage, l.measuring = ring.Stats(), takeUsage(), false
}

func newDeviceLane(c DeviceConfig, f *uring.File, lane int) *deviceLane {
	return &deviceLane{file: f, places: newPlaces(c, f.Size(), lane), lat: newHistogram(), clat: newHistogram(), slat: newHistogram(), kernel: times{ring: make([]time.Duration, c.Depth)}}
}
