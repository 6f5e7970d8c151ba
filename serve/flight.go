package serve

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"time"

	"github.com/apache/arrow/go/v17/arrow/flight"
	"github.com/apache/arrow/go/v17/arrow/ipc"

	"github.com/aether-ooc/aether-ooc/arrowbatch"
	"github.com/aether-ooc/aether-ooc/engine"
	"github.com/aether-ooc/aether-ooc/internal/base"
)

// server answers Flight's calls.
type server struct {
	flight.BaseFlightServer
	Config
	info     engine.Info
	about    Info
	uploads  *uploads
	activity activity
	counters counters

	ending context.Context // ends, with a cause, when requests are to
	stop   context.CancelCauseFunc
}

func newServer(c Config) (*server, error) {
	s := &server{Config: c, info: c.Engine.Info(), uploads: newUploads(c.UploadBytes), activity: activity{last: time.Now()}}
	s.ending, s.stop = context.WithCancelCause(context.Background())
	var err error
	s.about, err = describe(c, s.info)
	return s, err
}

// within is the context of a request: it ends with its client or with the
// server.
func (s *server) within(client context.Context) (context.Context, func()) {
	ctx, cancel := context.WithCancelCause(client)
	unhook := context.AfterFunc(s.ending, func() { cancel(context.Cause(s.ending)) })
	return ctx, func() {
		unhook()
		cancel(nil)
	}
}

// query is a ticket in the engine's terms, checked.
type query struct {
	engine.Request
	batches int64
	seeds   int64
	done    func() // hands back the ticket's upload
}

// query reads and checks a ticket. The caller calls done when it has finished
// with the request.
func (s *server) query(ticket []byte) (q query, err error) {
	t, err := ParseTicket(ticket)
	if err != nil {
		return q, err
	}
	if err := s.checkGraph(t); err != nil {
		return q, err
	}
	nodes, done, err := s.nodes(t.Nodes)
	if err != nil {
		return q, err
	}
	q = query{Request: t.request(s.info, nodes), seeds: int64(s.info.Nodes), done: done}
	if nodes != nil {
		q.seeds = int64(len(nodes))
	}
	if q.batches, err = s.Engine.NumBatches(q.Request); err != nil {
		done()
	}
	return q, err
}

func (s *server) nodes(n Nodes) (nodes []base.NodeID, done func(), err error) {
	if n.Upload == "" {
		return n.List, func() {}, nil
	}
	nodes, release, err := s.uploads.use(n.Upload)
	return nodes, func() { release(time.Now()) }, err
}

// checkGraph refuses a ticket that was made for another graph than the open one.
func (s *server) checkGraph(t Ticket) error {
	for _, is := range []struct{ what, got, want, remedy string }{
		{"fingerprint", s.info.Fingerprint, t.Fingerprint, "open the graph that the request was made for"},
		{"content_id", s.info.ContentID, t.ContentID, "nodes and edges are the same, but the edge ids or the files beside the graph (features, node attributes) differ: copy one build to every machine, with these files"},
	} {
		if is.want != "" && !strings.EqualFold(is.want, is.got) {
			return fmt.Errorf("serve: %w: %s has the %s %s, the request is for %s: %s", errMismatch, s.info.Path, is.what, is.got, is.want, is.remedy)
		}
	}
	return nil
}

// DoGet streams the ticket's batches.
func (s *server) DoGet(t *flight.Ticket, stream flight.FlightService_DoGetServer) error {
	began := time.Now()
	ctx, cancel := s.within(stream.Context())
	defer cancel()
	out := &sender{stream: stream, counters: &s.counters}
	err := s.counters.run(func() error { return s.batches(ctx, t.GetTicket(), out) })
	if ctx.Err() != nil && err != nil {
		err = context.Cause(ctx) // whatever broke, this broke it
	}
	s.Log.Debug("stream ended", "batches", out.batches, "bytes", out.bytes, "took", time.Since(began), "err", err)
	return s.answer(err)
}

// answer is the last word of a request to its client, and to the log where it
// speaks of us or the graph and not of the request.
func (s *server) answer(err error) error {
	if err != nil && serious(codeOf(err)) {
		s.Log.Error("request failed", "err", err)
	}
	return toStatus(err)
}

func (s *server) batches(ctx context.Context, ticket []byte, out *sender) error {
	q, err := s.query(ticket)
	if err != nil {
		return err
	}
	defer q.done()
	mem := arrowbatch.NewRecycler(s.mem, slabs)
	defer mem.Close()
	enc, err := arrowbatch.NewEncoder(s.info, q.Request, mem)
	if err != nil {
		return err
	}
	out.begin(enc)
	for b, err := range s.Engine.Batches(ctx, q.Request) {
		if err != nil {
			return err
		}
		if err := out.batch(b); err != nil {
			return err
		}
	}
	return out.end()
}

// slabs is how many idle slabs a stream keeps: one is being sent while the
// next is filled.
const slabs = 2

// sender puts one request's batches on its stream.
type sender struct {
	stream   flight.FlightService_DoGetServer
	counters *counters
	enc      *arrowbatch.Encoder
	frames   framer
	w        *ipc.Writer

	batches, bytes int64
}

