// Package features fetches rows: the feature matrix and the node attributes of
// the nodes of a batch, through the same cache, rings and budget as the graph.
//
//	rows asked for      7 2 9 2                 any order, repeats allowed
//	sorted              2 2 7 9                 with the place of each in dst
//
//	file   │ header │ r0   r1 │ r2   r3   r4   r5 │ r6   r7   r8 │ r9  …      a .npy, C order
//	blocks │0         │1             │2             │3           │           4,096 bytes each
//	                        ▲▲ ▲            ▲  ▲      ▲
//	visited                 2 straddles 0|1…   7      9                       each block once, ascending
//
//	dst    │ r7 │ r2 │ r9 │ r2 │                row-major, in the order asked
//
// Rows follow the header directly, so a row may begin anywhere in a block and
// go over its end, or over many blocks. Gather hands Lane.Visit the ascending
// list of all blocks that hold a piece of a row; whenever a block arrives, its
// pieces of all rows asked for are copied to their places. So blocks may arrive
// in any order, none is read twice, and rows that lie near each other share a
// read (Config.Merge of the cache).
//
// In a feature file, which `aether-ooc features` writes, no row of up to 4 KiB
// goes over a block's end: see Aligned.
//
// # What is read
//
// Arrays of booleans, integers and floats of any width, float16 included, from
// one dimension up, little-endian, in C order; a row is whatever follows the
// first index. bfloat16, which .npy cannot name, is read from arrays of 16-bit
// words when the caller says so. Bytes are passed on as they are. Everything
// else is refused with the command that makes it right.
//
// # Checksums
//
// Files that `build` laid beside the graph have a file of sums (layout.Sums):
// each block is checked when it is read, before anyone sees it, and the header
// when the file is opened. The sums are held in memory, a thousandth of the
// file: Source.Bytes counts them. A user's own .npy has no sums, and what the
// device returns is believed.
//
// # Concurrency and ownership
//
// A Source is opened without a cache, so that what it holds can be counted
// before the cache is made, and then added to one. It is shared by all lanes;
// Gather is called by a lane's goroutine. A Source owns its open file. The cache
// knows the file for as long as it lives, so Sources are closed after the last
// visit, and opened once, not per batch.
package features
