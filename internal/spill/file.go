//go:build linux

package spill

import (
	"errors"
	"fmt"
	"io"
	"sync"
	"syscall"
)

// Page is what places, addresses and lengths are multiples of.
const Page = 4096

// growth is how much room is taken at once.
const growth = 32 << 20

// Disk is what a File lies on. Temporary gives the real one.
type Disk interface {
	io.ReaderAt
	io.WriterAt
	Grow(size int64) error // takes room for so many bytes in all
	Punch(off, n int64) error
	Close() error
}

// Stats is what was transferred, and the most that the disk held at once.
type Stats struct{ Written, Read, Peak int64 }

// File is a temporary file of extents.
type File struct {
	disk Disk
	jobs chan job
	wg   sync.WaitGroup // of the goroutines that transfer

	mu         sync.Mutex
	idle       *sync.Cond // pending became 0
	pending    int        // writes on their way
	next, room int64      // where the next extent lies; up to where there is room
	held       int64      // bytes appended and not freed
	stats      Stats
	err        error // the first of a write
}

// job is one transfer.
type job struct {
	p     []byte
	off   int64
	write bool
	done  func(error)
}

// New begins a file on d, which it closes in the end, with so many transfers in
// flight.
func New(d Disk, depth int) *File {
	f := &File{disk: d, jobs: make(chan job)}
	f.idle = sync.NewCond(&f.mu)
	for range depth {
		f.wg.Go(f.transfer)
	}
	return f
}

func (f *File) transfer() {
	for j := range f.jobs {
		var err error
		if j.write {
			_, err = f.disk.WriteAt(j.p, j.off)
		} else {
			_, err = f.disk.ReadAt(j.p, j.off)
		}
		j.done(err)
	}
}

// Append writes p behind what is there and says where. It does not wait for the
// disk: done is called when p may be used again. An error of an earlier write
// is returned, and then, as with any error, done is not called.
func (f *File) Append(p []byte, done func()) (off int64, err error) {
	if off, err = f.take(int64(len(p))); err != nil {
		return 0, err
	}
	f.jobs <- job{p, off, true, func(err error) { f.written(err); done() }}
	return off, nil
}

// take reserves the next n bytes of the file.
func (f *File) take(n int64) (off int64, err error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.err != nil {
		return 0, f.err
	}
	if f.next+n > f.room {
		if err := f.grow(f.next + n); err != nil {
			return 0, err
		}
	}
	off = f.next
	f.next += n
	f.held += n
	f.stats.Written += n
	f.stats.Peak = max(f.stats.Peak, f.held)
	f.pending++
	return off, nil
}

// grow takes room in large pieces, and just what is needed where the disk is
// nearly full.
func (f *File) grow(least int64) error {
	size := least + growth
	err := f.disk.Grow(size)
	if errors.Is(err, syscall.ENOSPC) {
		size = least
		err = f.disk.Grow(size)
	}
	if err != nil {
		return fmt.Errorf("temporary file: room for %d bytes: %w", size, err)
	}
	f.room = size
	return nil
}

func (f *File) written(err error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if err != nil && f.err == nil {
		f.err = fmt.Errorf("temporary file: %w", err)
	}
	if f.pending--; f.pending == 0 {
		f.idle.Broadcast()
	}
}

// Flush waits until all that was appended is written.
func (f *File) Flush() error {
	f.mu.Lock()
	defer f.mu.Unlock()
	for f.pending > 0 {
		f.idle.Wait()
	}
	return f.err
}

// Piece is a run of bytes of the file and where they go.
type Piece struct {
	Off int64
	P   []byte
}

// Read fills all pieces, several at a time. They must be written: see Flush.
func (f *File) Read(pieces []Piece) error {
	var (
		wg   sync.WaitGroup
		errs = make([]error, len(pieces))
		n    int64
	)
	for i, p := range pieces {
		n += int64(len(p.P))
		wg.Add(1)
		f.jobs <- job{p.P, p.Off, false, func(err error) { errs[i] = err; wg.Done() }}
	}
	wg.Wait()
	f.mu.Lock()
	defer f.mu.Unlock()
	f.stats.Read += n
	for _, err := range errs {
		if err != nil {
			return fmt.Errorf("temporary file: %w", err)
		}
	}
	return nil
}

// Free gives the room of n bytes back to the filesystem.
func (f *File) Free(off, n int64) error {
	if err := f.disk.Punch(off, n); err != nil {
		return fmt.Errorf("temporary file: %w", err)
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	f.held -= n
	return nil
}

// Stats may be asked at any time.
func (f *File) Stats() Stats {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.stats
}

// Close waits for what is on its way and gives everything back.
func (f *File) Close() error {
	close(f.jobs)
	f.wg.Wait()
	return f.disk.Close()
}
