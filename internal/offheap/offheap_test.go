package offheap_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/aether-ooc/aether-ooc/internal/offheap"
)

func TestReserve(t *testing.T) {
	for _, bytes := range []int64{0, 8, 4096, 3<<20 + 8} {
		b, free, err := offheap.Reserve(bytes)
		require.NoError(t, err)
		require.Len(t, b, int(bytes))
		words := offheap.Slice[uint64](b)
		require.Len(t, words, int(bytes/8))
		for i := range words {
			require.Zero(t, words[i])
			words[i] = ^uint64(0)
		}
		require.NoError(t, free())
	}
}
