// Package uring brings bytes: it reads files with many reads in flight.
//
// A caller hands over groups of reads and learns when a whole group is done.
// Which system calls do it is the matter of a backend; everything else is
// written once, above them.
//
//	caller's goroutine, locked to its thread              any thread
//	  Queue(group) ─┐            ┌─► Wait, Poll: a group      Wake ─┐
//	┌───────────────▼────────────┴──────────────────────────────────▼──┐
//	│ ring     backlog of groups ─► ops, Depth of them ─► ready groups │
//	│          short reads, retries, O_DIRECT refused, Stats           │
//	├───────────────┬────────────▲─────────────────────────────────────┤
//	│ driver        │ push, flush│ next          "uring"  │  "pread"   │
//	└───────────────▼────────────┴────────────────────────┴────────────┘
//	            io_uring_enter                      preadv in a pool of threads
//
// A third backend, "giouring", has that library do the work of "uring"'s queues,
// to be compared with; it is only in builds with the tag giouring.
//
// # Reads
//
// A Read fills its pieces, Bufs, in turn from consecutive bytes of its File. N
// is less than asked for only at the end of the file, and then Err is nil; any
// other failure is an *OpError. A read that the kernel cuts short is continued,
// one that was interrupted is repeated: neither is seen outside.
//
// Files are opened with O_DIRECT, and offsets, addresses and lengths must then
// be multiples of File.Align (blocks of 4,096 bytes always are). A filesystem
// that refuses O_DIRECT, at open or only at the first read, is read through the
// page cache instead, with one warning.
//
// # Depth and batches
//
// At most Depth reads are under way; further ones wait in the ring's own
// backlog, in the order in which they were queued, so the completion queue
// cannot overflow. One system call sends many reads and fetches many
// completions: Queue sends once a batch has gathered, an eighth of Depth (2 …
// 32); Wait and Poll send less when the device has no more than that left to do,
// and all when they have no group to return. A Wait sleeps until a batch has
// completed, or fewer reads if a group may be done by then.
//
// # Concurrency and ownership
//
// A Ring belongs to one goroutine, which has called runtime.LockOSThread before
// Open and stays on its thread until Close: the kernel ties a ring to the
// thread that opened it. Only Wake and Stats may be called from elsewhere. A
// File may be used by any number of rings and goroutines; one that is closed
// while it is read stays open until those reads are done.
//
// A group belongs to the ring from Queue until Wait or Poll returns it: do not
// touch its Reads or their buffers in between. The ring keeps it referenced.
//
// # Waking
//
// Wake writes to an eventfd on which the ring always has a read armed.
// (MSG_RING would spare that read, but only a thread with a ring of its own can
// send one before Linux 6.13, and Wake must work from any.) The write is left
// out when the ring does not wait or is already woken, so a wake costs a system
// call only when it ends a sleep.
//
// # Invariants
//
//  1. The kernel sees the number of an op, never a pointer; an op is given out
//     again only after its completion.
//  2. ops in use ≤ Depth < entries of the submission queue ≤ completion queue.
//  3. A group is in active from Queue until its last read is done, then in
//     ready until it is returned; InFlight counts the reads of both.
//  4. Close returns only when no read is under way.
package uring
