package serve

import (
	"bytes"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"io"
	"math/rand/v2"
	"testing"

	"github.com/apache/arrow/go/v17/arrow"
	"github.com/apache/arrow/go/v17/arrow/array"
	"github.com/apache/arrow/go/v17/arrow/flight"
	"github.com/apache/arrow/go/v17/arrow/ipc"
	"github.com/apache/arrow/go/v17/arrow/memory"
	"github.com/stretchr/testify/require"
	"google.golang.org/grpc/mem"

	"github.com/aether-ooc/aether-ooc/arrowbatch"
	"github.com/aether-ooc/aether-ooc/engine"
)

// aRecord is a batch of so many nodes, with 100 float32 features each and five
// edges.
func aRecord(t testing.TB, mem memory.Allocator, nodes int) arrow.Record {
	rnd := rand.New(rand.NewPCG(1, uint64(nodes)))
	ints := func(n int) []int64 {
		list := make([]int64, n)
		for i := range list {
			list[i] = rnd.Int64()
		}
		return list
	}
	b := &engine.Batch{InputID: ints(nodes / 50)}
	b.NID, b.Row, b.Col, b.EID = ints(nodes), ints(5*nodes), ints(5*nodes), ints(5*nodes)
	b.SampledNodes, b.SampledEdges, b.Seeds = ints(3), ints(2), nodes/50
	b.X = engine.Rows{Data: make([]byte, 400*nodes), Dim: 100, DType: "float32"}
	info := engine.Info{Features: &engine.TableInfo{Dim: 100, DType: "float32"}}
	enc, err := arrowbatch.NewEncoder(info, engine.Request{EdgeIDs: true, Features: true}, mem)
	require.NoError(t, err)
	return enc.Encode(b)
}

// kept is a stream that keeps what arrow/go's own Flight writer sends.
type kept struct{ sent []*flight.FlightData }

func (k *kept) Send(d *flight.FlightData) error {
	k.sent = append(k.sent, &flight.FlightData{DataHeader: bytes.Clone(d.DataHeader), DataBody: bytes.Clone(d.DataBody)})
	return nil
}

// frames are the frames of a record, the schema's first.
func frames(t testing.TB, rec arrow.Record) []*frame {
	f := &framer{rec: rec}
	w := ipc.NewWriterWithPayloadWriter(f, ipc.WithSchema(rec.Schema()))
	require.NoError(t, w.Write(rec))
	require.NoError(t, w.Close())
	return f.take()
}

// A frame is the message that arrow/go's Flight writer would have sent, with
// zeros after the header.
func TestFramesAreFlightData(t *testing.T) {
	checked := memory.NewCheckedAllocator(memory.NewGoAllocator())
	defer checked.AssertSize(t, 0)
	for _, nodes := range []int{0, 1, 2, 5, 7, 20, 51, 300, 5000} {
		rec := aRecord(t, checked, nodes)
		var theirs kept
		w := flight.NewRecordWriter(&theirs, ipc.WithSchema(rec.Schema()))
		require.NoError(t, w.Write(rec))
		ours := frames(t, rec)
		rec.Release()
		require.Len(t, ours, 2)
		for i, f := range ours {
			require.Equal(t, f.parts.Len(), f.bytes)
			wire, err := newCodec().Marshal(f)
			require.NoError(t, err)
			var got flight.FlightData
			require.NoError(t, newCodec().Unmarshal(wire, &got))
			require.Equal(t, theirs.sent[i].DataBody, got.DataBody)
			header, pad := got.DataHeader[:len(theirs.sent[i].DataHeader)], got.DataHeader[len(theirs.sent[i].DataHeader):]
			require.Equal(t, theirs.sent[i].DataHeader, header)
			require.Equal(t, make([]byte, len(pad)), append([]byte{}, pad...))
			if n := len(got.DataBody); n > 0 {
				require.Zero(t, (f.bytes-n)%bodyAlign)
				require.Greater(t, f.bytes, http2Frame)
				require.Less(t, len(pad), http2Frame+2*bodyAlign)
			}
			wire.Free()
		}
	}
}

