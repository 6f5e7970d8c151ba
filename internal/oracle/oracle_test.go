package oracle

import (
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/aether-ooc/aether-ooc/internal/base"
	"github.com/aether-ooc/aether-ooc/internal/rng"
	"github.com/stretchr/testify/require"
)

var rewrite = flag.Bool("rewrite", false, "write testdata/golden.json anew")

const goldenPath = "testdata/golden.json"

// golden is what python/tests/oracle.py must agree with.
type golden struct {
	Words   []wordsCase  `json:"words"`
	Samples []sampleCase `json:"samples"`
	Epochs  []epochCase  `json:"epochs"`
}

type wordsCase struct {
	Seed    uint64   `json:"seed"`
	Epoch   uint64   `json:"epoch"`
	Batch   uint64   `json:"batch"`
	Hop     int      `json:"hop"`
	Node    uint64   `json:"node"`
	Copy    uint32   `json:"copy"`
	N       []uint64 `json:"n"`
	Uniform []uint64 `json:"uniform"`
}

type sampleCase struct {
	Name    string        `json:"name"`
	Edges   Edges         `json:"edges"`
	Seed    uint64        `json:"seed"`
	Epoch   uint64        `json:"epoch"`
	Batch   uint64        `json:"batch"`
	Seeds   []base.NodeID `json:"seeds"`
	Fanouts []int         `json:"fanouts"`
	Replace bool          `json:"replace"`
	Want    Batch         `json:"want"`
}

type epochCase struct {
	Epoch
	Want []Positions `json:"want"`
}

// fp is the fingerprint of every case: the oracle takes it as given.
var fp = base.Fingerprint{0, 1, 2, 3, 0xfc, 0xfd, 0xfe, 0xff, 8, 9, 10, 11, 12, 13, 14, 15}

func TestGolden(t *testing.T) {
	g := golden{words(), samples(), epochs()}
	got, err := json.Marshal(g)
	require.NoError(t, err)
	text := strings.NewReplacer(`},{"`, "},\n{\"", `":[{`, "\":[\n{").Replace(string(got)) + "\n" // a case a line
	if *rewrite {
		require.NoError(t, os.MkdirAll("testdata", 0o755))
		require.NoError(t, os.WriteFile(goldenPath, []byte(text), 0o644))
	}
	want, err := os.ReadFile(goldenPath)
	require.NoError(t, err)
	require.Equal(t, string(want), text, "if this is meant: go test ./internal/oracle -rewrite")
}

func words() []wordsCase {
	const all = 1<<64 - 1
	cases := []wordsCase{{}, {Seed: 7, Epoch: 1, Batch: 2, Hop: 3, Node: 4, Copy: 5},
		{Seed: all, Epoch: all, Batch: all, Hop: rng.MaxHops - 1, Node: all, Copy: rng.MaxCopies - 1}}
	for i := range cases {
		c := &cases[i]
		key := rng.BatchKey(fp, c.Seed, c.Epoch, c.Batch)
		s := rng.NewStream(key, c.Hop, base.NodeID(c.Node), c.Copy)
		for _, n := range []uint64{1, 2, 3, 10, 1<<31 + 1, 1<<32 - 1, 1 << 32, 1<<32 + 1, 3 << 40, 1<<63 + 1, all} {
			c.N, c.Uniform = append(c.N, n), append(c.Uniform, s.Uniform(n))
		}
	}
	return cases
}

// small is the graph of the sample cases: loops, parallel edges, isolated
// nodes and a list long enough to be drawn from, in 60 edges.
func small() Edges {
	e := Edges{Nodes: 16}
	for i := range int64(60) {
		e.add(i*i%11, i%3*(i%5))
	}
	return e
}

