// Package sampler picks neighbours: seeds in, one sampled subgraph out, as
// plain slices.
//
// # The way of a hop
//
//	frontier ──Locate──► Absent: no edge, no read
//	(n_id[lo:hi])        One:    key (block, target)          ┐
//	                     Many:   degree known: draw now,      ├─ sort ─► distinct blocks ─► Lane.Visit
//	                             key (block, piece) for each  │                                 │ any order
//	                             block that holds a pick      ┘                                 ▼
//	                                                             One: find the list, draw. Many: the ranks are drawn
//	                                                                     rank ─► (neighbour, edge), in the arena
//	                                                                                            │
//	Row, Col, EID  ◄──meet: neighbour ─► local id──  close up: frontier order, by prefix sum  ◄─┘
//
// Only the blocks that hold a pick are asked for: 10 picks of a list of a
// million entries read at most 10 blocks. A hop is one Visit; how it is cut into
// windows that fit the memory is the cache's business. Edge ids, when they are
// wanted and stored, are one more Visit at the end.
//
// # Groups
//
// Several batches of a request go this way together, hop by hop: their frontiers
// make one list of items, one sort, one Visit, and a block that several of them
// need is asked for, pinned and viewed once. Then each is closed up for itself.
//
//	batch 0 ─ frontier ─┐                       ┌─ close up ─ Row, Col, EID of batch 0
//	batch 1 ─ frontier ─┼─ items ─ one Visit ───┼─ close up ─ Row, Col, EID of batch 1
//	batch 2 ─ frontier ─┘                       └─ close up ─ Row, Col, EID of batch 2
//
// A block holds entries of many nodes, and the hops of any batch go all over the
// graph, so what the batches of a group ask for overlaps the more the larger it
// is; docs/DECISIONS.md has figures. A batch alone is a group of one.
//
// # From memory
//
// A sampler that has been given a full Resident (Use) asks nobody for blocks. A
// window of frontier nodes goes through passes of loads that do not wait for one
// another: where the lists are; what is drawn, as EdgeIdx written where the batch
// wants its edges; which neighbours stand there; which local ids they have.
//
// # Invariants
//
//  1. A draw depends on (batch key, hop, node, copy) alone and its place in the
//     output on the frontier's order alone, so blocks may arrive in any order.
//  2. The arena of a hop is the new end of the batch's Col, in order of arrival.
//     The places of a Many list hold ranks until its blocks arrive, neighbours
//     afterwards; those of a One list are made on arrival. Closing up gathers
//     them into Row and leaves targets in their stead.
//  3. A piece's ranks lie in one block, the one that its key names.
//  4. Within a batch a node has one local id: the place of its first copy in
//     n_id. Frontiers are ranges of n_id, so a target's local id is known.
//  5. What a batch holds does not depend on its group.
//
// # Ownership and concurrency
//
// A Sampler belongs to its lane's thread. It keeps its scratch from group to
// group, so that a steady stream of batches allocates nothing; scratch that one
// huge group has blown up is given back after a while (see keeper). Everything
// is sized by the group, nothing by the graph. The Subgraph is the caller's: its
// slices are overwritten, and grown when they are too small.
package sampler