func TestFramesBorrow(t *testing.T) {
	rec := aRecord(t, memory.NewGoAllocator(), 5000)
	defer rec.Release()
	all := frames(t, rec)
	own := 0
	for _, p := range all[1].parts {
		if _, copied := p.(mem.SliceBuffer); copied {
			own += p.Len()
		}
	}
	require.Less(t, own, 4<<10, "bytes copied of %d", all[1].bytes)
	for _, f := range all {
		f.parts.Free()
	}
}

func TestCodecPassesOthersOn(t *testing.T) {
	wire, err := newCodec().Marshal(&flight.Ticket{Ticket: []byte("a ticket")})
	require.NoError(t, err)
	var got flight.Ticket
	require.NoError(t, newCodec().Unmarshal(wire, &got))
	require.Equal(t, "a ticket", string(got.Ticket))
	_, err = newCodec().Marshal(7)
	require.Error(t, err)
}

// stock sends as arrow/go's Flight writer does: a body, then its protobuf.
type stock struct{ codec }

func (s stock) Send(d *flight.FlightData) error {
	wire, err := s.Marshal(d)
	wire.Free()
	return err
}

// BenchmarkFraming compares what it costs to turn a record of 38 MB into the
// buffers that gRPC writes.
func BenchmarkFraming(b *testing.B) {
	rec := aRecord(b, memory.NewGoAllocator(), 72_000)
	defer rec.Release()
	b.Run("stock", func(b *testing.B) {
		w := flight.NewRecordWriter(stock{newCodec()}, ipc.WithSchema(rec.Schema()))
		for b.Loop() {
			require.NoError(b, w.Write(rec))
		}
	})
	b.Run("frame", func(b *testing.B) {
		f := &framer{rec: rec}
		w := ipc.NewWriterWithPayloadWriter(f, ipc.WithSchema(rec.Schema()))
		for b.Loop() {
			require.NoError(b, w.Write(rec))
			for _, frame := range f.take() {
				wire, err := newCodec().Marshal(frame)
				require.NoError(b, err)
				wire.Free()
			}
		}
	})
}

func FuzzParseTicket(f *testing.F) {
	for _, seed := range []string{
		`{"version": 1, "fanouts": [25, 10]}`,
		`{"version": 1, "fanouts": [-1], "nodes": "all", "seed": 18446744073709551615, "uneven": "drop"}`,
		`{"version": 1, "fanouts": [], "nodes": [1, 2, 3], "node_attrs": ["y"], "batch_size": 7}`,
		`{"version": 1, "fanouts": [0], "nodes": {"upload": "` + string(bytes.Repeat([]byte("0a"), 32)) + `"}}`,
		`{"version": 1, "fanouts": [1], "fingerprint": "` + string(bytes.Repeat([]byte("0A"), 16)) + `"}`,
		`{`, `null`, `[]`, `"all"`, ``,
	} {
		f.Add([]byte(seed))
	}
	info := engine.Info{Attrs: []engine.TableInfo{{Name: "y"}}}
	f.Fuzz(func(t *testing.T, text []byte) {
		ticket, err := ParseTicket(text)
		if err != nil {
			require.NotEmpty(t, toStatus(err).Error())
			return
		}
		r := ticket.request(info, ticket.Nodes.List)
		require.Equal(t, len(ticket.Nodes.List), len(r.Nodes))
		again, err := json.Marshal(ticket)
		require.NoError(t, err)
		back, err := ParseTicket(again)
		require.NoError(t, err)
		require.Equal(t, ticket, back)
	})
}

// sentBy is an upload's stream of one stranger's messages.
type sentBy []*flight.FlightData

func (s *sentBy) Recv() (*flight.FlightData, error) {
	if len(*s) == 0 {
		return nil, io.EOF
	}
	m := (*s)[0]
	*s = (*s)[1:]
	return m, nil
}

