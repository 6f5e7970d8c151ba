//go:build linux

package ingest

// What a build holds besides its edges: the program, the Writer's buffers and
// index, and the batches that go round. The Writer's index grows with the graph,
// but to a fiftieth of the second copy of the edges, which is given back before
// the Writer begins.
const (
	fixedBytes = 24 << 20
	itemBytes  = 1 << 20
)

func overhead(c Config) int64 { return fixedBytes + itemBytes*int64(2*c.Workers+1) }

// capacity is how many edges can be sorted in c.Memory: there are two copies.
func capacity[T word](c Config) int64 {
	return max(0, (c.Memory-overhead(c))/(2*edgeBytes[T]()))
}

// overBudget is the refusal to sort n edges.
func overBudget[T word](c Config, n int64) error {
	return &BudgetError{NeedBytes: overhead(c) + n*2*edgeBytes[T](), HaveBytes: c.Memory, Edges: n}
}
