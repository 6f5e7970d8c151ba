package oracle

import (
	"github.com/aether-ooc/aether-ooc/internal/base"
	"github.com/aether-ooc/aether-ooc/internal/rng"
)

// Epoch is the question which of n input positions make which batch of a rank.
type Epoch struct {
	N         int64  `json:"n"`
	BatchSize int64  `json:"batch_size"`
	Shuffle   bool   `json:"shuffle,omitempty"`
	DropLast  bool   `json:"drop_last,omitempty"`
	Rank      int64  `json:"rank,omitempty"`
	World     int64  `json:"world_size"`
	Uneven    string `json:"uneven"` // "wrap", "drop" or "ragged"
	Seed      uint64 `json:"seed,omitempty"`
	Epoch     uint64 `json:"epoch,omitempty"`
}

// Positions is one batch: its global number and its seeds' input positions.
type Positions struct {
	Index base.BatchIdx `json:"index"`
	At    []int64       `json:"at"`
}

// Batches lists the rank's batches in order.
func (e Epoch) Batches(fp base.Fingerprint) []Positions {
	batches := (e.N + e.BatchSize - 1) / e.BatchSize
	if e.DropLast {
		batches = e.N / e.BatchSize
	}
	turns := (batches + e.World - 1) / e.World
	if e.Uneven == "drop" {
		turns = batches / e.World
	}
	shuffle := rng.NewPermutation(fp, e.Seed, e.Epoch, uint64(e.N))
	all := []Positions{}
	for turn := range turns {
		number := e.Rank + turn*e.World
		if number >= batches && e.Uneven == "ragged" {
			break
		}
		number %= batches
		p := Positions{Index: base.BatchIdx(number)}
		for i := number * e.BatchSize; i < min(e.N, (number+1)*e.BatchSize); i++ {
			at := i
			if e.Shuffle {
				at = int64(shuffle.At(uint64(i)))
			}
			p.At = append(p.At, at)
		}
		all = append(all, p)
	}
	return all
}
