//go:build linux

package serve_test

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/apache/arrow/go/v17/arrow"
	"github.com/apache/arrow/go/v17/arrow/array"
	"github.com/apache/arrow/go/v17/arrow/flight"
	"github.com/stretchr/testify/require"
	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"

	"github.com/aether-ooc/aether-ooc/engine"
	"github.com/aether-ooc/aether-ooc/ingest"
	"github.com/aether-ooc/aether-ooc/internal/base"
	"github.com/aether-ooc/aether-ooc/internal/npy"
	"github.com/aether-ooc/aether-ooc/serve"
)

const scale = 10 // of the real graph: 1,024 nodes, 16,384 edges

// realEngine opens an RMAT graph with features, a label and a mask.
func realEngine(t testing.TB) *engine.Engine {
	dir := t.TempDir()
	file := func(name string) string { return filepath.Join(dir, name) }
	_, err := ingest.RMAT(ctx, ingest.RMATConfig{Scale: scale, EdgeFactor: 16, Seed: 3, Out: file("edges.npy")})
	require.NoError(t, err)
	noise(t, file("x.npy"), "float32", 4, 1<<scale, 6)
	noise(t, file("y.npy"), "int64", 8, 1<<scale)
	noise(t, file("mask.npy"), "bool", 1, 1<<scale)
	_, err = ingest.Run(ctx, ingest.Config{
		Input: file("edges.npy"), Out: file("graph.bin"), NumNodes: 1 << scale, Features: file("x.npy"),
		NodeAttrs: []ingest.NodeAttr{{Name: "y", Path: file("y.npy")}, {Name: "train", Path: file("mask.npy")}},
	})
	require.NoError(t, err)
	e, err := engine.Open(file("graph.bin"), engine.Options{Memory: 64 << 20, Log: quiet})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, e.Close()) })
	return e
}

// noise writes an array of bits that are 0 or 1 in each byte.
func noise(t testing.TB, path, dtype string, size int64, shape ...int64) {
	rnd, n := rand.New(rand.NewPCG(uint64(size), 9)), size
	for _, d := range shape {
		n *= d
	}
	data := npy.AppendHeader(nil, dtype, shape)
	for range n {
		data = append(data, byte(rnd.IntN(2)))
	}
	require.NoError(t, os.WriteFile(path, data, 0o600))
}

// someTickets are requests of many kinds.
func someTickets() map[string]serve.Ticket {
	all := map[string]serve.Ticket{}
	add := func(name string, change func(*serve.Ticket)) {
		ticket := serve.NewTicket(5, 3)
		ticket.BatchSize = 100
		change(&ticket)
		all[name] = ticket
	}
	add("plain", func(*serve.Ticket) {})
	add("bare", func(t *serve.Ticket) { t.EdgeIDs, t.Features, t.NodeAttrs = false, false, []string{} })
	add("one attribute", func(t *serve.Ticket) { t.NodeAttrs = []string{"train"} })
	add("everything of two hops", func(t *serve.Ticket) {
		t.Fanouts, t.Nodes = serve.Fanouts{-1, -1}, serve.Nodes{List: []base.NodeID{1, 2, 3}}
	})
	add("seeds twice", func(t *serve.Ticket) { t.Nodes = serve.Nodes{List: []base.NodeID{7, 7, 9, 7}} })
	add("no seeds", func(t *serve.Ticket) { t.Nodes = serve.Nodes{List: []base.NodeID{}} })
	add("shuffled third rank", func(t *serve.Ticket) { t.Shuffle, t.Seed, t.Epoch, t.Rank, t.WorldSize = true, 1<<63, 5, 2, 3 })
	add("drop and a range", func(t *serve.Ticket) { t.DropLast, t.Uneven, t.First, t.Count = true, "ragged", 2, 3 })
	add("with replacement", func(t *serve.Ticket) { t.Replace = true })
	return all
}

