//go:build !race

package ingest

const detectorBytes = 0
