package binfmt

import (
	"github.com/zeebo/xxh3"

	"github.com/aether-ooc/aether-ooc/internal/base"
)

// NameID is the id that a name of a node stands for: 62 bits of its XXH3-64 with a
// seed, so that it is a node id like any other.
func NameID(name []byte, seed uint64) base.NodeID { return base.NodeID(xxh3.HashSeed(name, seed) >> 2) }
