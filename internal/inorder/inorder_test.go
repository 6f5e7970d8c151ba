package inorder

import (
	"context"
	"errors"
	"io"
	"math/rand/v2"
	"runtime"
	"testing"

	"github.com/stretchr/testify/require"
)

// numbered gives the items 0 … n-1 and collects what comes out.
func numbered(n int, out *[]int) Stages[int] {
	next := 0
	return Stages[int]{
		Fill: func(i *int) error {
			if next == n {
				return io.EOF
			}
			*i = next
			next++
			return nil
		},
		Work: func(*int) error {
			for range rand.IntN(50) {
				runtime.Gosched()
			}
			return nil
		},
		Drain: func(i *int) error { *out = append(*out, *i); return nil },
	}
}

func upTo(n int) (list []int) {
	for i := range n {
		list = append(list, i)
	}
	return list
}

func TestRun(t *testing.T) {
	for _, workers := range []int{1, 2, 9} {
		for _, n := range []int{0, 1, 2, 500} {
			var out []int
			require.NoError(t, Run(context.Background(), workers, numbered(n, &out)))
			require.Equal(t, upTo(n), out)
		}
	}
}

// Whichever step fails, the first failure in the order of items is reported,
// and nothing after it is drained.
func TestRunReportsTheFirstError(t *testing.T) {
	early, late := errors.New("early"), errors.New("late")
	for _, workers := range []int{1, 4} {
		for k := range 30 {
			for step := range 3 {
				var out []int
				s := numbered(100, &out)
				fill, work, drain := s.Fill, s.Work, s.Drain
				failAt := func(i *int, err error) error {
					switch {
					case *i == k:
						return early
					case *i > k && step == 1:
						return late
					}
					return err
				}
				switch step {
				case 0:
					s.Fill = func(i *int) error { err := fill(i); return failAt(i, err) }
				case 1:
					s.Work = func(i *int) error { err := work(i); return failAt(i, err) }
				case 2:
					s.Drain = func(i *int) error {
						if *i == k {
							return early
						}
						return drain(i)
					}
				}
				require.Equal(t, early, Run(context.Background(), workers, s))
				require.Equal(t, upTo(k), out)
			}
		}
	}
}

func TestRunStopsWithItsContext(t *testing.T) {
	cause := errors.New("enough")
	ctx, cancel := context.WithCancelCause(context.Background())
	var out []int
	s := numbered(1<<30, &out)
	drain := s.Drain
	s.Drain = func(i *int) error {
		if *i == 20 {
			cancel(cause)
		}
		return drain(i)
	}
	require.ErrorIs(t, Run(ctx, 3, s), cause)
	require.Less(t, len(out), 40)
	require.ErrorIs(t, Run(ctx, 3, numbered(5, &out)), cause)
}
