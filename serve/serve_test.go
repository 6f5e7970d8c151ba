package serve_test

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/apache/arrow/go/v17/arrow/flight"
	"github.com/apache/arrow/go/v17/arrow/memory"
	"github.com/stretchr/testify/require"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials/insecure"
	healthpb "google.golang.org/grpc/health/grpc_health_v1"
	"google.golang.org/grpc/status"

	"github.com/aether-ooc/aether-ooc/arrowbatch"
	"github.com/aether-ooc/aether-ooc/engine"
	"github.com/aether-ooc/aether-ooc/internal/base"
	"github.com/aether-ooc/aether-ooc/layout"
	"github.com/aether-ooc/aether-ooc/sampler"
	"github.com/aether-ooc/aether-ooc/serve"
)

var ctx = context.Background()

func code(err error) string {
	s, _ := status.FromError(err)
	return s.Code().String()
}

func TestBatchesAreTheEngines(t *testing.T) {
	s := start(t, newFake(t), nil)
	c := s.dial(t)
	for name, one := range map[string]struct {
		change func(*serve.Ticket)
		want   engine.Request
	}{
		"defaults": {func(*serve.Ticket) {}, engine.Request{BatchSize: 1024, EdgeIDs: true, Features: true, Attrs: []string{"y"}}},
		"bare": {func(t *serve.Ticket) { t.EdgeIDs, t.Features, t.NodeAttrs, t.BatchSize = false, false, []string{}, 300 },
			engine.Request{BatchSize: 300}},
		"list": {func(t *serve.Ticket) {
			t.Nodes, t.BatchSize, t.Seed, t.Epoch = serve.Nodes{List: []base.NodeID{5, 5, 7}}, 2, 1<<63, 1<<64-1
		},
			engine.Request{Nodes: []base.NodeID{5, 5, 7}, BatchSize: 2, Seed: 1 << 63, Epoch: 1<<64 - 1, EdgeIDs: true, Features: true, Attrs: []string{"y"}}},
		"none": {func(t *serve.Ticket) { t.Nodes = serve.Nodes{List: []base.NodeID{}} },
			engine.Request{Nodes: []base.NodeID{}, BatchSize: 1024}},
	} {
		ticket := serve.NewTicket(25, 10)
		one.change(&ticket)
		got, err := collect(ctx, c, ticket)
		require.NoError(t, err, name)
		require.Equal(t, s.expect(t, one.want), got, name)
	}
}

func TestStreamWithoutBatchesHasItsSchema(t *testing.T) {
	s := start(t, newFake(t), nil)
	c := s.dial(t)
	ticket := serve.NewTicket(1)
	ticket.Nodes = serve.Nodes{List: []base.NodeID{}}
	schema, err := c.Schema(ctx, ticket)
	require.NoError(t, err)
	want, err := arrowbatch.Schema(s.Info(), engine.Request{EdgeIDs: true, Features: true, Attrs: []string{"y"}})
	require.NoError(t, err)
	require.True(t, want.Equal(schema))
	raw := rawClient(t, s)
	text, err := json.Marshal(ticket)
	require.NoError(t, err)
	stream, err := raw.DoGet(ctx, &flight.Ticket{Ticket: text})
	require.NoError(t, err)
	r, err := flight.NewRecordReader(stream)
	require.NoError(t, err)
	defer r.Release()
	require.True(t, want.Equal(r.Schema()))
	require.False(t, r.Next())
	require.NoError(t, r.Err())
}

// connection is a plain gRPC connection to the server.
func connection(t testing.TB, s *served) *grpc.ClientConn {
	conn, err := grpc.NewClient(s.listen, grpc.WithTransportCredentials(insecure.NewCredentials()))
	require.NoError(t, err)
	t.Cleanup(func() { conn.Close() })
	return conn
}

func rawClient(t testing.TB, s *served) flight.Client {
	return flight.NewClientFromConn(connection(t, s), nil)
}

