// Package matrix turns matrices of numbers, in whatever file they come, into
// feature files: the library behind `aether-ooc features`.
//
//	.npy      C or Fortran order, either byte order              ┐
//	.npz      one member of it, stored or deflated               ├─► Reader: whole rows, row-major, little-endian
//	.parquet  a column for each value, or a column of lists      │      └─► Converter: float32, float16, bfloat16
//	raw       values without a header, dtype and shape told      ┘             └─► Features: each row at its place
//
// Rows come in the order of node ids, or named: by a key column or a file of ids.
// Named rows are sorted a memory-full at a time and written to their places; a bit
// for each remembers which have come, so that none is missing or named twice.
//
// All is streamed: memory is the budget whatever the size of the input. A Reader
// belongs to one goroutine. What cannot be a matrix of numbers is refused with
// ErrInput, the file's name, row and column, and what to do.
package matrix
