// Command plain is the simplest sampler that does our job: the whole graph in
// RAM as two arrays, no cache, no encoding, no budget. It is what our compute
// is measured against, so it is written to be fast and to be nothing else.
//
//	plain csc edges.npy folder      sorts an edge list into folder/{colptr,row,row64}.npy
//	plain sample folder seeds.npy   samples, and writes a line of JSON for each batch
//
// A batch goes hop by hop, the nodes of a hop in windows, each window in passes:
//
//	spans ─► places ─► picks ─► numbers
//	colptr   random    row      table
//
// The loads of one pass do not depend on one another, so the processor has many
// in flight at once; one loop doing all four for each node waits for each.
//
// Threads share the arrays, which nobody writes, and take whole batches; each
// owns its table and its results. The job is that of package sampler: neighbours
// without replacement, each node expanded once, numbered as first met, the
// result in int64. The draws are not ours, so batches have other edges, but
// just as many.
package main
