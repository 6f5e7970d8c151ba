//go:build linux

package ingest

import "context"

// ticker reports a phase's progress, and ends it when its context does, without
// troubling anybody at every step.
type ticker struct {
	ctx      context.Context
	progress Progress
	phase    string
	total    int64
	every    int64
	next     int64
}

// step tells that done of total are done; it is cheap.
func (t *ticker) step(done int64) error {
	if done < t.next {
		return nil
	}
	t.next = done + t.every
	t.progress(t.phase, done, t.total)
	return context.Cause(t.ctx)
}
