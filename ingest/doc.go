// Package ingest turns edge lists into graph.bin, and makes edge lists to try
// it on: a library of Config → Run → Result, behind `aether-ooc build` and
// `aether-ooc gen rmat`.
//
// # The way of an edge
//
//	           ┌────────────┐
//	.txt .gz ──┤ lines      ├─┐  batches    ┌───────────┐  12 or 24 B   ┌──────┐       ┌───────────────┐
//	           └────────────┘ ├─────────────► transform ├───────────────► sort ├───────► layout.Writer │─► graph.bin
//	           ┌────────────┐ │  in input   │ drop      │ (list,        └──────┘       └───────────────┘
//	.npy ──────┤ rows       ├─┘  order      │ mirror    │  neighbour,    stable,        lists, then the
//	           └────────────┘               └───────────┘  row)          by radix       edge ids
//	            many workers                 one caller    off the heap  many workers   one caller
//
// A source cuts its input into batches; workers decode them side by side, and
// internal/inorder hands them on in the order of the input, so that the first error of
// a file is the one reported and the k-th edge gets row k, however many workers
// there are. The transform drops loops, adds the reverse of an edge, and turns
// (source, target) into (list, neighbour). The sort is stable and rows come in
// ascending, so sorting by neighbour and then by list leaves every list in
// canonical order: (neighbour, row). Nothing depends on the largest id, except
// how many digits are sorted.
//
// # Through disk
//
// Edges that do not fit in memory take the same way with a temporary file
// (internal/spill) in its middle:
//
//	           ┌─ partition 0 ─┐ extents, as          ┌─ unit ─┐
//	transform ─┤  partition 1  ├────────────► load ──► │  sort  ├─► lists ─► layout.Writer
//	  deal     │      …        │ they fill up  the     │  sort  │     └► edge ids ─► spool ─► layout.Writer
//	           └─ partition n ─┘               next    └────────┘          on disk too, until the lists are done
//
// When the pile is full, a sample of its lists cuts the lists into ranges, each
// the partition of its edges, and all edges are dealt out, those of the pile
// first. A partition's edges lie in extents of about a MiB, in the order of the
// input. Then partition after partition is loaded, sorted and written, all three
// at once for different partitions. One that is too large, because the sample
// was wrong or because a single list is, is cut again, by lists or by whole keys,
// and its parts take its place. Edges of a list may thus come in several units,
// and so may duplicates: the lister looks back at one edge.
//
// # Other ids
//
// With Relabel the edges go through package relabel first, by a temporary file of
// its own: nodes are numbered by the rank of their ids, or of the hashes of their
// names, and what they were is written behind the edge ids. What is left of the
// memory is the rest of the build's, as above.
//
//	source ─► Relabeler: spool ─► dictionary ─► edges of dense ids ─► transform ─► …
//	                                       └──► own ids, names ─► layout.Writer
//
// # Onto a graph
//
// Merge sends new edges the same way, whichever it is, up to the lister, which
// puts them between the entries of a graph that it reads from front to back:
//
//	new edges, sorted ─► lister ─┬─► lists ─────────────────────────────► layout.Writer
//	graph.bin, Runs   ─►  weave  └─► (entries between, row) ─► spool ─┬─► edge ids ─► layout.Writer
//	graph.bin, IDs ───────────────────────────────────────────────────┘
//
// The graph's entries come first where both have the same ends, as their rows do.
// So what is sorted, and what lies on disk meanwhile, is as much as there are new
// edges, and the graph is read once.
//
// # Memory
//
// A build in memory holds two copies of its edges, at 12 bytes each, or 24 where
// an id or a row needs more than 32 bits. They lie outside the Go heap. An
// external one has buffers for the partitions in the first half, and units in
// the second; budget.go says how large. In the second half it holds the Writer's
// index too, which is a little above a two-hundredth of the graph.
//
// On disk an edge takes as much as in one copy in memory, and less and less as
// the graph grows: what was read becomes a hole. That room is asked for before
// the edges go there.
//
// # Files
//
// Everything is written to temporary names in the target's folder, synced and
// renamed, graph.bin last. The temporary graph is locked while it is written:
// a second build of the same target is refused while the first lives, and what
// a dead one left is removed by the next. A rebuild that dies between two
// renames leaves files whose sums name another graph, which every reader
// refuses; it never leaves a mix that goes unseen.
//
// # Invariants
//
//  1. The same input and options give the same bytes, for any number of
//     workers and any memory.
//  2. An edge's id is its row: the column of edge_index in a .npy, the count of
//     data lines before it in a text. Its reverse has the same id.
//  3. Ids never pass through floats.
//  4. Run and RMAT leave no goroutine, descriptor or temporary file, whatever
//     their outcome.
//
// # Concurrency
//
// Run and RMAT may be called from any goroutine, for different targets at
// once. Progress callbacks come from the calling goroutine only, one at a time.
package ingest
