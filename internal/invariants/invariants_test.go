package invariants

import (
	"testing"

	"github.com/stretchr/testify/require"
)

func TestCheck(t *testing.T) {
	require.NotPanics(t, func() { Check(true, "never said") })
	broken := func() { Check(false, "want %d, got %d", 1, 2) }
	if Enabled {
		require.PanicsWithValue(t, "invariant broken: want 1, got 2", broken)
	} else {
		require.NotPanics(t, broken)
	}
}
