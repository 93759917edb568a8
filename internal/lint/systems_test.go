package lint

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"go/types"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"example.com/colloc/internal/race"
)

// TestSystems type-checks every package, with all that it imports, for systems that this
// one is not. That finds what a build for them would, but for errors of the compiler's own,
// in a tenth of its time.
func TestSystems(t *testing.T) {
	if race.Enabled {
		t.Skip("type-checks some thousand packages in one goroutine")
	}
	files := &parsed{fset: token.NewFileSet(), files: make(map[string]*ast.File)}
	for _, system := range [][2]string{
		{"darwin", "arm64"},
		{"windows", "amd64"},
		{"linux", "arm"}, // 32 bits
	} {
		t.Run(strings.Join(system[:], "/"), func(t *testing.T) {
			for _, finding := range typeErrors(t, files, "../..", system[0], system[1]) {
				t.Error(finding)
			}
		})
	}
}

// parsed keeps the files that several systems have in common.
type parsed struct {
	fset  *token.FileSet
	files map[string]*ast.File
}

func (p *parsed) file(path string) (*ast.File, error) {
	if f, ok := p.files[path]; ok {
		return f, nil
	}
	f, err := parser.ParseFile(p.fset, path, nil, parser.SkipObjectResolution)
	if err != nil {
		return nil, err
	}
	p.files[path] = f
	return f, nil
}

// A checked package is what go list says of it.
type checked struct {
	ImportPath, Dir string
	GoFiles         []string
	ImportMap       map[string]string // only where a name means another package
	Module          *struct{ Main bool }
}

// typeErrors type-checks the module in dir without cgo for a system.
func typeErrors(t *testing.T, files *parsed, dir, goos, goarch string) []string {
	t.Helper()
	cmd := exec.Command("go", "list", "-deps", "-json=ImportPath,Dir,GoFiles,ImportMap,Module", "./...")
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), "GOOS="+goos, "GOARCH="+goarch, "CGO_ENABLED=0")
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("%v: %v: %s", cmd, err, &stderr)
	}
	var findings []string
	known := map[string]*types.Package{"unsafe": types.Unsafe}
	sizes := types.SizesFor("gc", goarch)
	for dec := json.NewDecoder(bytes.NewReader(out)); ; { // what is imported comes first
		var l checked
		if err := dec.Decode(&l); errors.Is(err, io.EOF) {
			return findings
		} else if err != nil {
			t.Fatal(err)
		}
		if l.ImportPath == "unsafe" {
			continue
		}
		ours := l.Module != nil && l.Module.Main // with the bodies of the functions
		conf := types.Config{
			Importer:         importer{known, l.ImportMap},
			Sizes:            sizes,
			IgnoreFuncBodies: !ours,
			Error: func(err error) {
				if ours {
					findings = append(findings, err.Error())
				}
			},
		}
		var sources []*ast.File
		for _, name := range l.GoFiles {
			f, err := files.file(filepath.Join(l.Dir, name))
			if err != nil {
				t.Fatal(err)
			}
			sources = append(sources, f)
		}
		known[l.ImportPath], _ = conf.Check(l.ImportPath, files.fset, sources, nil) // told to Error
	}
}

// An importer knows the packages that were checked before.
type importer struct {
	known   map[string]*types.Package
	renamed map[string]string
}

func (i importer) Import(path string) (*types.Package, error) {
	if name, ok := i.renamed[path]; ok {
		path = name
	}
	if p, ok := i.known[path]; ok {
		return p, nil
	}
	return nil, fmt.Errorf("%s is not there", path)
}

// What only another system refuses is found, and what is there for that system only.
func TestSystemsFind(t *testing.T) {
	dir := t.TempDir()
	for name, text := range map[string]string{
		"go.mod":       "module example.com/m\n\ngo 1.25.0\n",
		"a.go":         "package m\n\nimport \"syscall\"\n\nfunc f() error { return syscall.Kill(1, 2) }\n",
		"c.go":         "package m\n\nvar _ int = 1 << 41\n",
		"b_windows.go": "package m\n\nvar _ = missing\n",
	} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	files := &parsed{fset: token.NewFileSet(), files: make(map[string]*ast.File)}
	for system, want := range map[[2]string][]string{
		{"linux", "amd64"}:   nil,
		{"windows", "amd64"}: {"a.go:5:33: undefined: syscall.Kill", "b_windows.go:3:9: undefined: missing"},
		{"linux", "arm"}:     {"c.go:3:13: cannot use 1 << 41 (untyped int constant 2199023255552) as int value in variable declaration (overflows)"},
	} {
		got := typeErrors(t, files, dir, system[0], system[1])
		for i := range got {
			got[i] = strings.TrimPrefix(got[i], dir+string(filepath.Separator))
		}
		slices.Sort(got)
		if !slices.Equal(got, want) {
			t.Errorf("%s: %q, want %q", system, got, want)
		}
	}
}
