package bench

import (
	"context"
	"errors"
	"fmt"
	"runtime/debug"
	"slices"
	"time"
)

// Check prepares every section without running it, and says what is wrong.
func Check(sections []Section) error {
	_, err := prepare(sections)
	return err
}

// prepared is a section that can run.
type prepared struct {
	Section
	runner runner
}

func prepare(sections []Section) ([]prepared, error) {
	var all []prepared
	for _, s := range sections {
		if s.Settings.text("target") == "" {
			return nil, optionf("section [%s] has no target: name its %s with target=…", s.Name, s.Settings.Workload.Target)
		}
		r, err := s.Settings.Workload.prepare(s.Settings)
		if err != nil {
			return nil, fmt.Errorf("section [%s]: %w", s.Name, err)
		}
		all = append(all, prepared{s, r})
	}
	return all, nil
}

// Run measures the sections, each as often as its repeat says. Their runs take
// turns, so that what changes on the machine meanwhile meets all of them alike.
// When ctx ends, the document holds what was measured until then. When one of
// several sections fails, the others go on, and the document comes with the error.
func Run(ctx context.Context, sections []Section, h Hooks) (*Document, error) {
	all, err := prepare(sections)
	if err != nil {
		return nil, err
	}
	d := newDocument(sections)
	var errs []error
	for round := range most(sections) {
		for _, i := range turns(len(all), round) {
			if round >= all[i].Settings.int("repeat") || d.Sections[i].gone() || ctx.Err() != nil {
				continue
			}
			r, err := all[i].once(ctx, h)
			d.note(i, r, err)
			if err != nil {
				errs = append(errs, fmt.Errorf("section [%s]: %w", all[i].Name, err))
			}
		}
	}
	if len(errs) == len(sections) {
		return nil, errors.Join(errs...)
	}
	d.finish(ctx.Err() != nil)
	errs = slices.DeleteFunc(errs, func(err error) bool { return errors.Is(err, ErrMissing) })
	return d, errors.Join(errs...)
}

// turns is the order of a round. Every second one runs backwards, so that no
// section always comes after the same neighbour.
func turns(n, round int) []int {
	order := make([]int, n)
	for i := range order {
		order[i] = i
		if round%2 == 1 {
			order[i] = n - 1 - i
		}
	}
	return order
}

// once is one run, from a clean start: what the runs before left on the heap and
// as the process's peak is not this one's.
func (p prepared) once(ctx context.Context, h Hooks) (Result, error) {
	debug.FreeOSMemory()
	resetPeakRSS()
	preparePages(p.Settings)
	e := env{Hooks: h, every: p.Settings.duration("status-interval"), say: func(s Status) {
		if h.Status != nil {
			h.Status(p.Name, s)
		}
	}}
	started := time.Now()
	r, err := p.runner(ctx, e)
	if err != nil {
		return nil, err
	}
	c := r.common()
	c.Workload, c.Target, c.Started = p.Settings.Workload.Name, p.Settings.text("target"), started.UTC()
	c.Place = placeOf(c.Target)
	return r, nil
}

func most(sections []Section) int {
	n := 0
	for _, s := range sections {
		n = max(n, s.Settings.int("repeat"))
	}
	return n
}