func TestErrorsHaveTheirCodes(t *testing.T) {
	f := newFake(t)
	s := start(t, f, nil)
	c := s.dial(t)
	ticket := serve.NewTicket(5)
	for _, one := range []struct {
		err  error
		want codes.Code
	}{
		{&layout.CorruptError{}, codes.DataLoss},
		{fmt.Errorf("seed: %w", sampler.ErrUnknownNode), codes.OutOfRange},
		{fmt.Errorf("hop 2: %w", sampler.ErrTooLarge), codes.ResourceExhausted},
		{fmt.Errorf("need 8 GiB: %w", engine.ErrOverBudget), codes.ResourceExhausted},
		{engine.ErrClosed, codes.Unavailable},
		{errFake, codes.Internal},
		{fmt.Errorf("%s%w", strings.Repeat("é", 5000), errFake), codes.Internal},
	} {
		for _, f.failAt = range []int64{0, 1} {
			f.fail = one.err
			ticket.BatchSize = fakeNodes / 2
			got, err := collect(ctx, c, ticket)
			require.Len(t, got, int(f.failAt))
			require.Equal(t, one.want.String(), code(err))
			text := one.err.Error()
			require.ErrorContains(t, err, text[:min(len(text), 1998)])
		}
	}
}

func TestRequestErrorsNameTheTicketsField(t *testing.T) {
	f := newFake(t)
	c := start(t, f, nil).dial(t)
	for field, name := range map[string]string{"BatchSize": "batch_size", "Nodes[17]": "nodes[17]", "Attrs": "node_attrs", "First": "first"} {
		f.fail = fmt.Errorf("engine: %w", &engine.RequestError{Field: field, Value: -3, Why: "give more"})
		_, err := collect(ctx, c, serve.NewTicket(5))
		require.Equal(t, codes.InvalidArgument.String(), code(err))
		require.ErrorContains(t, err, "= "+name+" is -3: give more")
	}
}

func TestBadTicketsAreRefused(t *testing.T) {
	s := start(t, newFake(t), nil)
	raw := rawClient(t, s)
	for text, want := range map[string]codes.Code{
		``:                                      codes.InvalidArgument,
		`null`:                                  codes.InvalidArgument,
		`[]`:                                    codes.InvalidArgument,
		`{}`:                                    codes.InvalidArgument,
		`{"version": 2, "fanouts": [1]}`:        codes.InvalidArgument,
		`{"version": 1}`:                        codes.InvalidArgument,
		`{"version": 1, "fanouts": null}`:       codes.InvalidArgument,
		`{"version": 1, "fanouts": [null]}`:     codes.InvalidArgument,
		`{"version": 1, "fanouts": [1.5]}`:      codes.InvalidArgument,
		`{"version": 1, "fanouts": [1], "a":1}`: codes.InvalidArgument,
		`{"version": 1, "fanouts": [1]} {}`:     codes.InvalidArgument,
		`{"version": 1, "fanouts": [1], "nodes": "some"}`:                              codes.InvalidArgument,
		`{"version": 1, "fanouts": [1], "nodes": null}`:                                codes.InvalidArgument,
		`{"version": 1, "fanouts": [1], "nodes": [null]}`:                              codes.InvalidArgument,
		`{"version": 1, "fanouts": [1], "nodes": [0.5]}`:                               codes.InvalidArgument,
		`{"version": 1, "fanouts": [1], "nodes": [[1]]}`:                               codes.InvalidArgument,
		`{"version": 1, "fanouts": [1], "nodes": 7}`:                                   codes.InvalidArgument,
		`{"version": 1, "fanouts": [1], "nodes": {"upload": "abc"}}`:                   codes.InvalidArgument,
		`{"version": 1, "fanouts": [1], "nodes": {"file": "/etc/passwd"}}`:             codes.InvalidArgument,
		`{"version": 1, "fanouts": [1], "nodes": [-1]}`:                                codes.OutOfRange,
		`{"version": 1, "fanouts": [1], "nodes": [1000]}`:                              codes.OutOfRange,
		`{"version": 1, "fanouts": [1], "batch_size": 0}`:                              codes.InvalidArgument,
		`{"version": 1, "fanouts": [1], "seed": -1}`:                                   codes.InvalidArgument,
		`{"version": 1, "fanouts": [1], "seed": 18446744073709551616}`:                 codes.InvalidArgument,
		`{"version": 1, "fanouts": [1], "uneven": "odd"}`:                              codes.InvalidArgument,
		`{"version": 1, "fanouts": [1], "fingerprint": "zz"}`:                          codes.InvalidArgument,
		`{"version": 1, "fanouts": [1], "content_id": "0"}`:                            codes.InvalidArgument,
		`{"version": 1, "fanouts": [1], "generator": 1}`:                               codes.InvalidArgument,
		`{"version": 1, "fanouts": [1], "node_attrs": ["z"]}`:                          codes.InvalidArgument,
		`{"version": 1, "fanouts": [1], "fingerprint": "` + zeros(32) + `"}`:           codes.FailedPrecondition,
		`{"version": 1, "fanouts": [1], "content_id": "` + fakePrint.String() + `"}`:   codes.FailedPrecondition,
		`{"version": 1, "fanouts": [1], "nodes": {"upload": "` + zeros(64) + `"}}`:     codes.NotFound,
		`{"version": 1, "fanouts": [1], "fingerprint": "` + fakePrint.String() + `"}`:  codes.OK,
		`{"version": 1, "fanouts": [1], "content_id": "` + fakeContent.String() + `"}`: codes.OK,
	} {
		stream, err := raw.DoGet(ctx, &flight.Ticket{Ticket: []byte(text)})
		require.NoError(t, err)
		_, err = stream.Recv()
		require.Equal(t, want.String(), code(err), text)
		_, err = raw.GetSchema(ctx, &flight.FlightDescriptor{Cmd: []byte(text)})
		require.Equal(t, want.String(), code(err), text)
		_, err = raw.GetFlightInfo(ctx, &flight.FlightDescriptor{Cmd: []byte(text)})
		require.Equal(t, want.String(), code(err), text)
		for _, name := range []string{"num_batches", "schema"} {
			answer, err := raw.DoAction(ctx, &flight.Action{Type: name, Body: []byte(text)})
			require.NoError(t, err)
			_, err = answer.Recv()
			require.Equal(t, want.String(), code(err), text)
		}
	}
}

