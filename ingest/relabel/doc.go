// Package relabel numbers nodes 0 … N-1 whose ids are anything: sparse 64-bit
// numbers, or names. It works in a fixed memory, whatever the number of edges and
// nodes.
//
//	Add ─┬─► edges, as they come ─────────────────────────────────┐
//	     └─► ids ─► sorted runs, each id once ─► merge ─► dictionary ├─► Each: edges of dense ids, in the order they came
//	names ─► by hash ─► sorted runs ─► merge ─► table of names       │   IDs, Names: what each dense id was
//	                                                              ┘
//
// A node's dense id is the rank of its own id among all that occur; names stand
// for 62 bits of their XXH3 hash, so their ranks are in the order of hashes. Two
// names of one hash are found when the table is merged, and refused: another Seed
// parts them.
//
// Everything but one memory-full lies in one temporary file (package spill). If
// the dictionary is larger than the memory, the edges go through once for each
// part of it.
//
// A Relabeler belongs to one goroutine.
package relabel
