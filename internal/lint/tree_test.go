package lint

import (
	"bytes"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"maps"
	"os"
	"os/exec"
	"path"
	"slices"
	"strconv"
	"strings"
	"testing"
	"testing/fstest"

	"example.com/colloc/internal/race"
)

// module is the path of the library's module.
const module = "example.com/colloc"

// A tree is a checkout: every file, and the Go files parsed.
type tree struct {
	fset    *token.FileSet
	text    map[string][]byte // path -> content, of every file
	sources []*source         // one module's Go files outside testdata, by path
}

// A source is one Go file.
type source struct {
	path string // slash-separated, from the root
	dir  string // its folder, "." for the root
	test bool
	ast  *ast.File
}

// A rule returns what is wrong with a tree, each finding as "path: what" or
// "path:line: what".
type rule func(*tree) []string

// newTree reads the files of fsys. The Go files of nested modules are not
// parsed, see [tree.nest].
func newTree(fsys fs.FS, files []string) (*tree, error) {
	tr := &tree{fset: token.NewFileSet(), text: make(map[string][]byte)}
	for _, name := range files {
		text, err := fs.ReadFile(fsys, name)
		if err != nil {
			return nil, err
		}
		tr.text[name] = text
	}
	return tr, tr.parse(func(name string) bool { return !tr.nested(name) })
}

// nest returns the tree of a nested module: the same files, and its Go files parsed. Its
// imports are its own affair.
func (tr *tree) nest(dir string) (*tree, error) {
	in := &tree{fset: tr.fset, text: tr.text}
	return in, in.parse(func(name string) bool { return below(name, dir) })
}

// parse reads the Go files of some paths, without those in testdata.
func (tr *tree) parse(of func(name string) bool) error {
	for _, name := range tr.names() {
		if path.Ext(name) != ".go" || strings.Contains("/"+name, "/testdata/") || !of(name) {
			continue
		}
		f, err := parser.ParseFile(tr.fset, name, tr.text[name], parser.ParseComments)
		if err != nil {
			return err
		}
		test := strings.HasSuffix(name, "_test.go")
		tr.sources = append(tr.sources, &source{path: name, dir: path.Dir(name), test: test, ast: f})
	}
	return nil
}

// names returns the paths of all files in order.
func (tr *tree) names() []string { return slices.Sorted(maps.Keys(tr.text)) }

// nested reports whether a file belongs to a module below the root.
func (tr *tree) nested(name string) bool {
	for dir := path.Dir(name); dir != "."; dir = path.Dir(dir) {
		if _, ok := tr.text[dir+"/go.mod"]; ok {
			return true
		}
	}
	return false
}

// at formats a finding at a node.
func (tr *tree) at(n ast.Node, format string, args ...any) string {
	p := tr.fset.Position(n.Pos())
	return fmt.Sprintf("%s:%d: ", p.Filename, p.Line) + fmt.Sprintf(format, args...)
}

// packages groups the files by folder and package name, tests by the package
// that they test, so that a generator beside a library is a program of its own.
func (tr *tree) packages() map[[2]string][]*source {
	pkgs := make(map[[2]string][]*source)
	for _, s := range tr.sources {
		name := s.ast.Name.Name
		if s.test {
			name = strings.TrimSuffix(name, "_test")
		}
		key := [2]string{s.dir, name}
		pkgs[key] = append(pkgs[key], s)
	}
	return pkgs
}

// below reports whether a slash-separated path is dir or lies in it.
func below(name, dir string) bool {
	return name == dir || strings.HasPrefix(name, dir+"/")
}

// localName returns what a file calls an imported package, "" if it does not
// import it. The package's own name is taken to be the last part of its path.
func localName(f *ast.File, target string) string {
	for _, spec := range f.Imports {
		switch {
		case spec.Path.Value != strconv.Quote(target):
		case spec.Name != nil:
			return spec.Name.Name
		default:
			return path.Base(target)
		}
	}
	return ""
}

// isIdent reports whether an expression is the plain name, which is not "".
func isIdent(e ast.Expr, name string) bool {
	id, ok := e.(*ast.Ident)
	return ok && name != "" && id.Name == name
}

