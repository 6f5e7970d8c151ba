// Package invariants lets code state what must be true of itself.
//
// A check costs nothing in a normal build. Built with `-tags invariants`, as
// `make test` does in one of its runs, a false condition panics with the
// sentence that the check gives. A check is for our own bugs only: what a file,
// a user or the kernel may do wrong is an error, not an invariant.
//
// Where preparing the condition itself costs something, guard it:
//
//	if invariants.Enabled {
//		invariants.Check(sorted(blocks), "blocks out of order: %v", blocks)
//	}
package invariants
