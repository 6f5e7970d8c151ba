//go:build invariants

package invariants

// Enabled reports whether this build checks its invariants.
const Enabled = true
