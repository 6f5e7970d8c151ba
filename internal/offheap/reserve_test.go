//go:build linux && !race

package offheap_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/aether-ooc/aether-ooc/internal/offheap"
)

func TestReserveTooMuch(t *testing.T) {
	_, _, err := offheap.Reserve(1 << 60)
	require.ErrorContains(t, err, "lower the memory budget")
}
