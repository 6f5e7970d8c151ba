// Package client speaks to `aether-ooc serve` over Arrow Flight. It is for Go
// programs that want batches from another process's engine, and for the bench
// and the tests, which go through the same door as everybody.
//
//	c, err := client.Dial("unix:///tmp/a.sock")
//	…
//	defer c.Close()
//	for rec, err := range c.Batches(ctx, serve.NewTicket(25, 10)) {
//		…
//		b, err := arrowbatch.Decode(rec) // valid until the next turn of the loop
//	}
//
// A Client may be used from any goroutine. Errors carry the gRPC code and the
// server's words, see docs/PROTOCOL.md.
package client

import (
	"context"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"iter"
	"math"
	"slices"

	"github.com/apache/arrow/go/v17/arrow"
	"github.com/apache/arrow/go/v17/arrow/array"
	"github.com/apache/arrow/go/v17/arrow/flight"
	"github.com/apache/arrow/go/v17/arrow/ipc"
	"github.com/apache/arrow/go/v17/arrow/memory"
	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"

	"github.com/aether-ooc/aether-ooc/engine"
	"github.com/aether-ooc/aether-ooc/serve"
)

// window is HTTP/2's flow control window, in bytes: how much a server may send
// before we have taken it.
const window = 16 << 20

// Client is a connection to one server.
type Client struct {
	conn   *grpc.ClientConn
	flight flight.Client
}

// Dial prepares a connection to a server's listen address, such as
// unix:///tmp/a.sock. It connects at the first call.
func Dial(listen string) (*Client, error) {
	conn, err := grpc.NewClient(listen,
		grpc.WithTransportCredentials(insecure.NewCredentials()),
		grpc.WithInitialWindowSize(window), grpc.WithInitialConnWindowSize(window),
		grpc.WithDefaultCallOptions(grpc.MaxCallRecvMsgSize(math.MaxInt32), grpc.MaxCallSendMsgSize(math.MaxInt32)))
	if err != nil {
		return nil, fmt.Errorf("client: %s: %w", listen, err)
	}
	return &Client{conn: conn, flight: flight.NewClientFromConn(conn, nil)}, nil
}

// Close hangs up.
func (c *Client) Close() error { return c.conn.Close() }

// Batches gives the ticket's batches, one record of one row each, valid until
// the next turn of the loop. Leaving the loop or ending ctx ends the server's
// work on them.
func (c *Client) Batches(ctx context.Context, t serve.Ticket) iter.Seq2[arrow.Record, error] {
	return func(yield func(arrow.Record, error) bool) {
		ctx, cancel := context.WithCancel(ctx)
		defer cancel()
		r, err := c.open(ctx, t)
		if err != nil {
			yield(nil, err)
			return
		}
		defer r.Release()
		for r.Next() {
			if !yield(r.Record(), nil) {
				return
			}
		}
		if err := r.Err(); err != nil {
			yield(nil, err)
		}
	}
}

func (c *Client) open(ctx context.Context, t serve.Ticket) (*flight.Reader, error) {
	ticket, err := json.Marshal(t)
	if err != nil {
		return nil, err
	}
	stream, err := c.flight.DoGet(ctx, &flight.Ticket{Ticket: ticket})
	if err != nil {
		return nil, err
	}
	return flight.NewRecordReader(stream)
}

// Info asks what the server serves.
func (c *Client) Info(ctx context.Context) (serve.Info, error) {
	return ask[serve.Info](ctx, c, "info", nil)
}

// Stats asks what the server has done.
func (c *Client) Stats(ctx context.Context) (serve.Stats, error) {
	return ask[serve.Stats](ctx, c, "stats", nil)
}

// NumBatches asks how many batches a ticket gives.
func (c *Client) NumBatches(ctx context.Context, t serve.Ticket) (serve.NumBatches, error) {
	return ask[serve.NumBatches](ctx, c, "num_batches", t)
}

