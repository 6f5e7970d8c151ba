// Package inspect explains a graph, verifies it and gives its edges back: the
// library behind `aether-ooc inspect`, `verify`, `export` and `extract`.
//
//	graph.bin ─► package scan ─► superblock, table, index, attachments          checked while they are read
//	     │
//	     ├─► every block, once, in file order ─┬─► Run:    degrees, packing, shares
//	     │                                     ├─► Verify: seals, structure, order, ids, fingerprints; against the input
//	     │                                     └─► Export: edges with their ids, as text, .npy, Parquet or CSR
//	     └─► the blocks of some nodes ────────────► Extract: their lists
//	files beside the graph, and their sums  ───────► Verify: sums, whole-file hashes, headers, row counts
//
// Run reads the adjacency only; Verify reads all of it and finds the first
// damage: a *layout.CorruptError that names file, section, block and offset. A
// graph that passes obeys every invariant of package layout, so whoever reads it
// gets right answers. What Verify could not check within its memory it says in
// VerifyResult.Unchecked.
//
// Files are read with plain reads in pieces of a megabyte, not through the cache.
// Memory is the index, a bit per edge for the uniqueness of edge ids (Config.Memory
// bounds it), and a few buffers.
//
// Run and Verify may be called from any goroutine, and at the same time; Progress
// is called by the caller's goroutine. Both stop at a block when ctx is done.
package inspect