// direct is what the engine gives in process for a ticket.
func direct(t testing.TB, e *engine.Engine, ticket serve.Ticket) (all []string) {
	r := engine.Request{
		Nodes: ticket.Nodes.List, Fanouts: ticket.Fanouts, BatchSize: ticket.BatchSize, Replace: ticket.Replace,
		EdgeIDs: ticket.EdgeIDs, Features: ticket.Features, Attrs: ticket.NodeAttrs, Seed: ticket.Seed, Epoch: ticket.Epoch,
		Shuffle: ticket.Shuffle, DropLast: ticket.DropLast, Rank: ticket.Rank, WorldSize: ticket.WorldSize,
		First: ticket.First, Count: ticket.Count,
	}
	if ticket.Uneven == "ragged" {
		r.Uneven = engine.Ragged
	}
	if r.Attrs == nil {
		r.Attrs = []string{"train", "y"}
	}
	for b, err := range e.Batches(ctx, r) {
		require.NoError(t, err)
		all = append(all, plain(b))
	}
	return all
}

func TestFlightGivesWhatTheEngineGives(t *testing.T) {
	e := realEngine(t)
	s := startOn(t, e, nil)
	c := s.dial(t)
	for name, ticket := range someTickets() {
		want := direct(t, e, ticket)
		got, err := collect(ctx, c, ticket)
		require.NoError(t, err, name)
		require.Equal(t, want, got, name)
		n, err := c.NumBatches(ctx, ticket)
		require.NoError(t, err)
		require.EqualValues(t, len(want), n.Batches, name)
	}
}

func TestTheEnginesRefusals(t *testing.T) {
	c := startOn(t, realEngine(t), nil).dial(t)
	for _, one := range []struct {
		change func(*serve.Ticket)
		want   string
		says   string
	}{
		{func(t *serve.Ticket) { t.Fanouts = serve.Fanouts{-2} }, "InvalidArgument", "fanout"},
		{func(t *serve.Ticket) { t.Fanouts = make(serve.Fanouts, 256) }, "InvalidArgument", "256"},
		{func(t *serve.Ticket) { t.BatchSize = 0 }, "InvalidArgument", "batch_size"},
		{func(t *serve.Ticket) { t.Rank = 1 }, "InvalidArgument", "rank"},
		{func(t *serve.Ticket) { t.NodeAttrs = []string{"z"} }, "InvalidArgument", "z"},
		{func(t *serve.Ticket) { t.Nodes.List = []base.NodeID{1 << scale} }, "OutOfRange", "1024"},
		{func(t *serve.Ticket) { t.Count = -1 }, "InvalidArgument", "count"},
		{func(t *serve.Ticket) { t.Fingerprint = zeros(32) }, "FailedPrecondition", zeros(32)},
		{func(t *serve.Ticket) { t.ContentID = zeros(32) }, "FailedPrecondition", "edge ids or the files beside the graph"},
		{func(t *serve.Ticket) { t.Generator = "pcg/1" }, "InvalidArgument", `generator is "pcg/1": this engine has philox4x32-10/1`},
	} {
		ticket := serve.NewTicket(5)
		one.change(&ticket)
		_, err := collect(ctx, c, ticket)
		require.Equal(t, one.want, code(err), "%v", ticket)
		require.ErrorContains(t, err, one.says)
	}
	_, err := collect(ctx, c, serve.NewTicket(5)) // and the next is served
	require.NoError(t, err)
}

// pythonClient reads tickets with pyarrow and prints, for each batch, its
// columns in hexadecimal, and whether their buffers are aligned.
const pythonClient = `
import json, sys
import pyarrow as pa
import pyarrow.flight as flight

client = flight.connect("grpc+" + sys.argv[1])
for line in sys.stdin:
    ticket = line.encode()
    schema = pa.ipc.read_schema(next(iter(client.do_action(flight.Action("schema", ticket)))).body)
    reader = client.do_get(flight.Ticket(ticket))
    assert reader.schema.equals(schema), (reader.schema, schema)
    for chunk in reader:
        batch = chunk.data
        batch.validate(full=True)
        assert batch.num_rows == 1
        row = {}
        for name, column in zip(batch.schema.names, batch.columns):
            assert column.null_count == 0
            if pa.types.is_large_list(column.type):
                values = column.flatten()
                buffer = values.buffers()[1]
                assert buffer is None or buffer.address % 8 == 0, (name, buffer.address)
                width = values.type.bit_width // 8
                row[name] = b"" if not len(values) else bytes(buffer[values.offset * width:(values.offset + len(values)) * width])
                row[name] = row[name].hex()
            else:
                row[name] = column[0].as_py()
        print(json.dumps(row))
    print("end", flush=True)
`

