//go:build linux

package relabel

import (
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/aether-ooc/aether-ooc/internal/base"
	"github.com/aether-ooc/aether-ooc/internal/binfmt"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func open(t *testing.T, named bool) *Relabeler {
	t.Helper()
	r, err := New(Config{Dir: t.TempDir(), Memory: MinMemory, Workers: 2, Named: named})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, r.Close()) })
	return r
}

// naive numbers ids by their rank.
func naive(ids ...[]base.NodeID) (sorted []base.NodeID, rank func(base.NodeID) base.NodeID) {
	sorted = slices.Concat(ids...)
	slices.Sort(sorted)
	sorted = slices.Compact(sorted)
	return sorted, func(id base.NodeID) base.NodeID {
		at, _ := slices.BinarySearch(sorted, id)
		return base.NodeID(at)
	}
}

func check(t *testing.T, r *Relabeler, src, dst []base.NodeID) {
	t.Helper()
	ctx := context.Background()
	require.NoError(t, r.Seal(ctx))
	sorted, rank := naive(src, dst)
	require.EqualValues(t, len(sorted), r.Nodes())
	at := 0
	require.NoError(t, r.IDs(ctx, func(ids []base.NodeID) error {
		require.True(t, slices.Equal(sorted[at:at+len(ids)], ids))
		at += len(ids)
		return nil
	}))
	require.Equal(t, len(sorted), at)
	row := 0
	require.NoError(t, r.Each(ctx, func(s, d []base.NodeID) error {
		for i := range s {
			if s[i] != rank(src[row]) || d[i] != rank(dst[row]) {
				return fmt.Errorf("row %d: (%d, %d) became (%d, %d), not (%d, %d)", row, src[row], dst[row], s[i], d[i], rank(src[row]), rank(dst[row]))
			}
			row++
		}
		return nil
	}))
	require.Equal(t, len(src), row)
}

func TestNumbers(t *testing.T) {
	const most = 1<<63 - 2
	dice := rand.New(rand.NewPCG(1, 2))
	for name, c := range map[string]struct {
		edges int
		id    func() base.NodeID
	}{
		"none":               {0, nil},
		"one":                {1, func() base.NodeID { return most }},
		"few sparse":         {1000, func() base.NodeID { return base.NodeID(dice.Uint64N(50) * 12345678901234567) }},
		"ends":               {2000, func() base.NodeID { return []base.NodeID{0, 1, most, most - 1, 1 << 32, 1<<32 - 1}[dice.IntN(6)] }},
		"dense":              {300_000, func() base.NodeID { return base.NodeID(dice.Uint64N(1000)) }},
		"more than a memory": {1_500_000, func() base.NodeID { return base.NodeID(dice.Uint64N(most)) }},
		"clustered":          {700_000, func() base.NodeID { return base.NodeID(dice.Uint64N(1000)<<40 + dice.Uint64N(2000)) }},
	} {
		t.Run(name, func(t *testing.T) {
			var src, dst []base.NodeID
			r := open(t, false)
			for range c.edges {
				src, dst = append(src, c.id()), append(dst, c.id())
			}
			for at := 0; at < c.edges; at += 1009 {
				end := min(at+1009, c.edges)
				require.NoError(t, r.Add(src[at:end], dst[at:end]))
			}
			check(t, r, src, dst)
		})
	}
}

func TestNames(t *testing.T) {
	dice := rand.New(rand.NewPCG(3, 4))
	r := open(t, true)
	var src, dst []base.NodeID
	names := map[base.NodeID]string{}
	for range 200_000 {
		ends := [2]base.NodeID{}
		for k := range ends {
			name := fmt.Sprintf("node-%d", dice.IntN(150_000))
			ends[k] = binfmt.NameID([]byte(name), 7)
			names[ends[k]] = name
			require.NoError(t, r.AddName(ends[k], []byte(name)))
		}
		src, dst = append(src, ends[0]), append(dst, ends[1])
		require.NoError(t, r.Add(src[len(src)-1:], dst[len(dst)-1:]))
	}
	require.Greater(t, len(r.runs), 1)
	check(t, r, src, dst)
	sorted, _ := naive(src, dst)
	at := 0
	require.NoError(t, r.Names(context.Background(), func(id base.NodeID, name string) error {
		require.Equal(t, sorted[at], id)
		require.Equal(t, names[id], name)
		at++
		return nil
	}))
	require.Equal(t, len(sorted), at)
}

func TestManyRunsAreMergedInRounds(t *testing.T) {
	r := open(t, false)
	var src, dst []base.NodeID
	for i := range 3 * r.fanIn() {
		src, dst = append(src, base.NodeID(i*i)), append(dst, base.NodeID(i*7))
		require.NoError(t, r.Add(src[i:], dst[i:]))
		require.NoError(t, r.endRun())
	}
	check(t, r, src, dst)
}

func TestCollisionsAreFound(t *testing.T) {
	r := open(t, true)
	require.NoError(t, r.AddName(5, []byte("a")))
	require.NoError(t, r.AddName(5, []byte("a")))
	require.ErrorIs(t, r.AddName(5, []byte("b")), ErrCollision)
	require.NoError(t, r.endRun())
	require.NoError(t, r.AddName(5, []byte("b")))
	require.ErrorIs(t, r.Seal(context.Background()), ErrCollision)
}

func TestStops(t *testing.T) {
	r := open(t, false)
	for i := range 100 {
		require.NoError(t, r.Add([]base.NodeID{base.NodeID(i)}, []base.NodeID{7}))
	}
	require.NoError(t, r.Seal(context.Background()))
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	require.ErrorIs(t, r.Each(ctx, func(_, _ []base.NodeID) error { return nil }), context.Canceled)
	require.ErrorIs(t, r.IDs(ctx, func([]base.NodeID) error { return nil }), context.Canceled)
}

func TestRefusesTooLittleMemory(t *testing.T) {
	_, err := New(Config{Dir: t.TempDir(), Memory: MinMemory - 1})
	require.ErrorContains(t, err, "raise the memory budget")
	_, err = New(Config{Dir: t.TempDir() + "/none", Memory: MinMemory})
	require.ErrorContains(t, err, "temporary")
}
