//go:build linux

package ingest

import (
	"context"
	"errors"
	"io"
	"sync"
)

// stages are the three steps that inOrder takes every item through.
type stages[T any] struct {
	fill  func(*T) error // one at a time, in order; io.EOF: no more items, and this one is not used
	work  func(*T) error // side by side
	drain func(*T) error // one at a time, in order, on the caller's goroutine
}

// job is an item on its way round.
type job[T any] struct {
	item T
	err  error
	done chan struct{} // holds one token once err is final
}

// inOrder keeps a fixed number of items going round fill, work and drain. The
// error it returns is the first in the order of the items, whoever met it. It
// returns when every goroutine that it started has ended.
func inOrder[T any](ctx context.Context, workers int, s stages[T]) error {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	n := 2*workers + 1
	free, todo, order := make(chan *job[T], n), make(chan *job[T], n), make(chan *job[T], n)
	for range n {
		free <- &job[T]{done: make(chan struct{}, 1)}
	}
	var wg sync.WaitGroup
	wg.Go(func() { produce(ctx, s.fill, free, todo, order) })
	for range workers {
		wg.Go(func() {
			for j := range todo {
				j.err = s.work(&j.item)
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
			first = s.drain(&j.item)
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
		if errors.Is(j.err, io.EOF) {
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
