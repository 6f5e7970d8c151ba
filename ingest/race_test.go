//go:build race

package ingest

// detectorBytes is what the race detector adds to a small process.
const detectorBytes = 64 << 20
