//go:build linux

package source

import (
	"bufio"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync/atomic"
)

// ogb is where datasets of the Open Graph Benchmark keep their edges below their
// folder, and the file beside that says how many nodes there are.
var ogb = []struct{ edges, nodes string }{
	{"raw/edge.csv.gz", "raw/num-node-list.csv.gz"},
	{"edge.csv.gz", "num-node-list.csv.gz"},
	{"raw/data.npz", ""},
	{"data.npz", ""},
}

// inFolder is the edge list of a folder.
func inFolder(dir string) (string, error) {
	for _, x := range ogb {
		path := filepath.Join(dir, x.edges)
		if _, err := os.Stat(path); err == nil {
			return path, nil
		}
	}
	return "", Fault(dir, "this is a folder, and no dataset of OGB (raw/edge.csv.gz, raw/data.npz); name the edge list in it")
}

// declaredBeside is how many nodes the file beside an edge list of OGB declares;
// 0 where there is none.
func declaredBeside(edges string) (int64, error) {
	for _, x := range ogb {
		if x.nodes == "" || filepath.Base(edges) != filepath.Base(x.edges) {
			continue
		}
		path := filepath.Join(filepath.Dir(edges), filepath.Base(x.nodes))
		if _, err := os.Stat(path); err == nil {
			return readCount(path)
		}
	}
	return 0, nil
}

// readCount reads the one number of a file.
func readCount(path string) (int64, error) {
	var read atomic.Int64
	f, err := openFile(path, nil, &read)
	if err != nil {
		return 0, err
	}
	defer f.close()
	var lines []string
	for in := bufio.NewScanner(f.r); in.Scan() && len(lines) < 2; {
		if line := strings.TrimSpace(in.Text()); line != "" {
			lines = append(lines, line)
		}
	}
	if len(lines) != 1 {
		return 0, Fault(path, "it names the nodes of several graphs, or of none; build from the edges of one graph")
	}
	n, err := strconv.ParseInt(lines[0], 10, 64)
	if err != nil || n < 0 {
		return 0, &InputError{File: path, Line: 1, Row: -1, Value: shorten(lines[0]), Reason: "this is no number of nodes; copy the dataset again"}
	}
	return n, nil
}
