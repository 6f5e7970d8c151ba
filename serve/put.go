package serve

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"hash"
	"io"
	"time"

	"github.com/apache/arrow/go/v17/arrow"
	"github.com/apache/arrow/go/v17/arrow/array"
	"github.com/apache/arrow/go/v17/arrow/flight"
	"github.com/apache/arrow/go/v17/arrow/ipc"
	"github.com/apache/arrow/go/v17/arrow/memory"
	"google.golang.org/grpc/codes"

	"github.com/aether-ooc/aether-ooc/internal/base"
)

// DoPut takes a seed list.
func (s *server) DoPut(stream flight.FlightService_DoPutServer) error {
	ctx, cancel := s.within(stream.Context())
	defer cancel()
	stored, err := s.receive(stream)
	if cause := ctx.Err(); cause != nil && err != nil {
		err = cause
	}
	if err != nil {
		return s.answer(err)
	}
	s.counters.uploads.Add(1)
	note, err := json.Marshal(stored)
	if err != nil {
		return s.answer(err)
	}
	return stream.Send(&flight.PutResult{AppMetadata: note})
}

// Stored is the server's note on an upload.
type Stored struct {
	Upload string `json:"upload"`
	Seeds  int64  `json:"seeds"`
}

// receive reads a whole upload and keeps it, if it is what its name says.
func (s *server) receive(stream flight.FlightService_DoPutServer) (Stored, error) {
	r, err := flight.NewRecordReader(stream, ipc.WithAllocator(capped{s.mem, s.UploadBytes + ticketBytes}))
	if err != nil {
		return Stored{}, badUpload(err)
	}
	defer r.Release()
	name, err := uploadCommand(r)
	if err != nil {
		return Stored{}, err
	}
	list := received{uploads: s.uploads, nodes: []base.NodeID{}, sum: sha256.New()}
	if err = list.readAll(r); err == nil {
		err = list.checkName(name)
	}
	if err != nil {
		s.uploads.unreserve(len(list.nodes))
		return Stored{}, err
	}
	s.uploads.add(name, list.nodes, time.Now())
	return Stored{Upload: name, Seeds: int64(len(list.nodes))}, nil
}

func badUpload(err error) error {
	if codeOf(err) != codes.Internal { // it has its kind already
		return err
	}
	return fmt.Errorf("serve: %w: an upload is an Arrow stream of one int64 column, nodes: %w", errTicket, err)
}

func uploadCommand(r *flight.Reader) (sha string, err error) {
	var name uploadName
	if err := strict(r.LatestFlightDescriptor().GetCmd(), &name); err != nil {
		return "", fmt.Errorf(`serve: %w: the upload's command is not {"version": %d, "upload": HASH}: %w`, errTicket, ProtocolVersion, err)
	}
	if err := errors.Join(checkVersion(name.Version), checkHash(name.Upload)); err != nil {
		return "", fmt.Errorf("serve: %w: %w", errTicket, err)
	}
	f := r.Schema().Fields()
	if len(f) != 1 || f[0].Name != "nodes" || f[0].Type.ID() != arrow.INT64 {
		return "", fmt.Errorf("serve: %w: an upload has one int64 column, nodes, this one has %v", errTicket, f)
	}
	return name.Upload, nil
}

// received is an upload as far as it has come. The room of its nodes is
// reserved.
type received struct {
	uploads *uploads
	nodes   []base.NodeID
	sum     hash.Hash // of the ids as they lie in memory, little-endian
}

func (l *received) readAll(r *flight.Reader) error {
	for r.Next() {
		if err := l.add(r.Record().Column(0)); err != nil {
			return err
		}
	}
	if err := r.Err(); err != nil && !errors.Is(err, io.EOF) {
		return badUpload(err)
	}
	return nil
}

func (l *received) add(col arrow.Array) error {
	if col.NullN() > 0 {
		return fmt.Errorf("serve: %w: %d of the upload's ids are null: leave them out", errTicket, col.NullN())
	}
	ids := col.(*array.Int64).Int64Values()
	if err := checkIDs(ids); err != nil {
		return err
	}
	if err := l.uploads.reserve(len(ids)); err != nil {
		return err
	}
	l.sum.Write(arrow.Int64Traits.CastToBytes(ids))
	for _, id := range ids {
		l.nodes = append(l.nodes, base.NodeID(id))
	}
	return nil
}

func (l *received) checkName(name string) error {
	if got := hex.EncodeToString(l.sum.Sum(nil)); got != name {
		return fmt.Errorf("serve: %w: the upload's name is %s, its ids hash to %s: name it by the SHA-256 of the ids as 8-byte little-endian integers", errTicket, name, got)
	}
	return nil
}

// capped is an allocator for what strangers send: lengths in a message may ask
// for more than there is. The Arrow reader turns the panic into an error.
type capped struct {
	memory.Allocator
	max int64
}

func (c capped) Allocate(n int) []byte {
	if n < 0 || int64(n) > c.max {
		panic(fmt.Errorf("serve: %w: a buffer of %d bytes", errUploadRoom, n))
	}
	return c.Allocator.Allocate(n)
}