func zeros(n int) string { return strings.Repeat("0", n) }

func TestActions(t *testing.T) {
	s := start(t, newFake(t), func(c *serve.Config) { c.IdleTimeout = time.Hour })
	c := s.dial(t)
	info, err := c.Info(ctx)
	require.NoError(t, err)
	file, err := os.Stat(s.path)
	require.NoError(t, err)
	require.Equal(t, serve.Info{
		Protocol: 1, Version: "1.2.3", PID: os.Getpid(), IdleSeconds: 3600, BudgetBytes: 1 << 30,
		Device: uint64(file.Sys().(*syscall.Stat_t).Dev), Inode: file.Sys().(*syscall.Stat_t).Ino,
		Info: s.Info(),
	}, info)

	ticket := serve.NewTicket(3, 3)
	ticket.BatchSize = 300
	n, err := c.NumBatches(ctx, ticket)
	require.NoError(t, err)
	require.Equal(t, serve.NumBatches{Batches: 4, Seeds: fakeNodes}, n)

	nodes, err := c.Lookup(ctx, []int64{70, 0, 70})
	require.NoError(t, err)
	require.Equal(t, []engine.NodeID{7, 0, 7}, nodes)
	_, err = c.Lookup(ctx, []int64{70, 71})
	require.Equal(t, codes.OutOfRange.String(), code(err))

	_, err = collect(ctx, c, ticket)
	require.NoError(t, err)
	eventually(t, "the stream is counted", func() bool {
		stats, err := c.Stats(ctx)
		require.NoError(t, err)
		require.EqualValues(t, 4, stats.Server.Batches)
		require.NotZero(t, stats.Server.Bytes)
		return stats.Server.Streams == 1 && stats.Server.OpenStreams == 0
	})
	answer, err := rawClient(t, s).DoAction(ctx, &flight.Action{Type: "shutdown"})
	require.NoError(t, err)
	_, err = answer.Recv()
	require.Equal(t, codes.InvalidArgument.String(), code(err))
}

