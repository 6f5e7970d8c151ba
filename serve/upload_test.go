package serve_test

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"github.com/apache/arrow/go/v17/arrow"
	"github.com/apache/arrow/go/v17/arrow/array"
	"github.com/apache/arrow/go/v17/arrow/flight"
	"github.com/apache/arrow/go/v17/arrow/ipc"
	"github.com/apache/arrow/go/v17/arrow/memory"
	"github.com/stretchr/testify/require"
	"google.golang.org/grpc/codes"

	"github.com/aether-ooc/aether-ooc/engine"
	"github.com/aether-ooc/aether-ooc/internal/base"
	"github.com/aether-ooc/aether-ooc/serve"
)

func manyNodes(n int) []base.NodeID {
	rnd := rand.New(rand.NewPCG(1, uint64(n)))
	list := make([]base.NodeID, n)
	for i := range list {
		list[i] = base.NodeID(rnd.IntN(fakeNodes))
	}
	return list
}

func TestUploadedSeeds(t *testing.T) {
	s := start(t, newFake(t), nil)
	c := s.dial(t)
	for _, n := range []int{0, 1, 3, 1<<17 + 5} {
		nodes := manyNodes(n)
		ticket := serve.NewTicket(1)
		ticket.BatchSize = 100_000
		var err error
		for range 2 { // the second is a no-op
			ticket.Nodes, err = c.Upload(ctx, nodes)
			require.NoError(t, err)
		}
		got, err := collect(ctx, c, ticket)
		require.NoError(t, err)
		require.Equal(t, s.expect(t, engine.Request{Nodes: nodes, BatchSize: 100_000, EdgeIDs: true, Features: true, Attrs: []string{"y"}}), got)
	}
	stats, err := c.Stats(ctx)
	require.NoError(t, err)
	require.EqualValues(t, 8, stats.Server.Uploads)
	require.EqualValues(t, 4, stats.Server.HeldLists)
	require.EqualValues(t, 8*(0+1+3+1<<17+5), stats.Server.HeldBytes)
}

func TestUploadsAreBounded(t *testing.T) {
	f := newFake(t)
	f.hold = make(chan struct{})
	s := start(t, f, func(c *serve.Config) { c.UploadBytes = 8 * 1000 })
	c := s.dial(t)
	ticket := serve.NewTicket(1)
	var err error
	ticket.Nodes, err = c.Upload(ctx, manyNodes(600))
	require.NoError(t, err)

	ctx, cancel := context.WithCancel(ctx)
	done := make(chan error, 1)
	go func() {
		_, err := collect(ctx, c, ticket)
		done <- err
	}()
	eventually(t, "the list is in use", func() bool { return s.open.Load() == 1 })
	_, err = c.Upload(ctx, manyNodes(500)) // no room beside it
	require.Equal(t, codes.ResourceExhausted.String(), code(err), err)
	_, err = c.Upload(ctx, manyNodes(400))
	require.NoError(t, err)
	cancel()
	require.Error(t, <-done)

	eventually(t, "its room is free", func() bool {
		_, err = c.Upload(context.Background(), manyNodes(900))
		return err == nil
	})
	_, err = collect(context.Background(), c, ticket)
	require.Equal(t, codes.NotFound.String(), code(err))
	require.ErrorContains(t, err, "upload")
	_, err = c.Upload(context.Background(), manyNodes(1001))
	require.Equal(t, codes.ResourceExhausted.String(), code(err))
	_, err = c.Upload(context.Background(), manyNodes(1<<20)) // more than a message may have
	require.Equal(t, codes.ResourceExhausted.String(), code(err))
}

func TestIdleUploadsAreDropped(t *testing.T) {
	s := start(t, newFake(t), func(c *serve.Config) { c.UploadIdle = 20 * time.Millisecond })
	c := s.dial(t)
	_, err := c.Upload(ctx, manyNodes(5))
	require.NoError(t, err)
	eventually(t, "the list is dropped", func() bool {
		stats, err := c.Stats(ctx)
		require.NoError(t, err)
		return stats.Server.HeldLists == 0 && stats.Server.HeldBytes == 0
	})
}

