package invariants

import "fmt"

// Check panics when cond is false and the build has the tag `invariants`. The
// format says what should have been true, with the values that were found.
func Check(cond bool, format string, args ...any) {
	if Enabled && !cond {
		panic("invariant broken: " + fmt.Sprintf(format, args...))
	}
}
