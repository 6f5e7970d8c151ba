//go:build race

package inspect

// The race detector has nothing to see in one goroutine, and makes it slow.
func init() { flipStep = 43 }
