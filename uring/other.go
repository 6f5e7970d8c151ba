//go:build !linux

package uring

// The build ends here with a sentence instead of a list of missing names.
const _ = aether_ooc_reads_files_in_Linux_ways_and_builds_only_there
