//go:build linux

package uring

import (
	"fmt"
	"math"
	"time"

	"golang.org/x/sys/unix"

	"github.com/aether-ooc/aether-ooc/internal/invariants"
)

// maxIovecs is how many pieces one system call takes (IOV_MAX). A read of more
// is continued, as if it had come back short.
const maxIovecs = 1024

// maxTries is how often a read that makes no progress is repeated.
const maxTries = 1000

// op is a read under way. The kernel knows it by its place in ring.ops.
type op struct {
	group *Group
	read  *Read

	from   int          // the bytes of the read before from are not asked for again
	got    int          // the bytes known to be read; from is got, rounded down to the alignment
	iov    []unix.Iovec // the pieces from there on: what a driver reads into
	single []byte       // the same, if it is only one
	direct bool         // the file was direct when this attempt began
	tries  int          // attempts without progress
	sent   time.Time    // the first attempt; only kept for Config.OnRead
}

// off is where in the file the driver reads.
func (o *op) off() int64 { return o.read.Off + int64(o.from) }

// check refuses, before the kernel does with a bare EINVAL, what cannot be read.
func (r *Read) check() error {
	want := r.want()
	if r.Off < 0 || r.Off > math.MaxInt64-int64(want) {
		return opError(r.File, r.Off, want, fmt.Errorf("offset out of range: %w", unix.EINVAL))
	}
	align := r.File.Align()
	if align == 1 {
		return nil
	}
	off := r.Off
	for _, b := range r.Bufs {
		if len(b) > 0 && !aligned(b, off, align) {
			return opError(r.File, r.Off, want, fmt.Errorf("offset, address and length of each piece of a direct read must be multiples of %d: %w", align, unix.EINVAL))
		}
		off += int64(len(b))
	}
	return nil
}

// begin makes o the op of a read.
func (o *op) begin(g *Group, r *Read) {
	*o = op{group: g, read: r, iov: o.iov[:0]}
}

// prepare lists the pieces to be read now. An attempt's list stays as it is
// until the attempt is over: the kernel may look at it until then.
func (o *op) prepare() {
	o.direct = o.read.File.Direct()
	o.iov = o.iov[:0]
	skip := o.from
	for _, b := range o.read.Bufs {
		if skip >= len(b) {
			skip -= len(b)
			continue
		}
		if len(o.iov) == maxIovecs {
			break
		}
		o.single = b[skip:]
		v := unix.Iovec{Base: &o.single[0]}
		v.SetLen(len(o.single))
		o.iov = append(o.iov, v)
		skip = 0
	}
	if len(o.iov) > 1 {
		o.single = nil
	}
	invariants.Check(len(o.iov) > 0, "an attempt has nothing to read")
}

// settle takes in the result of an attempt, bytes or a negative errno. It
// reports whether another attempt is needed; if not, the read's results are set.
func (o *op) settle(res int) (again bool) {
	if res < 0 {
		return o.failed(unix.Errno(-res))
	}
	if o.from+res <= o.got { // nothing new: the end of the file
		o.done(0)
		return false
	}
	o.got, o.tries = o.from+res, 0
	want := o.read.want()
	invariants.Check(o.got <= want, "read %d bytes of %d", o.got, want)
	if o.got == want || o.read.Off+int64(o.got) >= o.read.File.size {
		o.done(0)
		return false
	}
	// Cut short. A direct read has to go on at an aligned place.
	o.from = o.got &^ (o.read.File.Align() - 1)
	return true
}

func (o *op) failed(errno unix.Errno) (again bool) {
	o.tries++
	switch {
	case (errno == unix.EINTR || errno == unix.EAGAIN) && o.tries < maxTries:
		return true
	case isRefusal(errno) && o.direct && o.read.File.refuseDirect():
		return true
	}
	o.done(errno)
	return false
}

// done sets the results of the read; errno is 0 when it went well.
func (o *op) done(errno unix.Errno) {
	r := o.read
	r.N = o.got
	if errno != 0 {
		r.Err = opError(r.File, r.Off, r.want(), errno)
	}
}
