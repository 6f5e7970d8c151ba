package serve

import (
	"encoding/binary"
	"fmt"
	"math/bits"

	"github.com/apache/arrow/go/v17/arrow"
	"github.com/apache/arrow/go/v17/arrow/ipc"
	"google.golang.org/grpc/encoding"
	_ "google.golang.org/grpc/encoding/proto" // the codec behind ours
	"google.golang.org/grpc/mem"
)

// The fields of arrow.flight.protocol.FlightData that a frame has, data_header
// (2) and data_body (1000), as protobuf tags of byte strings.
const (
	tagHeader = 2<<3 | 2
	tagBody   = 1000<<3 | 2
)

const (
	bodyAlign  = 64
	http2Frame = 16 << 10
	smallest   = 4096          // bytes of a buffer that is worth a reference
	largest    = 2<<30 - 1<<20 // bytes of a message: what protobuf in C++ reads, less the prefix
)

// frame is one FlightData message, encoded: the prefix and the small buffers
// are its own, the large ones the record's. Whoever has it frees it once.
type frame struct {
	parts mem.BufferSlice
	bytes int
}

// framer is the payload writer that collects, for one record, the frames that
// the Arrow writer makes of it.
type framer struct {
	rec    arrow.Record // whose buffers the payloads hold; nil for the schema alone
	frames []*frame
}

func (f *framer) Start() error { return nil }
func (f *framer) Close() error { return nil }

// WritePayload frames one Arrow message.
func (f *framer) WritePayload(p ipc.Payload) error {
	body := &gatherer{rec: f.rec}
	if err := p.SerializeBody(body); err != nil {
		return err
	}
	body.cut()
	meta := p.Meta()
	defer meta.Release()
	if n := meta.Len() + body.bytes; n > largest {
		body.parts.Free()
		return fmt.Errorf("serve: %w: it takes %d bytes, a message at most %d: ask for a smaller batch_size or fewer fanouts", errBatchSize, n, largest)
	}
	head := prefix(meta.Bytes(), body.bytes)
	parts := append(mem.BufferSlice{mem.SliceBuffer(head)}, body.parts...)
	f.frames = append(f.frames, &frame{parts, len(head) + body.bytes})
	return nil
}

// take hands over the frames made so far.
func (f *framer) take() []*frame {
	all := f.frames
	f.frames = nil
	return all
}

// prefix encodes all of a FlightData message up to a body of n bytes. Zeros
// after the header, which Arrow allows, make it end at a multiple of bodyAlign,
// and make the message longer than one HTTP/2 frame: pieces of several frames
// are put together in memory that is aligned, while one alone is left in the
// middle of what was read.
func prefix(header []byte, n int) []byte {
	pad := 0
	if n > 0 {
		pad = max(0, http2Frame-n-len(header))
	}
	for n > 0 && !placed(len(header)+pad, n) {
		pad++
	}
	b := binary.AppendUvarint(nil, tagHeader)
	b = binary.AppendUvarint(b, uint64(len(header)+pad))
	b = append(b, header...)
	b = append(b, make([]byte, pad)...)
	if n > 0 {
		b = binary.AppendUvarint(b, tagBody)
		b = binary.AppendUvarint(b, uint64(n))
	}
	return b
}

// placed reports whether a body of n bytes lies well behind a header.
func placed(header, n int) bool {
	start := uvarintLen(tagHeader) + uvarintLen(header) + header + uvarintLen(tagBody) + uvarintLen(n)
	return start%bodyAlign == 0 && start+n > http2Frame
}

func uvarintLen(n int) int { return (bits.Len(uint(n)|1) + 6) / 7 }

// gatherer is an io.Writer that refers to what is written in place of copying
// it, which is sound because all of it lies in rec's buffers. Small writes are
// copied, run by run.
type gatherer struct {
	rec   arrow.Record
	parts mem.BufferSlice
	run   []byte
	bytes int
}

func (g *gatherer) Write(p []byte) (int, error) {
	g.bytes += len(p)
	if len(p) < smallest {
		g.run = append(g.run, p...)
		return len(p), nil
	}
	g.cut()
	g.rec.Retain()
	g.parts = append(g.parts, mem.NewBuffer(&p, lender{g.rec}))
	return len(p), nil
}

// cut ends a run of small writes.
func (g *gatherer) cut() {
	if len(g.run) > 0 {
		g.parts = append(g.parts, mem.SliceBuffer(g.run))
		g.run = nil
	}
}

// lender is the pool to which gRPC returns a borrowed buffer.
type lender struct{ rec arrow.Record }

// Get is never called: nothing is taken from a lender.
func (l lender) Get(n int) *[]byte { b := make([]byte, n); return &b }

// Put ends the loan.
func (l lender) Put(*[]byte) { l.rec.Release() }

// codec is gRPC's own, which also knows frames.
type codec struct{ encoding.CodecV2 }

func newCodec() codec { return codec{encoding.GetCodecV2("proto")} }

// Marshal gives a frame's parts as they are.
func (c codec) Marshal(v any) (mem.BufferSlice, error) {
	if f, ok := v.(*frame); ok {
		return f.parts, nil
	}
	return c.CodecV2.Marshal(v)
}
