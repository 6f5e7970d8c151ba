package engine

import (
	"fmt"

	"github.com/aether-ooc/aether-ooc/sampler"
)

// beyondBytes is how far a batch that is made alone may go beyond what the
// budget leaves for batches. A batch is one piece of work, and a small budget
// must not forbid the usual ones; but no batch may exhaust the machine.
const beyondBytes = 64 << 20

// largestBatch is the most bytes that one batch, with its scratch, may take.
func (e *Engine) largestBatch() int64 { return e.budget.Batches + beyondBytes }

// limited is the spec with the bound that the budget sets.
func (e *Engine) limited(spec sampler.Spec) sampler.Spec {
	spec.MaxEdges = max(1, e.largestBatch()/spec.EdgeBytes())
	return spec
}

// checkRows refuses a batch whose nodes are known, and whose rows would be too
// large.
func (e *Engine) checkRows(q *query, b *Batch) error {
	rows := int64(len(b.NID)) * q.rowBytes()
	if rows <= e.largestBatch() {
		return nil
	}
	return fmt.Errorf("%w: the rows of %d nodes take %d bytes where %d fit the memory budget: use a smaller batch size or fanout, or a larger budget",
		sampler.ErrTooLarge, len(b.NID), rows, e.largestBatch())
}