func TestGenericClients(t *testing.T) {
	s := start(t, newFake(t), nil)
	raw := rawClient(t, s)
	list, err := raw.ListActions(ctx, &flight.Empty{})
	require.NoError(t, err)
	var names []string
	for a, err := list.Recv(); err == nil; a, err = list.Recv() {
		names = append(names, a.Type)
	}
	require.Equal(t, []string{"info", "stats", "num_batches", "schema", "lookup"}, names)

	ticket := []byte(`{"version": 1, "fanouts": [2], "batch_size": 10}`)
	info, err := raw.GetFlightInfo(ctx, &flight.FlightDescriptor{Type: flight.DescriptorCMD, Cmd: ticket})
	require.NoError(t, err)
	require.EqualValues(t, 100, info.TotalRecords)
	schema, err := flight.DeserializeSchema(info.Schema, memory.DefaultAllocator)
	require.NoError(t, err)
	stream, err := raw.DoGet(ctx, info.Endpoint[0].Ticket)
	require.NoError(t, err)
	r, err := flight.NewRecordReader(stream)
	require.NoError(t, err)
	defer r.Release()
	require.True(t, schema.Equal(r.Schema()))
	rows := 0
	for r.Next() {
		rows++
	}
	require.Equal(t, 100, rows)

	health, err := healthpb.NewHealthClient(connection(t, s)).Check(ctx, &healthpb.HealthCheckRequest{})
	require.NoError(t, err)
	require.Equal(t, healthpb.HealthCheckResponse_SERVING, health.Status)
}

func TestManyClients(t *testing.T) {
	s := start(t, newFake(t), nil)
	var all sync.WaitGroup
	for i := range 64 {
		c := s.dial(t)
		all.Go(func() {
			ticket := serve.NewTicket(1)
			ticket.Seed, ticket.BatchSize = uint64(i), 100+i
			got, err := collect(ctx, c, ticket)
			if err != nil || strings.Join(got, "\n") != strings.Join(s.expect(t, engine.Request{
				Seed: uint64(i), BatchSize: 100 + i, EdgeIDs: true, Features: true, Attrs: []string{"y"}}), "\n") {
				t.Errorf("client %d: %d batches, %v", i, len(got), err)
			}
		})
	}
	all.Wait()
	require.EqualValues(t, 64, s.end(t).Streams)
}

func TestLeavingTheLoopFreesTheWork(t *testing.T) {
	s := start(t, newFake(t), nil)
	c := s.dial(t)
	ticket := serve.NewTicket(1)
	ticket.BatchSize = 1
	for _, err := range c.Batches(ctx, ticket) {
		require.NoError(t, err)
		break
	}
	eventually(t, "the iterator ends", func() bool { return s.open.Load() == 0 })
}

// A client that vanishes while the engine works frees the work.
func TestVanishingWhileTheEngineWorks(t *testing.T) {
	f := newFake(t)
	f.hold = make(chan struct{})
	s := start(t, f, nil)
	conn := connection(t, s)
	_, err := flight.NewClientFromConn(conn, nil).DoGet(ctx, &flight.Ticket{Ticket: []byte(`{"version": 1, "fanouts": [1]}`)})
	require.NoError(t, err)
	eventually(t, "the engine works", func() bool { return s.open.Load() == 1 })
	conn.Close()
	eventually(t, "the iterator ends", func() bool { return s.open.Load() == 0 })
}

// slowTicket asks for a hundred batches of about 72 KB, more than fits in the
// window of a client that reads nothing.
var slowTicket = &flight.Ticket{Ticket: []byte(
	`{"version": 1, "fanouts": [1], "batch_size": 1000, "nodes": [` + strings.Repeat("7,", 100*1000-1) + `7]}`)}

// slowStream opens a stream that nobody reads, and waits until it is stuck.
func slowStream(ctx context.Context, t *testing.T, s *served, conn *grpc.ClientConn) {
	_, err := flight.NewClientFromConn(conn, nil).DoGet(ctx, slowTicket)
	require.NoError(t, err)
	eventually(t, "the stream begins", func() bool { return s.made.Load() > 1 })
}

// A client that reads nothing holds up its own stream, with few batches in
// memory, and nobody else's. When it vanishes, its work is freed.
func TestSlowClientWaitsAlone(t *testing.T) {
	s := start(t, newFake(t), nil)
	s.cut = true
	conn := connection(t, s)
	slowStream(ctx, t, s, conn)
	got, err := collect(ctx, s.dial(t), serve.NewTicket(1))
	require.NoError(t, err)
	require.Len(t, got, 1)
	// One batch fills gRPC's window of 64 KiB at the client, one waits in its
	// queue, one in a blocked send.
	require.LessOrEqual(t, s.made.Load()-1, int64(4))
	require.EqualValues(t, 1, s.open.Load())
	conn.Close()
	eventually(t, "the iterator ends", func() bool { return s.open.Load() == 0 })
}

