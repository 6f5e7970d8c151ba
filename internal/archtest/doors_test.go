package archtest

import (
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"unicode"
)

// doors are the packages that programs outside of this module use.
var doors = []string{"engine", "arrowbatch", "serve", "serve/client", "ingest"}

// TestDoorsCanBeUsedFromOutside: no exported declaration of a door is written
// with the name of an internal package, which nobody outside can write. An alias
// (`type NodeID = base.NodeID`) gives them a name.
func TestDoorsCanBeUsedFromOutside(t *testing.T) {
	for _, door := range doors {
		for _, complaint := range internalNames(parseDoor(t, door)) {
			t.Errorf("%s: %s", door, complaint)
		}
	}
}

// TestInternalNames shows what is found, and what is passed over.
func TestInternalNames(t *testing.T) {
	const source = `package p
import "` + module + `/internal/base"
type Alias = base.NodeID
type Open struct { A []base.NodeID; b base.NodeID }
type closed struct { A base.NodeID }
func Do(v base.NodeID) {}
func (c closed) Do(v base.NodeID) {}
func (o *Open) Do() (*base.NodeID, error) { var x base.BlockNo; _ = x; return nil, nil }
func do(v base.NodeID) {}
`
	f, err := parser.ParseFile(token.NewFileSet(), "p.go", source, 0)
	if err != nil {
		t.Fatal(err)
	}
	want := []string{"Open.A says base.NodeID", "Do says base.NodeID", "Open.Do says base.NodeID"}
	if got := internalNames([]*ast.File{f}); !slices.Equal(got, want) {
		t.Errorf("%q, want %q", got, want)
	}
}

// onThePage are the packages whose exported names docs/ARCHITECTURE.md lists.
var onThePage = []string{"uring", "layout", "blockcache", "sampler", "features", "engine", "arrowbatch", "serve", "serve/client", "ingest/source", "ingest", "inspect"}

// everywhere are methods that go without saying.
var everywhere = []string{"Error", "Unwrap", "String", "Text", "MarshalJSON", "UnmarshalJSON"}

func TestThePageNamesAllThatIsExported(t *testing.T) {
	text, err := os.ReadFile("../../docs/ARCHITECTURE.md")
	if err != nil {
		t.Fatal(err)
	}
	words := strings.FieldsFunc(string(text), func(r rune) bool { return r != '_' && !unicode.IsLetter(r) && !unicode.IsDigit(r) })
	for _, p := range onThePage {
		for _, f := range parseDoor(t, p) {
			for _, name := range exported(f) {
				if !slices.Contains(words, name) {
					t.Errorf("%s: docs/ARCHITECTURE.md does not name %s", p, name)
				}
			}
		}
	}
}

// exported lists a file's exported functions, methods and types.
func exported(f *ast.File) (names []string) {
	for _, d := range f.Decls {
		switch d := d.(type) {
		case *ast.FuncDecl:
			if funcName(d) != "" && !slices.Contains(everywhere, d.Name.Name) {
				names = append(names, d.Name.Name)
			}
		case *ast.GenDecl:
			for _, s := range d.Specs {
				if spec, ok := s.(*ast.TypeSpec); ok && spec.Name.IsExported() {
					names = append(names, spec.Name.Name)
				}
			}
		}
	}
	return names
}

func parseDoor(t *testing.T, door string) (files []*ast.File) {
	t.Helper()
	names, err := filepath.Glob(filepath.Join("../..", door, "*.go"))
	if err != nil || len(names) == 0 {
		t.Fatalf("%s: %d files, %v", door, len(names), err)
	}
	for _, name := range names {
		if strings.HasSuffix(name, "_test.go") {
			continue
		}
		text, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		f, err := parser.ParseFile(token.NewFileSet(), name, text, 0)
		if err != nil {
			t.Fatal(err)
		}
		files = append(files, f)
	}
	return files
}

// internalNames lists the exported declarations that name an internal package.
func internalNames(files []*ast.File) (all []string) {
	for _, f := range files {
		hidden := internalImports(f)
		say := func(where string, n ast.Node) {
			for _, name := range namesIn(n, hidden) {
				all = append(all, where+" says "+name)
			}
		}
		for _, d := range f.Decls {
			switch d := d.(type) {
			case *ast.FuncDecl:
				if where := funcName(d); where != "" {
					say(where, d.Type)
				}
			case *ast.GenDecl:
				for _, s := range d.Specs {
					sayFields(s, say)
				}
			}
		}
	}
	return all
}

// sayFields looks at the exported fields of an exported struct, and at the whole
// of any other exported type; an alias is the remedy, so it passes.
func sayFields(s ast.Spec, say func(string, ast.Node)) {
	spec, ok := s.(*ast.TypeSpec)
	if !ok || !spec.Name.IsExported() || spec.Assign.IsValid() {
		return
	}
	fields, ok := spec.Type.(*ast.StructType)
	if !ok {
		say(spec.Name.Name, spec.Type)
		return
	}
	for _, field := range fields.Fields.List {
		for _, name := range field.Names {
			if name.IsExported() {
				say(spec.Name.Name+"."+name.Name, field.Type)
			}
		}
	}
}

// funcName is how an exported function or method is called; "" for others.
func funcName(d *ast.FuncDecl) string {
	if !d.Name.IsExported() || d.Recv == nil {
		return map[bool]string{true: d.Name.Name}[d.Name.IsExported()]
	}
	of := d.Recv.List[0].Type
	if star, ok := of.(*ast.StarExpr); ok {
		of = star.X
	}
	if id, ok := of.(*ast.Ident); ok && id.IsExported() {
		return id.Name + "." + d.Name.Name
	}
	return ""
}

func internalImports(f *ast.File) (names []string) {
	for _, i := range f.Imports {
		if p := strings.Trim(i.Path.Value, `"`); strings.HasPrefix(p, module+"/internal/") {
			names = append(names, path.Base(p))
		}
	}
	return names
}

func namesIn(n ast.Node, packages []string) (found []string) {
	ast.Inspect(n, func(n ast.Node) bool {
		if s, ok := n.(*ast.SelectorExpr); ok {
			if x, ok := s.X.(*ast.Ident); ok && slices.Contains(packages, x.Name) {
				found = append(found, x.Name+"."+s.Sel.Name)
			}
		}
		return true
	})
	return found
}
