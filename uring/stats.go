//go:build linux

package uring

import (
	"math/bits"

	"github.com/aether-ooc/aether-ooc/internal/report"
)

// DepthBuckets is the length of Stats.DepthHist.
const DepthBuckets = 16

// Stats is what a ring has done since it was opened.
type Stats struct {
	Backend string `json:"backend"` // "uring", "pread", …
	Depth   int    `json:"depth"`   // the most reads that may be under way

	// What the kernel granted; all false for pread.
	SingleIssuer bool `json:"single_issuer"`
	DeferTaskrun bool `json:"defer_taskrun"`
	FixedFiles   bool `json:"fixed_files"`
	FixedBuffers bool `json:"fixed_buffers"`

	Groups   int64 `json:"groups"`     // returned
	Reads    int64 `json:"reads"`      // done, whether well or not
	Errors   int64 `json:"errors"`     // those with an error
	Bytes    int64 `json:"read_bytes"` //
	Attempts int64 `json:"attempts"`   // sent to the device: Reads, and what was continued or repeated
	Syscalls int64 `json:"syscalls"`
	Wakes    int64 `json:"wakes"` // Waits that returned because of a Wake

	// DepthHist counts attempts by how many were under way, themselves included,
	// just before they completed: bucket b counts depths of 2^(b-1)+1 … 2^b.
	DepthHist [DepthBuckets]int64 `json:"depth_hist"`
	DepthSum  int64               `json:"depth_sum"` // of the same depths
}

// MeanDepth is the depth that was achieved: the mean of DepthHist's depths.
func (s Stats) MeanDepth() float64 {
	var n int64
	for _, k := range s.DepthHist {
		n += k
	}
	return report.Ratio(s.DepthSum, n)
}

// ReadsPerSyscall is how many attempts a system call carried on average.
func (s Stats) ReadsPerSyscall() float64 { return report.Ratio(s.Attempts, s.Syscalls) }

// Add sums up rings. What they were granted is true if it is for both.
func (s Stats) Add(o Stats) Stats {
	if s.Backend == "" {
		return o
	}
	s.Depth += o.Depth
	s.SingleIssuer = s.SingleIssuer && o.SingleIssuer
	s.DeferTaskrun = s.DeferTaskrun && o.DeferTaskrun
	s.FixedFiles = s.FixedFiles && o.FixedFiles
	s.FixedBuffers = s.FixedBuffers && o.FixedBuffers
	return s.plus(o, 1)
}

// Since is what was counted after the earlier snapshot o of the same rings.
func (s Stats) Since(o Stats) Stats { return s.plus(o, -1) }

// plus adds sign times the counters of o.
func (s Stats) plus(o Stats, sign int64) Stats {
	s.Groups += sign * o.Groups
	s.Reads += sign * o.Reads
	s.Errors += sign * o.Errors
	s.Bytes += sign * o.Bytes
	s.Attempts += sign * o.Attempts
	s.Syscalls += sign * o.Syscalls
	s.Wakes += sign * o.Wakes
	for b := range s.DepthHist {
		s.DepthHist[b] += sign * o.DepthHist[b]
	}
	s.DepthSum += sign * o.DepthSum
	return s
}

func (s *Stats) atDepth(d int) {
	s.DepthHist[bits.Len(uint(d-1))]++
	s.DepthSum += int64(d)
}

func (s *Stats) count(r *Read) {
	s.Reads++
	s.Bytes += int64(r.N)
	if r.Err != nil {
		s.Errors++
	}
}