// A cancelled stream frees its work, though its connection lives on.
func TestCancelFreesTheWork(t *testing.T) {
	s := start(t, newFake(t), nil)
	s.cut = true
	conn := connection(t, s)
	ctx, cancel := context.WithCancel(ctx)
	slowStream(ctx, t, s, conn)
	cancel()
	eventually(t, "the iterator ends", func() bool { return s.open.Load() == 0 })
	_, err := healthpb.NewHealthClient(conn).Check(context.Background(), &healthpb.HealthCheckRequest{})
	require.NoError(t, err)
}

func TestRunningStreamsGetTheirGrace(t *testing.T) {
	f := newFake(t)
	f.hold = make(chan struct{})
	s := start(t, f, func(c *serve.Config) { c.Grace = time.Minute })
	c := s.dial(t)
	ticket := serve.NewTicket(1)
	ticket.BatchSize = 500
	done := make(chan error, 1)
	go func() {
		_, err := collect(ctx, c, ticket)
		done <- err
	}()
	f.hold <- struct{}{}
	s.stop()
	eventually(t, "nobody new is let in", func() bool {
		_, err := s.dial(t).Info(ctx)
		return code(err) == codes.Unavailable.String()
	})
	f.hold <- struct{}{}
	require.NoError(t, <-done)
	r := s.end(t)
	require.Equal(t, serve.Stopped, r.Why)
	require.Equal(t, []int64{2, 1, 0}, []int64{r.Batches, r.Streams, r.Failed})
}

func TestGraceEnds(t *testing.T) {
	f := newFake(t)
	f.hold = make(chan struct{})
	s := start(t, f, func(c *serve.Config) { c.Grace = time.Millisecond })
	done := make(chan error, 1)
	go func() {
		_, err := collect(ctx, s.dial(t), serve.NewTicket(1))
		done <- err
	}()
	eventually(t, "the engine works", func() bool { return s.open.Load() == 1 })
	s.stop()
	err := <-done
	require.Equal(t, codes.Unavailable.String(), code(err), err)
	require.EqualValues(t, 1, s.end(t).Failed)
}

// A client that neither reads nor leaves does not keep the server from ending.
func TestSlowClientIsLeftBehind(t *testing.T) {
	s := start(t, newFake(t), func(c *serve.Config) { c.Grace = time.Millisecond })
	s.cut = true
	slowStream(ctx, t, s, connection(t, s))
	s.end(t)
}

func TestIdleServerEnds(t *testing.T) {
	f := newFake(t)
	f.hold = make(chan struct{})
	s := start(t, f, func(c *serve.Config) { c.IdleTimeout = 30 * time.Millisecond })
	c := s.dial(t)
	done := make(chan error, 1)
	go func() {
		_, err := collect(ctx, c, serve.NewTicket(1))
		done <- err
	}()
	eventually(t, "the engine works", func() bool { return s.open.Load() == 1 })
	require.Never(t, func() bool { return len(s.result) > 0 }, 100*time.Millisecond, 5*time.Millisecond, "an open stream is no idleness")
	f.hold <- struct{}{}
	require.NoError(t, <-done)
	r := <-s.result
	s.result <- r
	require.Equal(t, serve.Idle, r.Why)
}

func TestConfigIsChecked(t *testing.T) {
	for _, c := range []serve.Config{
		{Listen: "tcp://localhost:1"}, {Listen: "/tmp/a.sock"}, {Listen: "unix://"}, {Listen: "unix:///tmp/" + strings.Repeat("a", 107)},
	} {
		c.Engine = newFake(t)
		_, err := serve.Run(ctx, c)
		require.ErrorIs(t, err, serve.ErrListen, c.Listen)
		require.ErrorIs(t, serve.CheckListen(c.Listen), serve.ErrListen)
	}
	_, err := serve.Run(ctx, serve.Config{Engine: newFake(t), Listen: address(t), Grace: -1})
	require.ErrorContains(t, err, "negative")
}