// put sends a column under a command, as a stranger might.
func put(t *testing.T, c flight.Client, command string, name string, col arrow.Array) error {
	stream, err := c.DoPut(ctx)
	require.NoError(t, err)
	schema := arrow.NewSchema([]arrow.Field{{Name: name, Type: col.DataType(), Nullable: true}}, nil)
	w := flight.NewRecordWriter(stream, ipc.WithSchema(schema))
	w.SetFlightDescriptor(&flight.FlightDescriptor{Type: flight.DescriptorCMD, Cmd: []byte(command)})
	rec := array.NewRecord(schema, []arrow.Array{col}, int64(col.Len()))
	defer rec.Release()
	err = errors.Join(w.Write(rec), w.Close(), stream.CloseSend())
	if err != nil {
		require.ErrorIs(t, err, io.EOF)
	}
	for {
		if _, err = stream.Recv(); err != nil {
			return err
		}
	}
}

// The SHA-256 of the ids 1, 2.
const oneTwo = "0c730b69905c5ef7a4ca5269f72365400bde2dd2c04eaf9bbb3d1c4a265a0131"

func TestBadUploadsAreRefused(t *testing.T) {
	s := start(t, newFake(t), nil)
	raw := rawClient(t, s)
	ints := func(text string) arrow.Array { return column(t, arrow.PrimitiveTypes.Int64, text) }
	good := `{"version": 1, "upload": "` + oneTwo + `"}`
	for _, one := range []struct {
		command, name string
		col           arrow.Array
		want          codes.Code
	}{
		{``, "nodes", ints(`[1, 2]`), codes.InvalidArgument},
		{`{}`, "nodes", ints(`[1, 2]`), codes.InvalidArgument},
		{`{"version": 1, "upload": "abc"}`, "nodes", ints(`[1, 2]`), codes.InvalidArgument},
		{`{"version": 1, "upload": "` + strings.ToUpper(oneTwo) + `"}`, "nodes", ints(`[1, 2]`), codes.InvalidArgument},
		{`{"version": 2, "upload": "` + oneTwo + `"}`, "nodes", ints(`[1, 2]`), codes.InvalidArgument},
		{`{"version": 1, "upload": "` + zeros(64) + `"}`, "nodes", ints(`[1, 2]`), codes.InvalidArgument},
		{good, "ids", ints(`[1, 2]`), codes.InvalidArgument},
		{good, "nodes", column(t, arrow.PrimitiveTypes.Float64, `[1, 2]`), codes.InvalidArgument},
		{good, "nodes", ints(`[1, null]`), codes.InvalidArgument},
		{good, "nodes", ints(`[1, -2]`), codes.OutOfRange},
		{good, "nodes", ints(`[1, 2]`), codes.OK},
	} {
		err := put(t, raw, one.command, one.name, one.col)
		if one.want == codes.OK {
			require.ErrorIs(t, err, io.EOF)
		} else {
			require.Equal(t, one.want.String(), code(err), "%v", one)
		}
		one.col.Release()
	}
	stats, err := s.dial(t).Stats(ctx)
	require.NoError(t, err)
	require.EqualValues(t, 16, stats.Server.HeldBytes)
}

func column(t *testing.T, kind arrow.DataType, text string) arrow.Array {
	col, _, err := array.FromJSON(memory.DefaultAllocator, kind, strings.NewReader(text))
	require.NoError(t, err)
	return col
}

func TestTheNoteOnAnUpload(t *testing.T) {
	s := start(t, newFake(t), nil)
	stream, err := rawClient(t, s).DoPut(ctx)
	require.NoError(t, err)
	schema := arrow.NewSchema([]arrow.Field{{Name: "nodes", Type: arrow.PrimitiveTypes.Int64}}, nil)
	w := flight.NewRecordWriter(stream, ipc.WithSchema(schema))
	w.SetFlightDescriptor(&flight.FlightDescriptor{Cmd: []byte(`{"version": 1, "upload": "` + oneTwo + `"}`)})
	col := column(t, arrow.PrimitiveTypes.Int64, `[1, 2]`)
	defer col.Release()
	rec := array.NewRecord(schema, []arrow.Array{col}, 2)
	defer rec.Release()
	require.NoError(t, errors.Join(w.Write(rec), w.Close(), stream.CloseSend()))
	note, err := stream.Recv()
	require.NoError(t, err)
	var stored serve.Stored
	require.NoError(t, json.Unmarshal(note.AppMetadata, &stored))
	require.Equal(t, serve.Stored{Upload: oneTwo, Seeds: 2}, stored)
}
