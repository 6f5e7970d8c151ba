// Package source reads edge lists: whatever holds a graph's edges, in whatever
// form, comes out of it as batches of (source, target), in the order of the
// input, in bounded memory.
//
//	Inputs: paths, globs, "-"
//	   │ each opened, its first bytes looked at        one Format each, see formats
//	   ▼                                              ┌───────────────────────────┐
//	 file ── bytes ──► gzip / zstd ──► first bytes ──►│ text  lines, many workers │
//	   │  or from a pipe  (ahead, in a    tell the    │ npy   rows, many workers  ├─► Batch, Batch, …
//	   │                   goroutine)     format      │ …                         │   to Each's fn
//	   └─ in places: a regular file, not compressed ─►└───────────────────────────┘
//
// A Format is a row of the table formats, which says by which first bytes and
// suffixes it is known, and how it is opened; what the first bytes prove comes
// before what the caller says, and that before what a name promises. Help, errors
// and documentation are made from the table. A decoder sees one file; Source
// strings files together, and numbers their rows through.
//
// # Invariants
//
//  1. Wrong input is an *InputError that names the file, the line or row, the
//     column and the value, and what to do. Nothing is guessed, skipped or
//     rounded: an input that is cut short, or of which a part cannot be read, is
//     never a smaller graph.
//  2. Ids never pass through floats.
//  3. The batches hold the same edges in the same order for any number of workers,
//     and the error is the first of the input.
//  4. Memory does not depend on the length of the input. One regular file is open
//     at a time, however many there are.
//  5. Each leaves no goroutine, Close no descriptor. Only a Read of standard input
//     that never returns keeps its goroutine.
//
// # Concurrency
//
// A Source belongs to one goroutine, Position aside. Batches are handed to the
// goroutine that called Each, and are its until it returns from fn.
package source
