package sampler

// keeper decides when scratch has become too large for the groups of late: it
// looks after every reviewEvery-th group, and when all since the last look were
// less than a quarter of the largest that the scratch has seen, the scratch is
// dropped, to grow again as needed.
type keeper struct {
	groups, recent, largest int // sizes are in nodes and edges
}

const (
	reviewEvery = 64
	tooMuch     = 4
	alwaysKeep  = 1 << 20 // bytes not worth the trouble
)

// review notes the size of a group.
func (k *keeper) review(c *scratch, size int) {
	k.recent, k.largest = max(k.recent, size), max(k.largest, size)
	if k.groups++; k.groups < reviewEvery {
		return
	}
	if k.recent < k.largest/tooMuch && c.bytes() > alwaysKeep {
		*c = scratch{}
		k.largest = k.recent
	}
	k.groups, k.recent = 0, 0
}
