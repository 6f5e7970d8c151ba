package blockcache

import "errors"

// ErrOverBudget marks a cache that cannot work with the memory it is given.
// Errors that wrap it say what the least is.
var ErrOverBudget = errors.New("blockcache: over budget")

// ErrPastEnd marks a request for a block that lies past the end of its file.
var ErrPastEnd = errors.New("blockcache: past the end of the file")

// ErrRingBroken marks every Visit of a lane whose ring has failed as a whole.
var ErrRingBroken = errors.New("blockcache: ring broken")

// ErrInUse marks a Close while blocks are pinned.
var ErrInUse = errors.New("blockcache: in use")