func TestPyarrowGetsTheSame(t *testing.T) {
	python := os.Getenv("AETHER_PYTHON")
	if python == "" {
		t.Skip("AETHER_PYTHON names no Python with pyarrow; python/tests/test_flight_pyarrow.py tests the same door")
	}
	s := startOn(t, realEngine(t), nil)
	var asked, want strings.Builder
	for _, ticket := range someTickets() {
		text, err := json.Marshal(ticket)
		require.NoError(t, err)
		fmt.Fprintf(&asked, "%s\n", text)
		want.WriteString(hexRows(t, s, ticket))
	}
	cmd := exec.CommandContext(ctx, python, "-c", pythonClient, s.listen)
	cmd.Stdin, cmd.Stderr = strings.NewReader(asked.String()), os.Stderr
	out, err := cmd.Output()
	require.NoError(t, err)
	require.Equal(t, strings.Split(want.String(), "\n"), strings.Split(string(out), "\n"))
}

// hexRows prints a stream as the Python client does.
func hexRows(t testing.TB, s *served, ticket serve.Ticket) string {
	var text strings.Builder
	for rec, err := range s.dial(t).Batches(ctx, ticket) {
		require.NoError(t, err)
		var row []string
		for i, col := range rec.Columns() {
			row = append(row, fmt.Sprintf("%q: %s", rec.ColumnName(i), hexColumn(col)))
		}
		fmt.Fprintf(&text, "{%s}\n", strings.Join(row, ", "))
	}
	return text.String() + "end\n"
}

func hexColumn(col arrow.Array) string {
	list, ok := col.(*array.LargeList)
	if !ok {
		return strings.Trim(fmt.Sprint(col), "[]")
	}
	values := list.ListValues().Data()
	return fmt.Sprintf("\"%x\"", values.Buffers()[1].Bytes()[:values.Len()*values.DataType().(arrow.FixedWidthDataType).Bytes()])
}

func TestServersLeaveNoDescriptors(t *testing.T) {
	e := realEngine(t)
	count := func() int {
		list, err := os.ReadDir("/proc/self/fd")
		require.NoError(t, err)
		return len(list)
	}
	before := 0
	for i := range 5 {
		t.Run(fmt.Sprint(i), func(t *testing.T) {
			s := startOn(t, e, nil)
			_, err := collect(ctx, s.dial(t), serve.NewTicket(3))
			require.NoError(t, err)
		})
		if i == 0 {
			before = count() // the runtime's poller has its own by now
		}
	}
	require.Equal(t, before, count())
}

// BenchmarkStream is a whole stream over the socket, as a client that only
// receives sees it: batches of about 38 MB.
func BenchmarkStream(b *testing.B) {
	f := newFake(b)
	f.wide = true
	s := startOn(b, f, nil)
	conn, err := grpc.NewClient(s.listen, grpc.WithTransportCredentials(insecure.NewCredentials()),
		grpc.WithInitialWindowSize(16<<20), grpc.WithInitialConnWindowSize(16<<20),
		grpc.WithDefaultCallOptions(grpc.MaxCallRecvMsgSize(1<<30)))
	require.NoError(b, err)
	defer conn.Close()
	for b.Loop() {
		stream, err := flight.NewClientFromConn(conn, nil).DoGet(ctx, &flight.Ticket{Ticket: []byte(`{"version": 1, "fanouts": [1], "batch_size": 100}`)})
		require.NoError(b, err)
		bytes := int64(0)
		for m, err := stream.Recv(); err == nil; m, err = stream.Recv() {
			bytes += int64(len(m.DataBody))
		}
		b.SetBytes(bytes)
	}
}
