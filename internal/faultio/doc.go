// Package faultio wraps a ring so that reads go wrong where a test wants it: it
// fails, shortens or holds back the k-th completion. Only tests import it.
//
//	ring := faultio.Wrap(ring, plan)
//
//	inner ring ─► groups as they finish ─► plan(k) for each read ─► Wait, Poll
//	                                       k = 0, 1, 2, …
//
// The strongest use is to fail every I/O of a run in turn: each time the run
// must end with the error, and leave nothing behind.
//
//	for k := int64(0); ; k++ {
//		plan := faultio.FailAt(k, syscall.EIO)
//		err := run(plan)
//		if plan.Fired() == 0 {
//			require.NoError(t, err) // k is past the last read: the run succeeds
//			break
//		}
//		require.ErrorIs(t, err, syscall.EIO)
//	}
//
// A Plan numbers reads as their groups finish, the reads of a group in their
// order, over all the rings that share it. Where a read fails or is cut short,
// the bytes that it did not bring are overwritten with Garbage, so that code
// that looks at them is found out.
//
// A wrapped ring keeps the contract of uring.Ring: the same thread rules, no
// Wake lost, and no group held back for ever: when nothing else can come, the
// held ones do. A Plan may be shared by rings of several threads.
package faultio
