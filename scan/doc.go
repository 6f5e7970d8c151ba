// Package scan reads a graph from front to back, every block once, in large
// pieces and in memory that does not depend on the graph.
//
//	graph.bin ─► layout.OpenGraph ─► superblock, table, index, attachments      checked while they are read
//	     └─► Blocks of a section, in order, seals checked ─┬─► Adjacency: one block after the other
//	                                                       └─► Runs: edges in canonical order, with their ids
//
// Files are read with plain reads, not through the cache: who reads all of a file
// once has no use for one.
//
// A Graph and what it gives belong to one goroutine. Reading stops at a piece when
// the context is done.
package scan