func samples() []sampleCase {
	options := []struct {
		name string
		set  func(*Edges)
	}{
		{"plain", func(*Edges) {}},
		{"out", func(e *Edges) { e.Out = true }},
		{"undirected", func(e *Edges) { e.Undirected = true }},
		{"undirected dedup", func(e *Edges) { e.Undirected, e.Dedup = true, true }},
		{"no loops, stored", func(e *Edges) { e.DropLoops, e.Stored = true, true }},
	}
	draws := []sampleCase{
		{Fanouts: []int{2, 3}, Seeds: []base.NodeID{0, 4, 8, 15}},
		{Fanouts: []int{-1, 2}, Seeds: []base.NodeID{8, 1}, Seed: 1 << 40},
		{Fanouts: []int{3, 0, 2}, Seeds: []base.NodeID{2, 3}, Epoch: 9},
		{Fanouts: []int{4, 4}, Seeds: []base.NodeID{0, 0, 2, 0, 2}, Batch: 1 << 33},
		{Fanouts: []int{3, 2, 1}, Seeds: []base.NodeID{6, 0, 6}, Replace: true},
		{Fanouts: []int{1}, Seeds: []base.NodeID{}},
	}
	var cases []sampleCase
	for _, o := range options {
		for _, c := range draws {
			c.Name, c.Edges = fmt.Sprint(o.name, " ", c.Fanouts), small()
			o.set(&c.Edges)
			c.Want = Sample(c.Edges.Lists(), rng.BatchKey(fp, c.Seed, c.Epoch, c.Batch), c.Seeds, c.Fanouts, c.Replace)
			cases = append(cases, c)
		}
	}
	return cases
}

func epochs() []epochCase {
	var cases []epochCase
	for _, e := range []Epoch{
		{N: 0, BatchSize: 4, World: 2},
		{N: 1, BatchSize: 4, World: 3, Rank: 2},
		{N: 10, BatchSize: 3, World: 1},
		{N: 10, BatchSize: 3, World: 1, DropLast: true, Shuffle: true, Seed: 3},
		{N: 17, BatchSize: 2, World: 4, Rank: 1, Shuffle: true, Seed: 1 << 50, Epoch: 2},
		{N: 17, BatchSize: 2, World: 4, Rank: 3, Shuffle: true, Epoch: 1 << 40},
		{N: 5, BatchSize: 2, World: 7, Rank: 6, Shuffle: true},
	} {
		for _, e.Uneven = range []string{"wrap", "drop", "ragged"} {
			cases = append(cases, epochCase{e, e.Batches(fp)})
		}
	}
	return cases
}

// TestByHand compares with batches small enough to be worked out on paper:
// nothing is drawn where the fanout covers the list.
func TestByHand(t *testing.T) {
	e := Edges{Nodes: 5, Src: []int64{2, 1, 1, 0, 3}, Dst: []int64{0, 0, 0, 1, 3}}
	got := Sample(e.Lists(), rng.Key{}, []base.NodeID{0, 4, 0}, []int{3, -1, 2}, false)
	require.Equal(t, Batch{
		NID:          []int64{0, 4, 0, 1, 2},
		Row:          []int64{3, 3, 4, 3, 3, 4, 0},
		Col:          []int64{0, 0, 0, 2, 2, 2, 3},
		EID:          []int64{1, 2, 0, 1, 2, 0, 3},
		SampledNodes: []int64{3, 2, 0, 0},
		SampledEdges: []int64{6, 1, 0},
	}, got)
}

func TestZooIsTheSameTwice(t *testing.T) {
	require.Equal(t, Zoo(), Zoo())
	for _, a := range Zoo() {
		for row := range a.Src {
			require.Less(t, max(a.Src[row], a.Dst[row]), a.Nodes, a.Name)
		}
	}
}

func TestRanksShareTheEpoch(t *testing.T) {
	for _, uneven := range []string{"wrap", "drop", "ragged"} {
		seen := map[base.BatchIdx]int{}
		for rank := range int64(3) {
			for _, p := range (Epoch{N: 23, BatchSize: 3, World: 3, Rank: rank, Uneven: uneven}).Batches(fp) {
				seen[p.Index]++
			}
		}
		want := map[string][2]int{"wrap": {8, 9}, "drop": {6, 6}, "ragged": {8, 8}}[uneven]
		total := 0
		for _, n := range seen {
			total += n
		}
		require.Equal(t, want, [2]int{len(seen), total}, uneven)
	}
}
