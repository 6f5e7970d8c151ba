package bench

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

func TestKinds(t *testing.T) {
	for _, c := range []struct {
		kind Kind
		word string
		want any // nil: refused
	}{
		{kindBytes, "4096", int64(4096)},
		{kindBytes, "4k", int64(4096)},
		{kindBytes, "4K", int64(4096)},
		{kindBytes, "64KiB", int64(65536)},
		{kindBytes, "2GB", int64(2_000_000_000)},
		{kindBytes, "1g", int64(1 << 30)},
		{kindBytes, "4 parsecs", nil},
		{kindBytes, "", nil},
		{kindBudget, "2g", budget{bytes: 2 << 30}},
		{kindBudget, "25%", budget{share: 0.25}},
		{kindBudget, "12.5 %", budget{share: 0.125}},
		{kindBudget, "0%", nil},
		{kindBudget, "%", nil},
		{kindBudget, "-3%", nil},
		{kindDuration, "10", 10 * time.Second},
		{kindDuration, "0", time.Duration(0)},
		{kindDuration, "0.5", 500 * time.Millisecond},
		{kindDuration, "20ms", 20 * time.Millisecond},
		{kindDuration, "10 apples", nil},
		{kindDuration, "NaN", nil},
		{kindBool, "", nil},
		{kindBool, "1", true},
		{kindBool, "false", false},
		{kindBool, "maybe", nil},
		{kindInt, "-3", int64(-3)},
		{kindInt, "3.5", nil},
		{kindUint, "18446744073709551615", uint64(1<<64 - 1)},
		{kindUint, "-1", nil},
		{kindFanouts, "25, 10", []int{25, 10}},
		{kindFanouts, "-1,5", []int{-1, 5}},
		{kindFanouts, "-2", nil},
		{kindFanouts, "", nil},
		{kindMix, "4k/70:64k/30", []Portion{{4096, 70}, {65536, 30}}},
		{kindMix, "4k", nil},
		{kindMix, "4k/0", nil},
	} {
		got, err := c.kind.parse(c.word)
		require.Equal(t, c.want, got, "%s %q: %v", c.kind.Name, c.word, err)
		require.Equal(t, c.want == nil, err != nil, "%s %q", c.kind.Name, c.word)
	}
}

func TestDistance(t *testing.T) {
	for _, c := range []struct {
		a, b string
		want int
	}{{"", "", 0}, {"depth", "depth", 0}, {"dept", "depth", 1}, {"depht", "depth", 2}, {"", "abc", 3}, {"kitten", "sitting", 3}} {
		require.Equal(t, c.want, distance(c.a, c.b), "%s %s", c.a, c.b)
		require.Equal(t, c.want, distance(c.b, c.a), "%s %s", c.b, c.a)
	}
}
