package inspect

import (
	"context"
	"fmt"
	"slices"

	"github.com/aether-ooc/aether-ooc/internal/base"
	"github.com/aether-ooc/aether-ooc/internal/report"
	"github.com/aether-ooc/aether-ooc/layout"
)

// VerifyResult says what was checked and found whole.
type VerifyResult struct {
	Path        string   `json:"path"`
	GraphBytes  uint64   `json:"graph_bytes"`
	BesideBytes uint64   `json:"beside_bytes"` // of attachments and their sums
	Nodes       uint64   `json:"nodes"`
	Edges       uint64   `json:"edges"`
	Fingerprint string   `json:"fingerprint"`
	ContentID   string   `json:"content_id"`
	Checks      []string `json:"checks"`
	Unchecked   []string `json:"unchecked"`
}

// defaultMemory holds a bit for each of four thousand million edges.
const defaultMemory = 512 << 20

// Verify reads every byte of the graph and of the files beside it. The first
// damage is its error, a *layout.CorruptError.
func Verify(ctx context.Context, c Config) (*VerifyResult, error) {
	if c.Memory == 0 {
		c.Memory = defaultMemory
	}
	if slices.Contains(c.Against.Inputs, "-") {
		return nil, option("edge lists are read once for each part of the graph that fits in memory, which standard input cannot be; name a file")
	}
	j, err := openJob(ctx, c)
	if err != nil {
		return nil, err
	}
	defer j.close()
	s := j.Superblock
	r := &VerifyResult{Path: c.Path, GraphBytes: s.FileLength, Nodes: s.Nodes, Edges: s.Edges,
		Fingerprint: s.Fingerprint.String(), ContentID: s.ContentID.String(), Unchecked: []string{}}
	j.total = int64(s.FileLength + j.besideBytes())
	if len(c.Against.Inputs) > 0 { // adjacency and edge ids are read again
		j.total += int64(s.FileLength)
	}
	for _, check := range []func(*VerifyResult) error{j.checkSeals, j.checkLists, j.checkBeside} {
		if err := check(r); err != nil {
			return nil, err
		}
	}
	if err := j.checkAgainst(r); err != nil {
		return nil, err
	}
	return r, nil
}

func (r *VerifyResult) checked(format string, args ...any) {
	r.Checks = append(r.Checks, fmt.Sprintf(format, args...))
}

// checkSeals reads all but the adjacency, the edge ids and the original ids,
// which checkLists reads side by side.
func (j *job) checkSeals(r *VerifyResult) error {
	s := j.Superblock
	runs := []layout.Section{{Blocks: 1}, {First: s.TableFirst, Blocks: s.TableBlocks}}
	for _, x := range j.Table {
		if !(x.Relation == 0 && slices.Contains([]layout.Kind{layout.KindAdjacency, layout.KindEdgeIDs, layout.KindOriginal}, x.Kind)) {
			runs = append(runs, x)
		}
	}
	for _, run := range runs {
		err := j.Section(run).Each(func(no base.BlockNo, b []byte) error { return j.CheckPadding(no, b) })
		if err != nil {
			return err
		}
	}
	r.checked("the seals of all %s blocks, and zeros wherever nothing is", report.Count(s.FileLength/base.BlockSize))
	r.checked("superblock, section table and index agree with each other and with every block")
	return nil
}
