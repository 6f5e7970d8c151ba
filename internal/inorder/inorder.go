// Package inorder takes items through three steps: they are filled one after the
// other, worked on side by side, and drained one after the other in the order in
// which they were filled. It is how everything that is read, decoded, sorted or
// written in parallel keeps the order of its input, and how the first error in
// that order is the one reported, however many workers there are.
package inorder

import (
	"context"
	"io"
	"sync"
)

// Stages are the three steps that Run takes every item through.
type Stages[T any] struct {
	Fill  func(*T) error // one at a time, in order; io.EOF itself, unwrapped: no more items, and this one is not used
	Work  func(*T) error // side by side
	Drain func(*T) error // one at a time, in order, on the caller's goroutine
}

// job is an item on its way round.
type job[T any] struct {
	item T
	err  error
	done chan struct{} // holds one token once err is final
}

// Run keeps a fixed number of items, Items(workers), going round the steps. The
// error it returns is the first in the order of the items, whoever met it. It
// returns when every goroutine that it started has ended.
func Run[T any](ctx context.Context, workers int, s Stages[T]) error {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	n := Items(workers)
	free, todo, order := make(chan *job[T], n), make(chan *job[T], n), make(chan *job[T], n)
	for range n {
		free <- &job[T]{done: make(chan struct{}, 1)}
	}
	var wg sync.WaitGroup
	wg.Go(func() { produce(ctx, s.Fill, free, todo, order) })
	for range workers {
		wg.Go(func() {
			for j := range todo {
				j.err = s.Work(&j.item)
				j.done <- struct{}{}
			}
		})
	}
	var first error
	for j := range order {
		<-j.done
		if first == nil {
			first = j.err
		}
		if first == nil {
			first = s.Drain(&j.item)
		}
		if first != nil {
			cancel(first)
		}
		free <- j
	}
	wg.Wait()
	if first == nil {
		first = context.Cause(ctx)
	}
	return first
}

// Items is how many items go round between so many workers: what each holds on
// to, every worker's next and last one among them, is held so many times.
func Items(workers int) int { return 2*workers + 1 }

// produce fills free items until fill ends or ctx does. An error of fill takes
// its item's place in the order.
func produce[T any](ctx context.Context, fill func(*T) error, free, todo, order chan *job[T]) {
	defer close(order)
	defer close(todo)
	for ctx.Err() == nil {
		var j *job[T]
		select {
		case j = <-free:
		case <-ctx.Done():
			return
		}
		j.err = fill(&j.item)
		if j.err == io.EOF {
			return
		}
		order <- j
		if j.err != nil {
			j.done <- struct{}{}
			return
		}
		todo <- j
	}
}
