// Package blockcache keeps bytes: blocks of files in memory, read when they are
// asked for, once however many ask.
//
//	   lane 0                     lane 1                        one goroutine and thread each
//	┌──────────────────────────┐ ┌──────────────────────────┐
//	│ Visit(file, blocks, fn)  │ │ Visit(file, blocks, fn)  │
//	│  window: blocks it holds │ │  window                  │
//	│  batches: reads gathered │ │  batches                 │
//	│  mailbox ◄───────────────┼─┼─ "the block you wanted"  │
//	└────┬───────────────┬─────┘ └────┬───────────────┬─────┘
//	     │ pin,          │ groups of  │               │
//	     │ acquire,      ▼ reads      │               ▼
//	     │ unpin       ring 0         │             ring 1
//	┌────▼────────────────────────────▼─────────────────────┐   ┌──────────┐
//	│ files      4 bytes for each block: its slot; and 1    ├──►│ policy   │
//	│            that counts, where the policy does         │   │ advises  │
//	│ slots      24 bytes each: pins, state, key, waiters   │◄──┤          │
//	│ arena      4,096 bytes each, outside the Go heap      │   └──────────┘
//	└───────────────────────────────────────────────────────┘
//
// A key is a file and a block of it, so the adjacency, the edge ids and the
// features share one arena. Arena and tables lie in one anonymous mapping
// without Go pointers: the garbage collector does not see them. (Under the race
// detector, which does not see such mappings either, they lie on the heap.)
//
// # A visit
//
// Visit goes through its list in order, and round this loop:
//
//	admit    ask for blocks while the window and the batches have room:
//	           there             fn sees it at once, without a lock
//	           nowhere           take a slot, gather the read; 32 gathered reads
//	                             are handed to the ring, several groups at a time
//	           being read by     leave word in the slot, go on
//	           another lane
//	flush    hand over what is gathered, however little
//	collect  show fn what other lanes have brought
//	await    sleep in the ring till a group is done, or mail has come
//
// When a group is done its blocks are checked and published, the lanes that
// wait for them are woken, and then fn sees them. So the window rolls: nothing
// waits for a whole frontier, and the device has work as long as there is any.
// fn sees blocks in the order of their arrival.
//
// # Reads
//
// Missing blocks come in file order. Where the cost of reads by their size
// (Config.Cost) says that reading on to the next one is cheaper than another
// read, they become one; what lies between, there already or wanted by nobody,
// goes to a sink that nobody looks at:
//
//	missing  10  11      14              30     the read of 10 goes on to 14: 5 blocks, 1.98 reads' cost
//	read     [s1][s2][sink][s3]          [s4]   instead of two reads, 2.1; 30 is too far
//
// # Concurrency and ownership
//
// A lane belongs to the goroutine that owns its ring. Lanes meet in the slots'
// words, which change by compare-and-swap; a hit is two of these and no lock.
// Who reads a block or waits for it takes the block's lock. Beside these there
// are the free list's and the mailboxes'; no lock is held while another is
// taken, nor over a system call, a read, a check, fn or the policy.
//
// A lane may hold (wait for, read, or look at) as many blocks as its window has
// entries, slots ÷ lanes at most. Whoever holds a block has a pin on its slot.
//
// Nobody waits for a slot: with all lanes within their windows and one asking
// for one more block, some slot is free or unpinned at every moment. A sweep
// over the arena finds it; the policy's advice only makes that a good choice.
//
// Nobody waits in a circle: a lane sleeps only in its ring, and only after all
// that it gathered was handed to that ring. So a block that someone waits for is
// either on its way from the device, and its reader will be woken by that, or
// its reader is awake, and will get there unless its fn blocks (which is why fn
// must not wait for another lane). Readers finish their reads whatever becomes
// of their visit. Waiters that give up take their word back.
//
// # Failures
//
// A read that fails, ends short before the file's end, or does not pass its
// file's check fails for every lane that waits for the block at that time, and
// leaves no trace: the next to ask reads it again. When a ring breaks as a
// whole, its lane is over, and the slots of its reads in flight are lost until
// the cache is closed, since the kernel may still write to them. Close the rings
// before the cache.
//
// # Invariants
//
//  1. A slot's state changes only as drawn at type state.
//  2. A block's entry names its slot exactly while that is reading, resident or
//     limbo, but for the moment in which one is emptied, and a key is in one slot
//     at most.
//  3. A slot with a pin keeps its key and its bytes. Only the lane that reads it
//     writes to them, before it becomes resident.
//  4. Every window entry that waits is in exactly one place: in the list of a
//     slot that is reading, on its way to its lane's mailbox, or in it.
//  5. Between visits a lane holds nothing, gathers nothing and has nothing in
//     flight.
//
// # Policies
//
// "lfu", the default, decides by frequency: it counts exactly how often each
// block is asked for, in a byte that is halved from time to time, and does not
// keep what was asked for less often than what would have to go. Such a guest is
// shown to who waits for it, and its slot is free again. "ristretto" estimates
// frequencies. It costs up to 250 bytes of Go heap a slot, which the garbage
// collector scans, an allocation a miss and a goroutine that works for each miss.
// "clock" decides by recency and costs four bytes a slot. (Sizes:
// TestRistrettoHeap; times: go test -run xxx -bench 'Hit|Miss' ./blockcache.)
// What fn sees does not depend on the policy, only how often it is read.
package blockcache
