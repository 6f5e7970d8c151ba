// Package engine is one open graph: its files, rings, cache and memory budget. A
// request goes in, batches come out. It is the door for Go programs; the server
// is one of its users.
//
//	e, err := engine.Open("graph.bin", engine.Options{Memory: 2 << 30})
//	…
//	defer e.Close()
//	for b, err := range e.Batches(ctx, engine.Request{Fanouts: []int{25, 10}, BatchSize: 1024}) {
//		if err != nil {
//			return err
//		}
//		train(b)
//		b.Release() // may be left out
//	}
//
// # Lanes
//
//	Batches ─► plan ─► stream ─┐                ┌─ lane: a locked thread ─────────────┐
//	Batches ─► plan ─► stream ─┼─ scheduler ───►│ sampler ─► edge ids ─► feature rows │─► back to its
//	Sample  ─► plan ─► stream ─┘  one job = one │    └───────────┴───────────┘        │   stream, in order
//	                              batch, in     │        Visit: cache lane ─► ring    │
//	                              groups, round └─────────────────────────────────────┘
//	                              robin
//	                                                       × Options.Lanes, sharing the cache alone
//
// A plan says which batches and which seeds; it needs no data and no lock. A
// stream is a running request: it knows which of its batches are under way and
// keeps the finished ones until their turn. A lane makes a whole batch by itself,
// compute and reads, so that a finished read is seen by the thread that waits for
// it. Lanes wait for jobs only with no read in flight.
//
// A lane takes up to Options.Lockstep consecutive batches of a stream and samples
// them together, hop by hop, so that a block which several need is read once; see
// package sampler. Then it fetches the rows of one after the other. The first
// batches of a stream come one by one, and the last are spread over the lanes.
//
// # Memory
//
// Options.Memory bounds what an engine holds; Info.Budget shows the division:
//
//	├─ index ─┼─ lanes ──────────┼─ batches ────────────────────┼─ cache ─────────────────┤
//	  block     rings, window      three eighths of it, up to    slots of 4 KiB and their
//	  index,    lists, samplers'   128 MiB a lane (then 1/16):    tables; no more than the
//	  sums      small change       being made, waiting, kept      files have blocks
//
// Where the budget has room for the whole adjacency as well, that comes before
// batches and cache (Budget.Resident): decoded into arrays if they fit, else as the
// blocks themselves. The batches' share may then be as small as 32 MiB a lane, if no
// rows go with them; the cache holds edge ids and rows alone. Preload brings the
// adjacency in; else lanes do between batches, once these have read a quarter as many
// blocks as there are. Until then, and if that fails, lists are drawn from blocks in
// the cache; Stats.Mode says which.
//
// A batch counts from the start of its making, with the lane's scratch for it,
// until its consumer has it; then it is the consumer's. How large batches are is
// known only once some have been made, so the first of a request counts with its
// worst case. A batch larger than its share is made alone, with no other under way,
// always by the same lane, and Stats.Alone counts it; for a small budget must not
// forbid the usual batches. But one that would go more than 64 MiB beyond what the
// budget leaves for batches is refused while it is sampled (sampler.ErrTooLarge).
// What is certain not to fit, because the seeds and their rows alone are too
// large, is refused before the first read with ErrOverBudget. The Go runtime, its garbage and the threads' stacks are not
// counted: allow for 64 MiB. The package never sets the runtime's memory limit; a
// program may, and Batch.Release keeps its garbage low.
//
// # Concurrency and ownership
//
// All methods of Engine may be called from any goroutine. A slow consumer stops
// only its own stream. Leaving a loop early, cancelling its context or closing the
// engine stops the stream's reads and gives its memory back before the iterator
// returns. Batches stay valid after Close. A bad request or a damaged block is an
// error for the request that met it; the engine goes on. A panic in a lane is our
// own bug and ends the program.
//
// # Invariants
//
//  1. What a batch holds depends on the graph, the request and the batch's number
//     alone: not on lanes, lockstep, depth, cache, policy, backend, budget or load.
//  2. A stream delivers its batches in order, and an error in its turn: the
//     batches before it come first, none after it.
//  3. A stream is at most (Lanes+1) × Lockstep + 1 batches ahead of its consumer.
//  4. Batches under way, waiting or kept for reuse hold no more than
//     Budget.Batches, and besides at most one that is made alone and one that
//     is kept.
//  5. A consumer that waits gets its batch made, whatever other consumers do.
package engine
