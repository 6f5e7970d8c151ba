// Package report gives reports for people their look: lines of a label and what
// belongs to it, one under the other, and the same way to write counts, sizes
// and shares in all of them, and to read them where people write them.
package report
