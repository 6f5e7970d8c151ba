package bench

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"runtime"
	"slices"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/HdrHistogram/hdrhistogram-go"

	"github.com/aether-ooc/aether-ooc/uring"
)

// DeviceConfig says how to read a file at random.
type DeviceConfig struct {
	Path       string
	BlockBytes int           // size of a read; a multiple of 512
	Depth      int           // reads in flight of each lane
	Lanes      int           // threads, each with its own ring
	Backend    string        // see uring.Config
	Buffered   bool          // through the page cache; otherwise O_DIRECT
	Ramp       time.Duration // read, but not measured, first
	Runtime    time.Duration // measured
	Seed       uint64        // of the offsets
	Log        *slog.Logger
}

// Check says what is wrong with the configuration.
func (c DeviceConfig) Check() error {
	backends := append([]string{"", "auto"}, uring.Backends()...)
	switch {
	case !slices.Contains(backends, c.Backend):
		return fmt.Errorf("bench: backend %q is not known; choose one of %s", c.Backend, strings.Join(backends[1:], ", "))
	case c.BlockBytes < 512 || c.BlockBytes%512 != 0:
		return fmt.Errorf("bench: block size %d: must be a multiple of 512 bytes", c.BlockBytes)
	case c.Depth < 1 || c.Lanes < 1:
		return fmt.Errorf("bench: depth %d, lanes %d: both must be at least 1", c.Depth, c.Lanes)
	case c.Runtime <= 0 || c.Ramp < 0:
		return fmt.Errorf("bench: runtime %v, ramp %v: the runtime must be positive, the ramp not negative", c.Runtime, c.Ramp)
	}
	return nil
}

// DeviceResult is what was measured.
type DeviceResult struct {
	Path        string      `json:"path"`
	FileBytes   int64       `json:"file_bytes"`
	BlockBytes  int         `json:"block_bytes"`
	Depth       int         `json:"depth"`
	Lanes       int         `json:"lanes"`
	Backend     string      `json:"backend"`
	Direct      bool        `json:"direct"`
	Seed        uint64      `json:"seed"`
	RampSeconds float64     `json:"ramp_seconds"`
	Seconds     float64     `json:"seconds"`
	Reads       int64       `json:"reads"`
	IOPS        float64     `json:"iops"`
	BytesPerSec float64     `json:"bytes_per_second"`
	Latency     Percentiles `json:"lat_ns"`
	// AchievedDepth is Little's law: reads per second times mean latency, over all lanes.
	AchievedDepth   float64 `json:"achieved_depth"`
	Syscalls        int64   `json:"syscalls"`
	ReadsPerSyscall float64 `json:"reads_per_syscall"`
	CPUSeconds      float64 `json:"cpu_seconds"`
	PeakRSSBytes    int64   `json:"peak_rss_bytes"`
	CutShort        bool    `json:"cut_short"`
}

// Device reads blocks of a file at random, Depth of them always in flight. When
// ctx ends early the result holds what was measured until then.
func Device(ctx context.Context, c DeviceConfig) (*DeviceResult, error) {
	if err := c.Check(); err != nil {
		return nil, err
	}
	mode := uring.DirectOnly
	if c.Buffered {
		mode = uring.Buffered
	}
	file, err := uring.OpenFile(c.Path, mode)
	if err != nil {
		return nil, err
	}
	defer file.Close()
	if file.Size() < int64(c.BlockBytes) {
		return nil, fmt.Errorf("bench: %s holds %d bytes, less than one read of %d: name a larger file", c.Path, file.Size(), c.BlockBytes)
	}
	lanes, err := runLanes(ctx, c, file)
	if err != nil {
		return nil, err
	}
	return deviceResult(c, file, lanes, ctx.Err() != nil), nil
}

// runLanes runs the lanes to their end; the first error is everybody's.
func runLanes(ctx context.Context, c DeviceConfig, file *uring.File) ([]*deviceLane, error) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	lanes := make([]*deviceLane, c.Lanes)
	errs := make([]error, c.Lanes)
	var wg sync.WaitGroup
	for i := range lanes {
		lanes[i] = newDeviceLane(c, file, uint64(i))
		wg.Go(func() {
			if errs[i] = lanes[i].run(ctx, c); errs[i] != nil {
				cancel()
			}
		})
	}
	wg.Wait()
	return lanes, errors.Join(errs...)
}

