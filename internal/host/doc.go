// Package host says what the machine, and the control group that we run in,
// allow: memory, processors, the kernel's version, which paths a result may take.
//
//	/proc/meminfo ───────────────────────────┐
//	/proc/self/cgroup ─┐                     ├─► MemoryLimit
//	/proc/self/mountinfo ─► control group ───┤
//	                                         └─► CgroupPeak
//	/proc/self/status ─► RSS, PeakRSS
//
// A control group (version 1 or 2) limits memory on each level of its tree; the
// least of them, and of the memory that the machine has, is the limit that
// counts.
//
// All functions read the system anew on each call, keep nothing, and may be
// called from any goroutine. The readers take a file system, so that tests can
// show them machines that we do not have.
package host