// TestTree holds this checkout against every rule.
func TestTree(t *testing.T) {
	tr := realTree(t)
	for _, tc := range []struct {
		name string
		rule rule
	}{
		{"arrows", arrows},
		{"top level", topLevel},
		{"root exports nothing", rootExports},
		{"overview", overview},
		{"package comments", packageComments},
		{"examples", examples},
		{"every door in an example", uncalled},
		{"driver types", driverTypes},
		{"prose", prose},
		{"file size", fileSize},
		{"panics", panics},
		{"unfinished", unfinished},
		{"sleeps", sleeps},
		{"machine paths", machinePaths},
		{"large CSV", largeCSV},
	} {
		t.Run(tc.name, func(t *testing.T) {
			for _, finding := range tc.rule(tr) {
				t.Error(finding)
			}
		})
	}
}

// TestKube holds the module of Kubernetes against the rules that know nothing of imports.
func TestKube(t *testing.T) {
	kube := kubeTree(t, realTree(t))
	if len(kube.sources) < 50 {
		t.Fatalf("only %d files in %s", len(kube.sources), kubeModule)
	}
	for name, of := range map[string]rule{
		"package comments": packageComments, "prose": prose, "file size": fileSize,
		"panics": panics, "unfinished": unfinished, "sleeps": sleeps,
	} {
		t.Run(name, func(t *testing.T) {
			for _, finding := range of(kube) {
				t.Error(finding)
			}
		})
	}
}

// kubeModule is the folder of the nested module that users get.
const kubeModule = "colloc/kube"

// kubeTree returns the tree of that module.
func kubeTree(t *testing.T, tr *tree) *tree {
	t.Helper()
	kube, err := tr.nest(kubeModule)
	if err != nil {
		t.Fatal(err)
	}
	return kube
}

// realTree returns the checkout that holds this package.
func realTree(t *testing.T) *tree {
	t.Helper()
	if race.Enabled {
		t.Skip("reads the whole checkout in one goroutine")
	}
	root := os.DirFS("../..")
	tr, err := newTree(root, checkout(t, root))
	if err != nil {
		t.Fatal(err)
	}
	return tr
}

// checkout lists the files that are, or on the next "git add" would be, under
// version control. Where git does not answer, as in an unpacked archive, it
// lists every file.
func checkout(t *testing.T, root fs.FS) []string {
	t.Helper()
	files := walk(t, root) // also tells go test's cache which folders matter
	cmd := exec.Command("git", "ls-files", "-z", "--cached", "--others", "--exclude-standard")
	cmd.Dir = "../.."
	out, err := cmd.Output()
	if err != nil {
		t.Logf("git ls-files: %v; checking all files", err)
		return files
	}
	known := make(map[string]bool)
	for name := range bytes.SplitSeq(out, []byte{0}) {
		known[string(name)] = true
	}
	return slices.DeleteFunc(files, func(name string) bool { return !known[name] })
}

// walk lists the regular files of fsys outside .git.
func walk(t *testing.T, fsys fs.FS) []string {
	t.Helper()
	var files []string
	err := fs.WalkDir(fsys, ".", func(name string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case name == ".git" && d.IsDir():
			return fs.SkipDir
		case d.Type().IsRegular() && name != ".git": // a worktree's .git is a file
			files = append(files, name)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return files
}

// A ruleTest is a tree in memory and the findings that a rule must have in it.
type ruleTest struct {
	name  string
	files map[string]string
	want  []string
}

// testRule runs a rule over trees in memory.
func testRule(t *testing.T, r rule, tests []ruleTest) {
	t.Helper()
	for _, tc := range tests {
		t.Run(tc.name, func(t *testing.T) {
			fsys := fstest.MapFS{}
			for name, text := range tc.files {
				fsys[name] = &fstest.MapFile{Data: []byte(text)}
			}
			tr, err := newTree(fsys, walk(t, fsys))
			if err != nil {
				t.Fatal(err)
			}
			if got := r(tr); !slices.Equal(got, tc.want) {
				t.Errorf("findings:\n\t%s\nwant:\n\t%s", strings.Join(got, "\n\t"), strings.Join(tc.want, "\n\t"))
			}
		})
	}
}