// deviceLane is one thread that keeps its ring full.
type deviceLane struct {
	file    *uring.File
	block   int
	blocks  int64
	rand    *rand.Rand
	latency *hdrhistogram.Histogram

	from, to         uring.Stats
	fromTime, toTime time.Time
	fromCPU, toCPU   time.Duration
	measuring        bool
}

// maxLatency is the longest latency that a histogram can tell, one minute.
const maxLatency = int64(time.Minute)

func newDeviceLane(c DeviceConfig, f *uring.File, lane uint64) *deviceLane {
	return &deviceLane{
		file: f, block: c.BlockBytes, blocks: f.Size() / int64(c.BlockBytes),
		rand:    rand.New(rand.NewPCG(c.Seed, lane)),
		latency: hdrhistogram.New(1, maxLatency, 3),
	}
}

func (l *deviceLane) run(ctx context.Context, c DeviceConfig) (err error) {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	arena, err := syscall.Mmap(-1, 0, pageUp(c.BlockBytes)*c.Depth, syscall.PROT_READ|syscall.PROT_WRITE, syscall.MAP_ANON|syscall.MAP_PRIVATE|syscall.MAP_POPULATE)
	if err != nil {
		return fmt.Errorf("bench: buffers for depth %d: %w", c.Depth, err)
	}
	defer func() { err = errors.Join(err, syscall.Munmap(arena)) }()
	ring, err := uring.Open(uring.Config{Backend: c.Backend, Depth: c.Depth, Arena: arena, OnRead: l.record, Log: c.Log})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, ring.Close()) }()
	if err := l.fill(ring, arena, c.Depth); err != nil {
		return err
	}
	return l.turn(ctx, ring, c)
}

func pageUp(n int) int { return (n + 4095) &^ 4095 }

func (l *deviceLane) record(d time.Duration) {
	if l.measuring {
		_ = l.latency.RecordValue(min(int64(d), maxLatency)) // cannot fail below the maximum
	}
}

// fill queues the first reads, a group each, so that depth is the number of
// reads in flight and not of batches.
func (l *deviceLane) fill(ring uring.Ring, arena []byte, depth int) error {
	for i := range depth {
		at := i * pageUp(l.block)
		g := &uring.Group{Reads: []uring.Read{{File: l.file, Bufs: [][]byte{arena[at : at+l.block : at+l.block]}}}}
		if err := l.again(ring, g); err != nil {
			return err
		}
	}
	return nil
}

// again queues a group at a new place.
func (l *deviceLane) again(ring uring.Ring, g *uring.Group) error {
	g.Reads[0].Off = l.rand.Int64N(l.blocks) * int64(l.block)
	return ring.Queue(g)
}

// turn replaces every read that is done by the next until the time is up.
func (l *deviceLane) turn(ctx context.Context, ring uring.Ring, c DeviceConfig) error {
	stop := context.AfterFunc(ctx, ring.Wake)
	defer stop()
	start := time.Now()
	if c.Ramp == 0 {
		l.begin(ring, start)
	}
	for n := 0; ; n++ {
		if n%16 == 0 { // the clock costs as much as a few completions
			now := time.Now()
			if !l.measuring && now.Sub(start) >= c.Ramp {
				l.begin(ring, now)
			}
			if ctx.Err() != nil || now.Sub(start) >= c.Ramp+c.Runtime {
				l.end(ring, now)
				return nil
			}
		}
		g, err := ring.Wait()
		if err != nil {
			return err
		}
		if g == nil {
			continue
		}
		if g.Reads[0].Err != nil {
			return g.Reads[0].Err
		}
		if err := l.again(ring, g); err != nil {
			return err
		}
	}
}

func (l *deviceLane) begin(ring uring.Ring, now time.Time) {
	l.from, l.fromTime, l.fromCPU, l.measuring = ring.Stats(), now, cpuTime(syscall.RUSAGE_SELF), true
}

// end takes the closing snapshot; a lane cut short in its ramp measured nothing.
func (l *deviceLane) end(ring uring.Ring, now time.Time) {
	if !l.measuring {
		l.begin(ring, now)
	}
	l.to, l.toTime, l.toCPU, l.measuring = ring.Stats(), now, cpuTime(syscall.RUSAGE_SELF), false
}
