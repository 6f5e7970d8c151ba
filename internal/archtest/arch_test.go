package archtest

import (
	"encoding/json"
	"errors"
	"io"
	"os/exec"
	"slices"
	"strings"
	"testing"
)

const module = "github.com/aether-ooc/aether-ooc"

// rows is docs/ARCHITECTURE.md's table: a package may import only packages of
// lower rows. Everything under internal/ lies below all of them, testOnly
// aside.
var rows = map[string]int{
	"uring":          0,
	"ingest/source":  0,
	"layout":         1,
	"blockcache":     1,
	"sampler":        2,
	"scan":           2,
	"features":       2,
	"engine":         3,
	"arrowbatch":     4,
	"ingest":         5,
	"ingest/matrix":  5,
	"ingest/relabel": 4,
	"inspect":        5,
	"serve":          5,
	"serve/client":   5,
	"bench":          6,
	"cmd/aether-ooc": 7,

	"bench/peers/plain": 7,
}

// testOnly packages may import what they help to test, and only tests may
// import them.
var testOnly = []string{"internal/faultio", "internal/oracle", "internal/archtest"}

// fences names, for each fenced module, where it may be imported directly.
var fences = []struct {
	prefix  string
	allowed []string
}{
	{"golang.org/x/sys", []string{"uring", "blockcache", "serve", "internal/"}},
	{"github.com/apache/arrow/", []string{"arrowbatch", "serve", "ingest", "inspect"}},
	{"google.golang.org/grpc", []string{"serve"}},
	{"github.com/spf13/cobra", []string{"cmd/"}},
	{"github.com/dgraph-io/ristretto", []string{"blockcache"}},
	{"github.com/pawelgaczynski/giouring", []string{"uring"}},
	{"github.com/klauspost/compress", []string{"ingest/source"}},
	{"gonum.org/", []string{"bench"}},
}

type pkg struct {
	ImportPath string
	Imports    []string
}

func list(t *testing.T, tags string) []pkg {
	t.Helper()
	cmd := exec.Command("go", "list", "-json=ImportPath,Imports", "-tags="+tags, "./...")
	cmd.Dir = "../.."
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("go list: %v", err)
	}
	var pkgs []pkg
	for dec := json.NewDecoder(strings.NewReader(string(out))); ; {
		var p pkg
		if err := dec.Decode(&p); errors.Is(err, io.EOF) {
			return pkgs
		} else if err != nil {
			t.Fatal(err)
		}
		pkgs = append(pkgs, p)
	}
}

func TestRows(t *testing.T) {
	for _, tags := range []string{"", "invariants", "giouring"} {
		for _, p := range list(t, tags) {
			for _, complaint := range complaints(p) {
				t.Error(complaint)
			}
		}
	}
}

// TestComplaints shows that each rule can fail.
func TestComplaints(t *testing.T) {
	for _, c := range []struct {
		from, to string
		want     string
	}{
		{"uring", module + "/internal/base", ""},
		{"engine", module + "/sampler", ""},
		{"sampler", module + "/features", "sideways or up"},
		{"layout", module + "/engine", "sideways or up"},
		{"engine", module + "/internal/faultio", "tests only"},
		{"internal/base", module + "/uring", "lies below"},
		{"basement", "fmt", "has no row"},
		{"layout", "golang.org/x/sys/unix", "fenced"},
		{"serve/client", "google.golang.org/grpc", ""},
		{"servers", "google.golang.org/grpc", "fenced"},
		{"serve/client", module + "/serve", ""},
		{"serve", module + "/serve/client", "sideways or up"},
	} {
		got := strings.Join(complaints(pkg{module + "/" + c.from, []string{c.to}}), "\n")
		if (c.want == "") != (got == "") || !strings.Contains(got, c.want) {
			t.Errorf("%s -> %s: %q, want %q", c.from, c.to, got, c.want)
		}
	}
}

func complaints(p pkg) []string {
	from := strings.TrimPrefix(p.ImportPath, module+"/")
	var all []string
	row, known := rows[from]
	if !known && !strings.HasPrefix(from, "internal/") {
		all = append(all, from+" has no row: place it in docs/ARCHITECTURE.md and in this test")
	}
	for _, imp := range p.Imports {
		to, ours := strings.CutPrefix(imp, module+"/")
		switch {
		case !ours:
			all = append(all, fenceComplaints(from, imp)...)
		case slices.Contains(testOnly, to):
			if !slices.Contains(testOnly, from) {
				all = append(all, from+" imports "+to+", which is for tests only")
			}
		case strings.HasPrefix(to, "internal/") || slices.Contains(testOnly, from):
		case strings.HasPrefix(from, "internal/"):
			all = append(all, from+" lies below all rows but imports "+to)
		case rows[to] >= row && !strings.HasPrefix(from, to+"/"):
			all = append(all, from+" imports "+to+": sideways or up")
		}
	}
	return all
}

func fenceComplaints(from, imp string) []string {
	for _, f := range fences {
		if imp != f.prefix && !strings.HasPrefix(imp, strings.TrimSuffix(f.prefix, "/")+"/") {
			continue
		}
		if !slices.ContainsFunc(f.allowed, func(a string) bool { return within(from, a) }) {
			return []string{from + " imports " + imp + ", fenced to " + strings.Join(f.allowed, ", ")}
		}
	}
	return nil
}

// within reports whether package from is place or lies in it.
func within(from, place string) bool {
	return from == place || strings.HasPrefix(from, strings.TrimSuffix(place, "/")+"/")
}
