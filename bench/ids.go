package bench

import (
	"context"
	"errors"
	"math/rand/v2"

	"github.com/aether-ooc/aether-ooc/engine"
	"github.com/aether-ooc/aether-ooc/internal/base"
	"github.com/aether-ooc/aether-ooc/internal/rng"
)

// IDs says which rows are gathered.
type IDs struct {
	Kind    string  // "uniform", "zipf" or "batches"
	Zipf    float64 // the exponent, above 1
	Seed    uint64
	Graph   string         // whose batches
	Request engine.Request // which batches
}

// Check says what is wrong.
func (i IDs) Check() error {
	if i.Kind == "zipf" && i.Zipf <= 1 {
		return optionf("zipf %v: the exponent must be above 1", i.Zipf)
	}
	if i.Kind == "batches" && i.Graph == "" {
		return optionf("ids=batches: name the graph whose batches' nodes are gathered with graph=…")
	}
	return nil
}

// rowLists are the rows of each gather, by its number. Lists may be asked for by
// any lane.
type rowLists interface{ list(n int64) []int64 }

func (i IDs) open(ctx context.Context, c FeaturesConfig, rows int64, e env) (rowLists, error) {
	if i.Kind == "batches" {
		return i.batches(ctx, c, rows, e)
	}
	order := rng.NewPermutation(base.Fingerprint{}, i.Seed, 0, uint64(rows))
	return randomRows{i, c.Rows, rows, order}, nil
}

// randomRows are drawn anew for each gather, by its number. Zipf's most wanted
// rows are spread over the file by a shuffle.
type randomRows struct {
	ids   IDs
	n     int
	rows  int64
	order rng.Permutation
}

func (r randomRows) list(n int64) []int64 {
	dice := rand.New(rand.NewPCG(r.ids.Seed, uint64(n)))
	draw := func() int64 { return dice.Int64N(r.rows) }
	if r.ids.Kind == "zipf" {
		z := rand.NewZipf(dice, r.ids.Zipf, 1, uint64(r.rows-1))
		draw = func() int64 { return int64(r.order.At(z.Uint64())) }
	}
	all := make([]int64, r.n)
	for i := range all {
		all[i] = draw()
	}
	return all
}

// recordedRows are the nodes of real batches.
type recordedRows [][]int64

func (r recordedRows) list(n int64) []int64 { return r[n%int64(len(r))] }

// batches samples the graph, before anything is measured.
func (i IDs) batches(ctx context.Context, c FeaturesConfig, rows int64, e env) (lists recordedRows, err error) {
	o := c.Options
	o.Depth, o.Lanes = 0, 0
	eng, err := engine.Open(i.Graph, o)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, eng.Close()) }()
	if nodes := eng.Info().Nodes; uint64(rows) != nodes {
		return nil, optionf("graph %s has %d nodes, and %s has %d rows: name the graph that the rows are of", i.Graph, nodes, c.Path, rows)
	}
	request := i.Request
	request.Count = c.Ramp + c.Batches
	for batch, err := range eng.Batches(ctx, request) {
		if err != nil {
			return nil, err
		}
		lists = append(lists, append([]int64(nil), batch.NID...))
		batch.Release()
		e.progress("recording batches", int64(len(lists)), request.Count)
	}
	if lists == nil {
		return nil, errors.New("bench: the graph gives no batch")
	}
	return lists, nil
}
