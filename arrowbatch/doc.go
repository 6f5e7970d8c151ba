// Package arrowbatch names the columns: it is the one schema of a mini-batch
// in Arrow, and the one encoder behind Arrow IPC files, Flight streams and
// shared memory.
//
// One row is one mini-batch. Lists are large_list (64-bit offsets), so the
// values of a list are one contiguous buffer that becomes a tensor without a
// copy. No field and no value is ever null.
//
//	edge_index         large_list<int64>   2·E: the E sources (row), then the E targets (col)
//	n_id               large_list<int64>   nodes, the seeds first
//	e_id               large_list<int64>   E; only when the request asks for it
//	input_id           large_list<int64>   one per seed
//	num_sampled_nodes  large_list<int64>   hops + 1
//	num_sampled_edges  large_list<int64>   hops
//	batch_size         int64               seeds
//	batch_index        int64               the global number of the batch
//	epoch              uint64
//	fingerprint        utf8                32 hexadecimal digits
//	content_id         utf8                32 hexadecimal digits
//	generator          utf8                of the draws, with its version: philox4x32-10/1
//	x                  large_list<dtype>   nodes × x_dim, row-major; only with features
//	x_dim              int64
//	x_dtype            utf8                NumPy's name of the dtype, or bfloat16
//	NAME, NAME_dim, NAME_dtype             the same three for each node attribute
//
// Two dtypes travel in others' bits, because Arrow or DLPack lacks them:
// bfloat16 as int16, bool as uint8. The dtype column names the true one. What
// could be schema metadata are columns, because metadata is lost when tables
// are concatenated or pass through NumPy. The schema follows from the graph's
// Info and the Request alone, so it can be told before anything is sampled.
//
// # Memory
//
// Encode makes one allocation per batch and copies the batch into it once:
//
//	┌────────────┬────────────────────────┬─────────┬──────────────┬─ … ─┐
//	│ offsets    │ edge_index values      │ offsets │ n_id values  │     │   one slab of the given allocator
//	└────────────┴────────────────────────┴─────────┴──────────────┴─ … ─┘   each buffer starts at a multiple of 64
//
// The slab goes back to the allocator when the last buffer over it is
// released. A Recycler is an allocator that hands the slab out again.
//
// # Concurrency
//
// An Encoder and a File belong to one goroutine at a time. Records may be
// released from any goroutine, and a Recycler may be used from any.
package arrowbatch
