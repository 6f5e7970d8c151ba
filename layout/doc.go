// Package layout explains the bytes of graph.bin, format 1: it is the only
// package that knows them. It does no I/O of its own: readers hand it bytes or
// an io.ReaderAt, the Writer hands sealed blocks to an io.WriterAt.
//
// # The file
//
// A file is a sequence of sealed blocks of 4,096 bytes (internal/binfmt): 4,092
// bytes of payload, then a CRC-32C over the payload and the block's number. So
// every byte is covered, and a block in the wrong place is seen.
//
//	┌────────────┬────────────┬──────────┬───────────┬──────────┬─────────────┬───────┐
//	│ superblock │ adjacency  │ edge ids │ index     │ presence │ attachments │ table │
//	│ 1 block    │ the lists  │ maybe    │ 4 columns │ maybe    │ maybe       │       │
//	└────────────┴────────────┴──────────┴───────────┴──────────┴─────────────┴───────┘
//
// The superblock says where the table is, the table where everything else is,
// in any order. An adjacency block holds pieces of lists, in one of two encodings,
// which its first byte names. Plain:
//
//	0    1       2       3       4            12      14        16
//	┌────┬───────┬───────┬───────┬────────────┬───────┬─────────┬────────┬──────┬─────────┬───────┬──────┐
//	│tag │ entry │ delta │ flags │ first node │ lists │ entries │ deltas │ ends │ entries │ zeros │ seal │
//	│ =1 │ width │ width │       │            │       │         │ δ each │ 2 ea.│ w each  │       │  4   │
//	└────┴───────┴───────┴───────┴────────────┴───────┴─────────┴────────┴──────┴─────────┴───────┴──────┘
//
// Compact, for a smaller file: short lists in as many bits an entry as the largest
// node needs, long ones in Elias-Fano (eliasfano.go), and a bitmap of the nodes in
// place of their numbers, so that a list is found without a search:
//
//	0    1       2       3       4            12      14        16      18
//	┌────┬───────┬───────┬───────┬────────────┬───────┬─────────┬───────┬──────────────────┬───────┬───────┬───────┬──────┐
//	│tag │ entry │ delta │ flags │ first node │ lists │ entries │ words │ bitmap or deltas │ ends  │ lists │ zeros │ seal │
//	│ =2 │ bits  │ width │       │            │       │         │       │                  │ 4 ea. │       │       │  4   │
//	└────┴───────┴───────┴───────┴────────────┴───────┴─────────┴───────┴──────────────────┴───────┴───────┴───────┴──────┘
//
// docs/FORMAT.md has every field, precise enough for a reader in another
// language.
//
// # Invariants
//
//  1. Lists lie in ascending node order, each one whole; within a list the
//     entries do not decrease. The k-th entry of the file is EdgeIdx k.
//  2. A node without edges is nowhere; every block holds at least one entry.
//  3. A list goes over a block's end only if it fills that block: the flag
//     "continues after" of a block and "continued from before" of the next agree.
//  4. Any adjacency block can be decoded alone; which blocks hold a node, the
//     degree of a list over several blocks and the block of its k-th entry come
//     from the Index alone.
//  5. Sections neither overlap nor leave a gap; unused bytes are zero.
//
// # Trust
//
// Opening checks everything that is held in memory: seals, lengths, overlaps,
// monotone columns, counts. ViewBlock checks in constant time what keeps Find
// and At inside the block, whatever its bytes; that the bytes are the ones that
// were written is the seal's business (CheckBlock, once per read). A hostile
// file can make wrong answers, never a panic or an allocation beyond its own
// length. Package inspect checks the rest.
//
// # Concurrency
//
// Graph, Index, Sums, Block and List are read-only once made and may be shared.
// Writer, SumsWriter and Fingerprinter belong to one goroutine.
package layout