// Schema asks for the schema of a ticket's batches.
func (c *Client) Schema(ctx context.Context, t serve.Ticket) (*arrow.Schema, error) {
	body, err := c.action(ctx, "schema", t)
	if err != nil {
		return nil, err
	}
	return flight.DeserializeSchema(body, memory.DefaultAllocator)
}

// Lookup gives the nodes whose ids before build --relabel these are.
func (c *Client) Lookup(ctx context.Context, originals []int64) (nodes []engine.NodeID, err error) {
	for part := range slices.Chunk(originals, uploadRows) {
		found, err := ask[serve.Found](ctx, c, "lookup", serve.Lookup{Version: serve.ProtocolVersion, Originals: part})
		if err != nil {
			return nil, err
		}
		nodes = append(nodes, found.Nodes...)
	}
	return nodes, nil
}

func ask[T any](ctx context.Context, c *Client, action string, body any) (answer T, err error) {
	b, err := c.action(ctx, action, body)
	if err != nil {
		return answer, err
	}
	return answer, json.Unmarshal(b, &answer)
}

func (c *Client) action(ctx context.Context, name string, body any) ([]byte, error) {
	text, err := json.Marshal(body)
	if err != nil {
		return nil, err
	}
	stream, err := c.flight.DoAction(ctx, &flight.Action{Type: name, Body: text})
	if err != nil {
		return nil, err
	}
	result, err := stream.Recv()
	if err != nil {
		return nil, err
	}
	return result.GetBody(), flight.ReadUntilEOF(stream)
}

// uploadRows is how many ids one message of an upload has.
const uploadRows = 1 << 17

// Upload sends a list of seeds and gives the name under which tickets can use
// it.
func (c *Client) Upload(ctx context.Context, nodes []engine.NodeID) (serve.Nodes, error) {
	ids, sum := make([]int64, len(nodes)), sha256.New()
	for i, v := range nodes {
		ids[i] = int64(v)
		_ = binary.Write(sum, binary.LittleEndian, uint64(v)) // a hash takes everything
	}
	name := hex.EncodeToString(sum.Sum(nil))
	return serve.Nodes{Upload: name}, c.put(ctx, name, ids)
}

func (c *Client) put(ctx context.Context, name string, ids []int64) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	stream, err := c.flight.DoPut(ctx)
	if err != nil {
		return err
	}
	command, err := json.Marshal(map[string]any{"version": serve.ProtocolVersion, "upload": name})
	if err != nil {
		return err
	}
	schema := arrow.NewSchema([]arrow.Field{{Name: "nodes", Type: arrow.PrimitiveTypes.Int64}}, nil)
	w := flight.NewRecordWriter(stream, ipc.WithSchema(schema))
	w.SetFlightDescriptor(&flight.FlightDescriptor{Type: flight.DescriptorCMD, Cmd: command})
	if err := errors.Join(writeIDs(w, schema, ids), w.Close(), stream.CloseSend()); err != nil && !errors.Is(err, io.EOF) {
		return err
	}
	for { // the server's word, also where it broke off the sending
		if _, err := stream.Recv(); errors.Is(err, io.EOF) {
			return nil
		} else if err != nil {
			return err
		}
	}
}

func writeIDs(w *flight.Writer, schema *arrow.Schema, ids []int64) error {
	for {
		part := ids[:min(len(ids), uploadRows)]
		if err := writePart(w, schema, part); err != nil {
			return err
		}
		if ids = ids[len(part):]; len(ids) == 0 {
			return nil
		}
	}
}

func writePart(w *flight.Writer, schema *arrow.Schema, ids []int64) error {
	b := array.NewInt64Builder(memory.DefaultAllocator)
	defer b.Release()
	b.AppendValues(ids, nil)
	col := b.NewArray()
	defer col.Release()
	rec := array.NewRecord(schema, []arrow.Array{col}, int64(len(ids)))
	defer rec.Release()
	return w.Write(rec)
}
