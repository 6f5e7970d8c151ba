//go:build linux

package spill

import (
	"io"
	"sync"

	"github.com/aether-ooc/aether-ooc/internal/offheap"
)

// outputPiece is the most that an Output writes at once.
const outputPiece = 1 << 20

// Output writes to a file behind its caller's back: WriteAt takes a copy and
// returns, so that making bytes and writing them happen at the same time.
type Output struct {
	w    io.WriterAt
	jobs chan job
	free chan []byte
	wg   sync.WaitGroup
	mem  func() error

	mu  sync.Mutex
	err error
}

// NewOutput begins writing to w, with so many writes in flight. The caller ends
// it with Close, after which w is its own again.
func NewOutput(w io.WriterAt, depth int) (*Output, error) {
	mem, free, err := offheap.Reserve(int64(depth+1) * outputPiece)
	if err != nil {
		return nil, err
	}
	o := &Output{w: w, jobs: make(chan job, depth+1), free: make(chan []byte, depth+1), mem: free}
	for i := range depth + 1 {
		o.free <- mem[i*outputPiece:][:outputPiece:outputPiece]
	}
	for range depth {
		o.wg.Go(o.write)
	}
	return o, nil
}

func (o *Output) write() {
	for j := range o.jobs {
		if o.failed() == nil { // behind a failed write nothing is worth writing
			_, err := o.w.WriteAt(j.p, j.off)
			o.fail(err)
		}
		o.free <- j.p[:outputPiece]
	}
}

// WriteAt implements io.WriterAt. An error may be that of an earlier call.
func (o *Output) WriteAt(p []byte, off int64) (n int, err error) {
	for len(p) > 0 {
		if err := o.failed(); err != nil {
			return n, err
		}
		b := <-o.free
		k := copy(b, p)
		o.jobs <- job{p: b[:k], off: off}
		p, off, n = p[k:], off+int64(k), n+k
	}
	return n, nil
}

func (o *Output) failed() error {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.err
}

func (o *Output) fail(err error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.err == nil {
		o.err = err
	}
}

// Close waits for the writes and gives the first error of all. It may be called
// again.
func (o *Output) Close() error {
	if o.jobs != nil {
		close(o.jobs)
		o.wg.Wait()
		_ = o.mem()
		o.jobs = nil
	}
	return o.failed()
}