func (o *sender) begin(enc *arrowbatch.Encoder) {
	o.enc = enc
	o.w = ipc.NewWriterWithPayloadWriter(&o.frames, ipc.WithSchema(enc.Schema()))
}

func (o *sender) batch(b *engine.Batch) error {
	rec := o.enc.Encode(b)
	defer rec.Release()
	b.Release()
	o.frames.rec = rec
	if err := o.w.Write(rec); err != nil {
		return err
	}
	if err := o.send(); err != nil {
		return err
	}
	o.batches++
	o.counters.batches.Add(1)
	return nil
}

// end sends the schema where there was no batch to send it with.
func (o *sender) end() error {
	if err := o.w.Close(); err != nil {
		return err
	}
	return o.send()
}

// send hands the frames to gRPC, which frees them once they are written, or
// else frees them itself.
func (o *sender) send() (err error) {
	for _, f := range o.frames.take() {
		size := int64(f.bytes)
		if err == nil {
			err = o.stream.SendMsg(f)
		} else {
			f.parts.Free()
		}
		if err == nil {
			o.bytes += size
			o.counters.bytes.Add(size)
		}
	}
	return err
}

// actions are DoAction's answers, by type.
var actions = []struct {
	name, about string
	answer      func(s *server, ctx context.Context, body []byte) ([]byte, error)
}{
	{"info", "the open graph, as JSON", func(s *server, _ context.Context, _ []byte) ([]byte, error) { return json.Marshal(s.about) }},
	{"stats", "counters, as JSON", func(s *server, _ context.Context, _ []byte) ([]byte, error) { return json.Marshal(s.stats()) }},
	{"num_batches", "how many batches the ticket in the body gives, as JSON", (*server).numBatches},
	{"schema", "the Arrow schema of the ticket in the body, as an IPC message", (*server).schema},
	{"lookup", "the nodes whose original ids the body lists, as JSON", (*server).lookup},
}

// DoAction answers one of the actions.
func (s *server) DoAction(a *flight.Action, stream flight.FlightService_DoActionServer) error {
	for _, known := range actions {
		if known.name == a.GetType() {
			body, err := known.answer(s, stream.Context(), a.GetBody())
			if err != nil {
				return s.answer(err)
			}
			return stream.Send(&flight.Result{Body: body})
		}
	}
	return s.answer(fmt.Errorf("serve: %w: no action %.80q: ListActions names them", errTicket, a.GetType()))
}

// ListActions names the actions.
func (s *server) ListActions(_ *flight.Empty, stream flight.FlightService_ListActionsServer) error {
	for _, a := range actions {
		if err := stream.Send(&flight.ActionType{Type: a.name, Description: a.about}); err != nil {
			return err
		}
	}
	return nil
}

func (s *server) numBatches(_ context.Context, ticket []byte) ([]byte, error) {
	q, err := s.query(ticket)
	if err != nil {
		return nil, err
	}
	defer q.done()
	return json.Marshal(NumBatches{Batches: q.batches, Seeds: q.seeds})
}

func (s *server) schema(_ context.Context, ticket []byte) ([]byte, error) {
	q, err := s.query(ticket)
	if err != nil {
		return nil, err
	}
	defer q.done()
	return s.schemaOf(q)
}

// lookup finds nodes by their ids before build --relabel.
func (s *server) lookup(ctx context.Context, body []byte) ([]byte, error) {
	var q Lookup
	if err := strict(body, &q); err != nil {
		return nil, fmt.Errorf("serve: %w: %w", errTicket, err)
	}
	if err := checkVersion(q.Version); err != nil {
		return nil, fmt.Errorf("serve: %w: %w", errTicket, err)
	}
	ctx, cancel := s.within(ctx)
	defer cancel()
	nodes, err := s.Engine.Lookup(ctx, q.Originals)
	if err != nil {
		return nil, err
	}
	return json.Marshal(Found{Nodes: nodes})
}

func (s *server) schemaOf(q query) ([]byte, error) {
	schema, err := arrowbatch.Schema(s.info, q.Request)
	if err != nil {
		return nil, err
	}
	return flight.SerializeSchema(schema, s.mem), nil
}

// GetSchema is the action schema in Flight's words: the descriptor's command is
// a ticket.
func (s *server) GetSchema(ctx context.Context, d *flight.FlightDescriptor) (*flight.SchemaResult, error) {
	schema, err := s.schema(ctx, d.GetCmd())
	return &flight.SchemaResult{Schema: schema}, s.answer(err)
}

// GetFlightInfo tells a generic client that the descriptor's command, a ticket,
// is a ticket, and what it gives.
func (s *server) GetFlightInfo(_ context.Context, d *flight.FlightDescriptor) (*flight.FlightInfo, error) {
	q, err := s.query(d.GetCmd())
	if err != nil {
		return nil, s.answer(err)
	}
	defer q.done()
	schema, err := s.schemaOf(q)
	return &flight.FlightInfo{
		Schema:           schema,
		FlightDescriptor: d,
		Endpoint:         []*flight.FlightEndpoint{{Ticket: &flight.Ticket{Ticket: d.GetCmd()}}},
		TotalRecords:     q.batches,
		TotalBytes:       -1,
		Ordered:          true,
	}, s.answer(err)
}
