// Package bench measures: what the device can do (Device) and what sampling
// makes of it (Sample). Both are Config → Run → Result; the command line only
// binds flags to a Config and prints a Result.
//
// A figure without its circumstances is worth nothing, so a Result says in what
// state the cache was when the clock started (cold, steady, preloaded), which
// backend read and whether past the page cache, what depth was really reached,
// and how much memory it took. The seed is fixed unless it is given; a run that
// is interrupted reports what it has measured and is marked as cut short.
//
//	ramp (not measured) ─► snapshot of counters ─► measured part ─► snapshot
//
// All counts of a Result are differences of the two snapshots.
package bench
