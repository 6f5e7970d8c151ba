package serve

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"log/slog"
	"math"
	"time"

	"github.com/apache/arrow/go/v17/arrow/flight"
	"github.com/apache/arrow/go/v17/arrow/memory"
	"google.golang.org/grpc"
	"google.golang.org/grpc/health"
	healthpb "google.golang.org/grpc/health/grpc_health_v1"
	"google.golang.org/grpc/keepalive"

	"github.com/aether-ooc/aether-ooc/engine"
)

// Engine is what is served; *engine.Engine is one.
type Engine interface {
	Batches(ctx context.Context, r engine.Request) iter.Seq2[*engine.Batch, error]
	NumBatches(r engine.Request) (int64, error)
	Lookup(ctx context.Context, originals []int64) ([]engine.NodeID, error)
	Info() engine.Info
	Stats() engine.Stats
}

// Config says what is served, and where. Engine and Listen are needed; of the
// rest the zero value is a good one.
type Config struct {
	Engine Engine // stays open, and the caller's, after Run
	Listen string // unix:///path

	// IdleTimeout ends the server when no client has had a request open for
	// so long; 0: never.
	IdleTimeout time.Duration

	// Grace is how long running requests may go on after the context of Run
	// has ended; 0: DefaultGrace.
	Grace time.Duration

	UploadBytes int64         // bound on all uploaded seed lists; 0: DefaultUploadBytes
	UploadIdle  time.Duration // an unused list is dropped after so long; 0: DefaultUploadIdle

	Version string       // of the program, for info
	Ready   func()       // called once, when clients can connect
	Log     *slog.Logger // nil: slog.Default

	mem memory.Allocator // of the slabs; tests count what it has given
}

// What Config's zero values stand for.
const (
	DefaultGrace       = 5 * time.Second
	DefaultUploadBytes = 256 << 20
	DefaultUploadIdle  = 10 * time.Minute
)

// Why is the reason for which a server ended.
type Why string

const (
	Stopped Why = "stopped" // its context ended
	Idle    Why = "idle"    // no client wanted anything
)

// Result is what a server did.
type Result struct {
	Why Why `json:"why"`
	Counters
}

func (c Config) complete() (Config, error) {
	if c.Grace == 0 {
		c.Grace = DefaultGrace
	}
	if c.UploadBytes == 0 {
		c.UploadBytes = DefaultUploadBytes
	}
	if c.UploadIdle == 0 {
		c.UploadIdle = DefaultUploadIdle
	}
	if c.Log == nil {
		c.Log = slog.Default()
	}
	if c.mem == nil {
		c.mem = memory.NewGoAllocator()
	}
	if c.IdleTimeout < 0 || c.Grace < 0 || c.UploadIdle < 0 || c.UploadBytes < 0 {
		return c, errors.New("serve: a time or a size in the configuration is negative: give 0 for the default, or more")
	}
	return c, nil
}

// Run serves until ctx ends or the server has been idle for long enough; both
// are no error. It returns when nothing of it is left.
func Run(ctx context.Context, c Config) (Result, error) {
	c, err := c.complete()
	if err != nil {
		return Result{}, err
	}
	path, err := socketPath(c.Listen)
	if err != nil {
		return Result{}, err
	}
	s, err := newServer(c)
	if err != nil {
		return Result{}, err
	}
	lis, err := listen(ctx, path)
	if err != nil {
		return Result{}, err
	}
	why, err := s.serve(ctx, lis)
	return Result{Why: why, Counters: s.counters.snapshot()}, errors.Join(err, lis.remove())
}

// grpcSide is the gRPC side of a server.
type grpcSide struct {
	*grpc.Server
	health *health.Server
	failed chan error // what Serve returned
}

// start begins to accept clients.
func (s *server) start(lis *socket) *grpcSide {
	h := &grpcSide{Server: grpc.NewServer(s.options()...), health: health.NewServer(), failed: make(chan error, 1)}
	flight.RegisterFlightServiceServer(h.Server, s)
	healthpb.RegisterHealthServer(h.Server, h.health)
	go func() { h.failed <- h.Serve(lis) }()
	return h
}

const (
	// ticketBytes is room for a message beside the ids of an upload.
	ticketBytes = 1 << 20
	// writeBuffer holds a few of HTTP/2's 16 KiB frames for one system call.
	writeBuffer = 256 << 10
)

func (s *server) options() []grpc.ServerOption {
	return []grpc.ServerOption{
		grpc.ForceServerCodecV2(newCodec()),
		grpc.MaxRecvMsgSize(int(min(s.UploadBytes+ticketBytes, math.MaxInt32))),
		grpc.MaxSendMsgSize(math.MaxInt32),
		grpc.WriteBufferSize(writeBuffer),
		grpc.WaitForHandlers(true),
		grpc.ChainUnaryInterceptor(s.activity.unary),
		grpc.ChainStreamInterceptor(s.activity.stream),
		// Clients may ping as often as they like: gRPC would hang up on them.
		grpc.KeepaliveEnforcementPolicy(keepalive.EnforcementPolicy{MinTime: time.Second, PermitWithoutStream: true}),
	}
}

// serve runs the server on lis until it is to end, and ends it.
func (s *server) serve(ctx context.Context, lis *socket) (Why, error) {
	h := s.start(lis)
	if s.Ready != nil {
		s.Ready()
	}
	why, err := s.watch(ctx, h)
	s.Log.Info("ending", "why", why)
	s.shut(h)
	return why, err
}

// watch waits for a reason to end.
func (s *server) watch(ctx context.Context, h *grpcSide) (Why, error) {
	idle := time.NewTimer(s.IdleTimeout)
	defer idle.Stop()
	if s.IdleTimeout == 0 {
		idle.Stop()
	}
	sweep := time.NewTicker(max(s.UploadIdle/2, time.Millisecond))
	defer sweep.Stop()
	for {
		select {
		case <-ctx.Done():
			return Stopped, nil
		case err := <-h.failed:
			return Stopped, fmt.Errorf("serve: accepting clients on %s: %w", s.Listen, err)
		case now := <-sweep.C:
			s.uploads.expire(now.Add(-s.UploadIdle))
		case now := <-idle.C:
			left := s.activity.wait(now, s.IdleTimeout)
			if left == 0 {
				return Idle, nil
			}
			idle.Reset(left)
		}
	}
}

// farewell is how long requests that have been told to end may take to tell
// their clients.
const farewell = time.Second

// shut lets running requests go on for the grace period, then tells them to
// end, then hangs up.
func (s *server) shut(h *grpcSide) {
	h.health.Shutdown()
	gone := make(chan struct{})
	go func() {
		h.GracefulStop()
		close(gone)
	}()
	for _, step := range []struct {
		patience time.Duration
		then     func()
	}{{s.Grace, func() { s.stop(errStopping) }}, {farewell, h.Stop}} {
		select {
		case <-gone:
			s.stop(errStopping)
			return
		case <-time.After(step.patience):
			step.then()
		}
	}
	<-gone
}
