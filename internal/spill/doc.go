// Package spill keeps on disk what does not fit in memory: one temporary file
// without a name, written and read in extents, past the page cache, with
// several transfers in flight.
//
//	Append ──► ┌─────────┬─────────┬───────┬─────────┬────────┐
//	           │ extent  │ extent  │ hole  │ extent  │ room   │   one file, one descriptor
//	           └─────────┴─────────┴───────┴─────────┴────────┘
//	                           Read ◄──┘ └── Free
//
// Who appends keeps the place of each extent; the file knows nothing of what
// belongs together. Room is taken from the filesystem before it is written to,
// so a full disk is met by the next Append and not by a lost write. What was
// freed becomes a hole: the file's length only grows, the disk that it takes
// does not.
//
// The file has no name from its first moment (or is unlinked at once where the
// filesystem cannot do that), so nothing is left of it when its process dies.
//
// # Alignment
//
// Places, and the addresses and lengths of what is transferred, are multiples
// of Page, for O_DIRECT. Memory from a mapping is; memory of the Go heap is not
// for sure.
//
// # Concurrency
//
// A File may be used by many goroutines at once. Memory handed to Append is the
// File's until the callback says so; the callback runs on a goroutine of the
// File and must not block. Output has one writer.
package spill
