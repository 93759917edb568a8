package lint

import (
	"bytes"
	"flag"
	"go/ast"
	"go/printer"
	"go/token"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// updateAPI rewrites the listing instead of comparing with it.
var updateAPI = flag.Bool("update-api", false, "write the exported API to docs/api.txt")

// listed is where the exported API is committed.
const listed = "docs/api.txt"

// experimental returns the folders whose API may change in any release, as
// docs/versions.md says.
func experimental() []string {
	return []string{
		"colloc/decide", "colloc/dispatch", "colloc/gain", "colloc/runner", "colloc/shadow", "colloc/sim", "colloc/slurm", "colloc/station", "colloc/wire", "examples",
	}
}

// apiLines lists the exported API that is promised, sorted, one line for each
// function, method, type, field, constant and variable that an importer can name: so
// that a change of it is seen in a diff, and meant.
func apiLines(tr *tree) []string {
	var lines []string
	for _, s := range tr.sources {
		free := slices.ContainsFunc(experimental(), func(dir string) bool { return below(s.dir, dir) })
		if s.test || free || s.ast.Name.Name == "main" || strings.Contains("/"+s.dir+"/", "/internal/") {
			continue
		}
		p := apiPrinter{tr: tr, dir: s.dir}
		for _, decl := range s.ast.Decls {
			p.decl(decl)
		}
		lines = append(lines, p.lines...)
	}
	slices.Sort(lines)
	return slices.Compact(lines) // what two systems build from two files is one thing
}

// An apiPrinter gathers the lines of one file.
type apiPrinter struct {
	tr    *tree
	dir   string
	lines []string
}

func (p *apiPrinter) add(parts ...string) {
	p.lines = append(p.lines, p.dir+": "+strings.Join(parts, ""))
}

func (p *apiPrinter) decl(decl ast.Decl) {
	switch decl := decl.(type) {
	case *ast.FuncDecl:
		switch {
		case !decl.Name.IsExported():
		case decl.Recv == nil:
			p.add("func ", decl.Name.Name, p.signature(decl.Type))
		case exportedReceiver(decl.Recv):
			p.add("method (", p.text(decl.Recv.List[0].Type), ") ", decl.Name.Name, p.signature(decl.Type))
		}
	case *ast.GenDecl:
		for _, spec := range decl.Specs {
			p.spec(decl.Tok, spec)
		}
	}
}

func (p *apiPrinter) spec(tok token.Token, spec ast.Spec) {
	switch spec := spec.(type) {
	case *ast.ValueSpec:
		for _, name := range spec.Names {
			if name.IsExported() {
				p.add(tok.String(), " ", name.Name, prefixed(" ", p.text(spec.Type)))
			}
		}
	case *ast.TypeSpec:
		if !spec.Name.IsExported() {
			return
		}
		name := "type " + spec.Name.Name + p.typeParams(spec.TypeParams)
		if spec.Assign.IsValid() {
			name += " ="
		}
		switch t := spec.Type.(type) {
		case *ast.StructType:
			p.add(name, " struct")
			p.fields(name+" struct, ", t.Fields)
		case *ast.InterfaceType:
			p.add(name, " interface")
			p.fields(name+" interface, ", t.Methods)
		default:
			p.add(name, " ", p.text(t))
		}
	default: // an import
	}
}

// fields adds the exported fields of a struct or methods of an interface, and says
// where others are hidden: outsiders cannot then write or implement the whole.
func (p *apiPrinter) fields(of string, list *ast.FieldList) {
	for _, field := range list.List {
		method, isMethod := field.Type.(*ast.FuncType)
		if len(field.Names) == 0 {
			p.add(of, p.text(field.Type))
		}
		for _, name := range field.Names {
			switch {
			case !name.IsExported():
				p.add(of, "unexported")
			case isMethod && strings.HasSuffix(of, " interface, "):
				p.add(of, name.Name, p.signature(method))
			default:
				p.add(of, name.Name, " ", p.text(field.Type))
			}
		}
	}
}

// signature prints a function's type without the names of its parameters, which
// may change without breaking anybody.
func (p *apiPrinter) signature(f *ast.FuncType) string {
	results := p.types(f.Results)
	switch {
	case len(results) > 1:
		return p.typeParams(f.TypeParams) + "(" + strings.Join(p.types(f.Params), ", ") + ") (" + strings.Join(results, ", ") + ")"
	default:
		return p.typeParams(f.TypeParams) + "(" + strings.Join(p.types(f.Params), ", ") + ")" + prefixed(" ", strings.Join(results, ""))
	}
}

// types prints the type of each parameter.
func (p *apiPrinter) types(list *ast.FieldList) []string {
	var types []string
	if list == nil {
		return nil
	}
	for _, field := range list.List {
		for range max(1, len(field.Names)) {
			types = append(types, p.text(field.Type))
		}
	}
	return types
}

func (p *apiPrinter) typeParams(list *ast.FieldList) string {
	if list == nil {
		return ""
	}
	var params []string
	for _, field := range list.List {
		for _, name := range field.Names {
			params = append(params, name.Name+" "+p.text(field.Type))
		}
	}
	return "[" + strings.Join(params, ", ") + "]"
}

// text prints an expression on one line, "" for none.
func (p *apiPrinter) text(e ast.Expr) string {
	if e == nil {
		return ""
	}
	if f, ok := e.(*ast.FuncType); ok {
		return "func" + p.signature(f)
	}
	var b bytes.Buffer
	if err := printer.Fprint(&b, p.tr.fset, e); err != nil {
		return err.Error()
	}
	return strings.Join(strings.Fields(b.String()), " ")
}

// prefixed is s after the prefix, or nothing.
func prefixed(prefix, s string) string {
	if s == "" {
		return ""
	}
	return prefix + s
}

// TestAPI: the exported API is the one that docs/api.txt lists. Whoever changes it
// runs go test ./internal/lint -run API -update-api and commits what changed.
func TestAPI(t *testing.T) {
	lines := apiLines(realTree(t))
	text := strings.Join(lines, "\n") + "\n"
	name := filepath.Join("..", "..", filepath.FromSlash(listed))
	if *updateAPI {
		if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		return
	}
	was, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	before := strings.Split(strings.TrimSuffix(string(was), "\n"), "\n")
	for _, line := range before {
		if _, found := slices.BinarySearch(lines, line); !found {
			t.Errorf("%s lists what is no longer exported: %s", listed, line)
		}
	}
	for _, line := range lines {
		if !slices.Contains(before, line) {
			t.Errorf("%s does not list: %s", listed, line)
		}
	}
	if t.Failed() {
		t.Log("if this is meant: go test ./internal/lint -run API -update-api; CHANGELOG says what importers must do")
	}
}

func TestAPILines(t *testing.T) {
	testRule(t, apiLines, []ruleTest{{
		name: "all kinds",
		files: map[string]string{
			"a/a.go": "package a\n\nconst Most, least int = 2, 1\n\nvar Err = New[int](nil)\n\n" +
				"type Set[T any] struct {\n\tOf, To []T\n\tn int\n}\n\n" +
				"func New[T any](a, b func(x int) error) (*Set[T], error) { return nil, nil }\n\n" +
				"func (s *Set[T]) Len() int { return 0 }\n\nfunc (s *Set[T]) grow() {}\n\n" +
				"type hidden struct{ A int }\n\nfunc (hidden) Len() int { return 0 }\n\n" +
				"type Room interface {\n\tOpen(name string) error\n\tshut()\n}\n\ntype Alias = Room\n\ntype Count int\n",
			"a/a_test.go":       "package a\n\nfunc Tested() {}\n",
			"a/internal/b/b.go": "package b\n\nfunc B() {}\n",
			"a/cmd/c/main.go":   "package main\n\nfunc C() {}\n",
			"examples/e/e.go":   "package e\n\nfunc E() {}\n",
		},
		want: []string{
			"a: const Most int",
			"a: func New[T any](func(int) error, func(int) error) (*Set[T], error)",
			"a: method (*Set[T]) Len() int",
			"a: type Alias = Room",
			"a: type Count int",
			"a: type Room interface",
			"a: type Room interface, Open(string) error",
			"a: type Room interface, unexported",
			"a: type Set[T any] struct",
			"a: type Set[T any] struct, Of []T",
			"a: type Set[T any] struct, To []T",
			"a: type Set[T any] struct, unexported",
			"a: var Err",
		},
	}})
}
