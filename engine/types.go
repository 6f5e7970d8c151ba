package engine

import "github.com/aether-ooc/aether-ooc/internal/base"

// The words of this package's door. The types are the module's own; these names
// are how programs outside of it write them.
type (
	NodeID      = base.NodeID      // numbers a node, 0 … N-1
	BlockNo     = base.BlockNo     // numbers a block of a file
	BatchIdx    = base.BatchIdx    // the number of a batch in its epoch, all ranks together
	Fingerprint = base.Fingerprint // identifies the content of a graph
)
