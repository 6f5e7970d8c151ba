package layout

import "fmt"

// Encoding is how a Writer packs the lists into adjacency blocks. Batches are
// the same in each: the k-th entry of a list is.
type Encoding uint8

const (
	Plain   Encoding = 0 // every entry in as many bytes as the largest node needs
	Compact Encoding = 1 // short lists in as many bits as that, long ones in Elias-Fano
)

// The tag is a block's first byte. It governs all that follows it.
const (
	TagPlain   = 1
	TagCompact = 2
)

// String is the encoding as the command line spells it.
func (e Encoding) String() string {
	if int(e) < len(encodings) {
		return encodings[e]
	}
	return fmt.Sprintf("encoding %d", uint8(e))
}

var encodings = [...]string{Plain: "plain", Compact: "compact"}

// featureCompact is the incompatible feature of a file with compact blocks.
const featureCompact = 1 << 0

// Encoding is what the adjacency is packed in.
func (s Superblock) Encoding() Encoding {
	if s.Incompat&featureCompact != 0 {
		return Compact
	}
	return Plain
}

func (e Encoding) features() uint64 {
	if e == Compact {
		return featureCompact
	}
	return 0
}
