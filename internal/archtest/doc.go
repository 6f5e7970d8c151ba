// Package archtest holds the building to its plan: docs/ARCHITECTURE.md's
// table of rows and the fences around third-party modules are compared with
// what `go list` says of every package's direct imports, and the packages that
// are doors for other programs may speak no internal package's name. It has
// tests only.
package archtest
