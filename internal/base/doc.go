// Package base holds the words that every other package speaks: one type for
// each kind of number, the block size, and the fingerprint of a graph.
//
// It imports nothing of this module and does nothing. A function that takes a
// NodeID cannot be handed a batch number by mistake; that is the whole point.
package base
