package serve

import (
	"context"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"hash"
	"io"
	"time"

	"github.com/apache/arrow/go/v17/arrow/flight"

	"github.com/aether-ooc/aether-ooc/internal/base"
)

// DoPut takes a seed list.
func (s *server) DoPut(stream flight.FlightService_DoPutServer) error {
	ctx, cancel := s.within(stream.Context())
	defer cancel()
	stored, err := s.receive(stream)
	if ctx.Err() != nil && err != nil {
		err = context.Cause(ctx)
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

// source is what DoPut reads of its stream.
type source interface {
	Recv() (*flight.FlightData, error)
}

// receive reads a whole upload and keeps it, if it is what its name says.
func (s *server) receive(stream source) (Stored, error) {
	first, err := stream.Recv()
	if err != nil && !errors.Is(err, io.EOF) {
		return Stored{}, err
	}
	name, err := uploadCommand(first.GetFlightDescriptor().GetCmd())
	if err == nil {
		err = checkSchema(first.GetDataHeader())
	}
	if err != nil {
		return Stored{}, badUpload(err)
	}
	list := received{uploads: s.uploads, nodes: []base.NodeID{}, sum: sha256.New()}
	if err = list.readAll(stream); err == nil {
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
	return fmt.Errorf(`serve: %w: an upload is an Arrow stream of one int64 column, nodes, under the command {"version": %d, "upload": HASH}: %w`,
		errTicket, ProtocolVersion, err)
}

func uploadCommand(command []byte) (sha string, err error) {
	var name uploadName
	if err := strict(command, &name); err != nil {
		return "", fmt.Errorf("command: %w", err)
	}
	return name.Upload, errors.Join(checkVersion(name.Version), checkHash(name.Upload))
}

// received is an upload as far as it has come. The room of its nodes is
// reserved.
type received struct {
	uploads *uploads
	nodes   []base.NodeID
	sum     hash.Hash // of the ids as they came
}

func (l *received) readAll(stream source) error {
	for {
		m, err := stream.Recv()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
		if len(m.GetDataHeader()) == 0 { // a note of the client's, not data
			continue
		}
		ids, err := batchIDs(m.DataHeader, m.DataBody)
		if err != nil {
			return badUpload(err)
		}
		if err := l.add(ids); err != nil {
			return err
		}
	}
}

// add takes the ids of one message, little-endian.
func (l *received) add(ids []byte) error {
	n := len(ids) / idBytes
	if err := l.uploads.reserve(n); err != nil {
		return err
	}
	l.sum.Write(ids)
	start := len(l.nodes)
	for at := 0; at < len(ids); at += idBytes {
		l.nodes = append(l.nodes, base.NodeID(binary.LittleEndian.Uint64(ids[at:])))
	}
	return checkIDs(l.nodes[start:], start)
}

func (l *received) checkName(name string) error {
	if got := hex.EncodeToString(l.sum.Sum(nil)); got != name {
		return fmt.Errorf("serve: %w: the upload's name is %s, its ids hash to %s: name it by the SHA-256 of the ids as 8-byte little-endian integers", errTicket, name, got)
	}
	return nil
}
