// Package oracle says what a batch must be, in the shortest way: it reads a
// graph's raw edge list and samples it with maps and sorts, so that the engine
// can be compared with something too simple to be wrong. It is for tests only
// and shares nothing with the engine but internal/rng.
//
//	edge list ──lists──► per node: its edges by (neighbour, input row)
//	                        │
//	seeds ──Sample──────────┴─► n_id, row, col, e_id, counts per hop
//	n, batch size, ranks ──Epoch.Batches──► which seeds make which batch
//
// The same program stands in python/tests/oracle.py, generator included. Both
// are held together by testdata/golden.json, which a test here writes
// (`go test ./internal/oracle -rewrite`) and one there reads.
//
// Zoo gives the graphs that samplers get wrong.
package oracle
