// Package serve answers: it is one open graph's Arrow Flight server, as a
// library of Config → Run → Result. docs/PROTOCOL.md is the contract with
// clients; serve/client is the one in Go.
//
//	            ticket (JSON)                                      ┌──────────────┐
//	client A ───────────────► DoGet ── engine.Batches ─► Encoder ─►│ one slab each│─► frame ─► gRPC ─► socket
//	client B ───────────────► DoGet ── engine.Batches ─► Encoder ─►│              │─► frame ─► gRPC ─► socket
//	         ◄───────────────                                      └──────────────┘
//	client C ── DoPut ──► uploads (seed lists by hash) ◄── tickets name them
//	client D ── DoAction ► info, stats, num_batches, schema
//
// # Memory
//
// A batch is copied once, from the engine's buffers into a slab in Arrow's
// layout. arrow/go's own Flight writer would copy it twice more, into the body
// of a FlightData message and into its protobuf encoding, and hold both (45 ms
// for a batch of 38 MB on two cores; `go test ./serve -bench Framing`). A frame
// instead hands the slab's buffers to gRPC by reference, behind a protobuf
// prefix written by hand (0.1 ms), and gRPC's release of the last of them
// releases the slab. gRPC itself copies a batch once more, into the frames that
// it writes.
//
// The frame's prefix is padded so that clients in C++ (pyarrow), which take the
// body as it lies in the message, find the buffers aligned to 8 bytes.
//
// gRPC does not promise that release: what it had queued for a stream that was
// cut it may simply forget. Slabs are therefore memory of the Go heap, where the
// garbage collector takes what is forgotten.
//
// gRPC lets a stream queue one message beyond what its client has taken, so a
// stream holds at most two slabs, however slow its client; and as a send blocks
// only its own goroutine, others do not wait for it.
//
// # Concurrency and ownership
//
// Each request runs in a goroutine of gRPC's and owns its encoder, recycler
// and iterator. Shared are the engine, the uploads and the counters, each
// under a lock of its own. A request's context ends when its client cancels or
// vanishes, or when Run gives up waiting for it, and with it ends the engine's
// work on it.
//
// # Invariants
//
//  1. Run returns only when no goroutine, connection or buffer of its own is
//     left and the socket file is gone, unless another server's is there by
//     then.
//  2. At no time do two servers listen on one socket path: who finds a dead
//     socket removes it and binds its own under a lock on the folder.
//  3. No ticket, upload or action makes the server panic. A panic is a bug of
//     ours, so it is not caught.
package serve