// uploaded are the messages in which arrow/go's Flight writer sends one column.
func uploaded(t testing.TB, name string, ids arrow.Array) []*flight.FlightData {
	schema := arrow.NewSchema([]arrow.Field{{Name: name, Type: ids.DataType(), Nullable: true}}, nil)
	rec := array.NewRecord(schema, []arrow.Array{ids}, int64(ids.Len()))
	defer rec.Release()
	var k kept
	require.NoError(t, flight.NewRecordWriter(&k, ipc.WithSchema(schema)).Write(rec))
	return k.sent
}

// FuzzReceive changes what a good upload's messages hold: any error will do, but
// nothing may break, and what is refused may hold no room.
func FuzzReceive(f *testing.F) {
	ids := array.NewInt64Builder(memory.DefaultAllocator)
	ids.AppendValues([]int64{1, 2}, nil)
	good := uploaded(f, "nodes", ids.NewArray())
	ids.AppendNull()
	nulls := uploaded(f, "nodes", ids.NewArray())
	sum := sha256.Sum256([]byte{1, 15: 0, 8: 2})
	command := fmt.Appendf(nil, `{"version": 1, "upload": "%x"}`, sum)
	f.Add(command, good[0].DataHeader, good[1].DataHeader, good[1].DataBody)
	f.Add(command, nulls[0].DataHeader, nulls[1].DataHeader, nulls[1].DataBody)
	f.Add([]byte{}, []byte{}, []byte{}, []byte{})
	f.Fuzz(func(t *testing.T, command, schema, header, body []byte) {
		s := &server{uploads: newUploads(1 << 20)}
		_, err := s.receive(&sentBy{
			{FlightDescriptor: &flight.FlightDescriptor{Cmd: command}, DataHeader: schema}, {DataHeader: header, DataBody: body},
		})
		lists, held := s.uploads.count()
		require.Equal(t, err != nil, lists == 0)
		require.LessOrEqual(t, held, int64(len(body)))
		if err != nil {
			require.Zero(t, held, "%v", err)
		}
	})
}

// A message that ends early anywhere is refused, as is one with any other
// column.
func TestUploadsOfOtherShapes(t *testing.T) {
	ids := array.NewInt64Builder(memory.DefaultAllocator)
	ids.AppendValues([]int64{1, 2}, nil)
	col := ids.NewArray()
	good := uploaded(t, "nodes", col)
	require.NoError(t, checkSchema(good[0].DataHeader))
	got, err := batchIDs(good[1].DataHeader, good[1].DataBody)
	require.NoError(t, err)
	require.Equal(t, []byte{1, 15: 0, 8: 2}, got)
	for n := range good[0].DataHeader {
		_ = checkSchema(good[0].DataHeader[:n]) // the end of a message may be unused
		_, _ = batchIDs(good[1].DataHeader[:min(n, len(good[1].DataHeader))], good[1].DataBody)
	}
	for n := range good[1].DataBody {
		_, err := batchIDs(good[1].DataHeader, good[1].DataBody[:n])
		require.Error(t, err)
	}
	require.Error(t, checkSchema(nil))
	require.Error(t, checkSchema(good[1].DataHeader))
	_, err = batchIDs(good[0].DataHeader, good[1].DataBody)
	require.Error(t, err)
	for _, kind := range []arrow.DataType{arrow.PrimitiveTypes.Uint64, arrow.PrimitiveTypes.Int32, arrow.PrimitiveTypes.Float64,
		arrow.BinaryTypes.String, arrow.ListOf(arrow.PrimitiveTypes.Int64)} {
		other := array.NewBuilder(memory.DefaultAllocator, kind)
		other.AppendEmptyValue()
		require.ErrorContains(t, checkSchema(uploaded(t, "nodes", other.NewArray())[0].DataHeader), "int64", kind)
	}
	require.ErrorContains(t, checkSchema(uploaded(t, "ids", col)[0].DataHeader), "ids")
}
