package lint

import (
	"bytes"
	"go/ast"
	"go/doc"
	"go/parser"
	"go/token"
	"slices"
	"strings"
	"testing"
)

// topLevel finds folders at the top that ARCHITECTURE does not know.
func topLevel(tr *tree) []string {
	known := []string{"profile", "predict", "packer", "nvmlx", "colloc", "examples", "internal", "docs"}
	var findings []string
	for _, name := range tr.names() {
		dir, _, below := strings.Cut(name, "/")
		if !below || strings.HasPrefix(dir, ".") || slices.Contains(known, dir) {
			continue
		}
		findings = append(findings, name+": unknown folder "+dir+" at the top level")
	}
	return findings
}

func TestTopLevel(t *testing.T) {
	testRule(t, topLevel, []ruleTest{
		{
			name:  "known",
			files: map[string]string{"README.md": "", ".ci/run": "", "docs/adr/0001-x.md": "", "packer/a.txt": ""},
		},
		{
			name:  "unknown",
			files: map[string]string{"utils/a.txt": "", "scripts/b/c.sh": ""},
			want: []string{
				"scripts/b/c.sh: unknown folder scripts at the top level",
				"utils/a.txt: unknown folder utils at the top level",
			},
		},
	})
}

// rootExports finds exported names in the root package, which is an overview
// and nothing else.
func rootExports(tr *tree) []string {
	var findings []string
	for _, s := range tr.sources {
		if s.dir != "." || s.test {
			continue
		}
		for _, decl := range s.ast.Decls {
			for _, id := range declared(decl) {
				if id.IsExported() {
					findings = append(findings, tr.at(id, "the root package exports %s; it holds the overview only", id.Name))
				}
			}
		}
	}
	return findings
}

// overview finds public packages that the root's doc.go does not name: the
// overview is where a reader starts.
func overview(tr *tree) []string {
	var findings []string
	for key, files := range tr.packages() {
		dir := key[0]
		hidden := key[1] == "main" || dir == "." || slices.Contains(strings.Split(dir, "/"), "internal") || below(dir, "examples") ||
			!slices.ContainsFunc(files, func(s *source) bool { return !s.test })
		if !hidden && !bytes.Contains(tr.text["doc.go"], []byte("["+module+"/"+dir+"]")) {
			findings = append(findings, dir+": doc.go of the root has no line for ["+module+"/"+dir+"]")
		}
	}
	slices.Sort(findings)
	return findings
}

func TestOverview(t *testing.T) {
	testRule(t, overview, []ruleTest{
		{
			name: "named",
			files: map[string]string{
				"doc.go":                    "// Package colloc.\n//\n//   - [" + module + "/packer]: packs\npackage colloc\n",
				"packer/a.go":               "package packer\n",
				"packer/internal/a/a.go":    "package a\n",
				"predict/a_test.go":         "package predict\n",
				"examples/a/main.go":        "package main\n",
				"examples/a/helper/help.go": "package helper\n",
			},
		},
		{
			name: "not named",
			files: map[string]string{
				"doc.go":           "// Package colloc has [" + module + "/packer].\npackage colloc\n",
				"packer/a.go":      "package packer\n",
				"packer/mig/a.go":  "package mig\n",
				"profile/pack.go":  "package profile\n",
				"profile/main.go":  "package main\n",
				"internal/a/ab.go": "package a\n",
			},
			want: []string{
				"packer/mig: doc.go of the root has no line for [" + module + "/packer/mig]",
				"profile: doc.go of the root has no line for [" + module + "/profile]",
			},
		},
	})
}

// declared returns the names that a top-level declaration introduces.
func declared(decl ast.Decl) []*ast.Ident {
	switch decl := decl.(type) {
	case *ast.FuncDecl:
		return []*ast.Ident{decl.Name}
	case *ast.GenDecl:
		var names []*ast.Ident
		for _, spec := range decl.Specs {
			switch spec := spec.(type) {
			case *ast.TypeSpec:
				names = append(names, spec.Name)
			case *ast.ValueSpec:
				names = append(names, spec.Names...)
			}
		}
		return names
	}
	return nil
}

func TestRootExports(t *testing.T) {
	testRule(t, rootExports, []ruleTest{
		{name: "overview", files: map[string]string{"doc.go": "// Package colloc.\npackage colloc\n\nconst version = 1\n"}},
		{
			name: "exports",
			files: map[string]string{
				"a.go": "package colloc\n\ntype (\n\ta int\n\tB int\n)\n\nconst c, D = 1, 2\n\nvar E int\n\nfunc F() {}\n",
			},
			want: []string{
				"a.go:5: the root package exports B; it holds the overview only",
				"a.go:8: the root package exports D; it holds the overview only",
				"a.go:10: the root package exports E; it holds the overview only",
				"a.go:12: the root package exports F; it holds the overview only",
			},
		},
	})
}

// packageComments finds packages without a comment: in doc.go for a library, in
// any file for a program.
func packageComments(tr *tree) []string {
	var findings []string
	for key, files := range tr.packages() {
		program := key[1] == "main"
		commented := slices.ContainsFunc(files, func(s *source) bool {
			return !s.test && s.ast.Doc != nil && (program || strings.HasSuffix("/"+s.path, "/doc.go"))
		})
		switch {
		case commented:
		case program:
			findings = append(findings, key[0]+": no package comment that says what the program does")
		default:
			findings = append(findings, key[0]+": package "+key[1]+" has no doc.go with a package comment")
		}
	}
	slices.Sort(findings)
	return findings
}

func TestPackageComments(t *testing.T) {
	testRule(t, packageComments, []ruleTest{
		{
			name: "commented",
			files: map[string]string{
				"profile/doc.go":          "// Package profile.\npackage profile\n",
				"profile/a.go":            "package profile\n",
				"profile/a_test.go":       "package profile_test\n",
				"examples/a/main.go":      "// Command a.\npackage main\n",
				"predict/fitted/doc.go":   "// Package fitted.\npackage fitted\n",
				"predict/fitted/fit.go":   "// Command fit.\n//\n//go:build ignore\n\n// Fit fits.\npackage main\n",
				"predict/testdata/gen.go": "package main\n",
			},
		},
		{
			name: "missing",
			files: map[string]string{
				"profile/doc.go":     "package profile\n",
				"packer/a.go":        "// Package packer is described in the wrong file.\npackage packer\n",
				"nvmlx/doc_test.go":  "// Package nvmlx.\npackage nvmlx\n",
				"examples/a/main.go": "package main\n",
			},
			want: []string{
				"examples/a: no package comment that says what the program does",
				"nvmlx: package nvmlx has no doc.go with a package comment",
				"packer: package packer has no doc.go with a package comment",
				"profile: package profile has no doc.go with a package comment",
			},
		},
	})
}

// examples finds public packages without an Example whose output is checked.
// The root has nothing to show, programs and internal packages have no reader
// on pkg.go.dev, and gonvml's output depends on the GPUs of the machine, so
// that there an Example that compiles is enough.
func examples(tr *tree) []string {
	var findings []string
	for key, files := range tr.packages() {
		dir, name := key[0], key[1]
		if name == "main" || dir == "." || below(dir, "examples") || slices.Contains(strings.Split(dir, "/"), "internal") {
			continue
		}
		var tests []*ast.File
		for _, s := range files {
			if s.test {
				tests = append(tests, s.ast)
			}
		}
		shown := slices.ContainsFunc(doc.Examples(tests...), func(e *doc.Example) bool {
			return dir == "nvmlx/gonvml" || e.Output != "" || e.EmptyOutput
		})
		if !shown {
			findings = append(findings, dir+": package "+name+" has no Example with checked output")
		}
	}
	slices.Sort(findings)
	return findings
}

func TestExamples(t *testing.T) {
	testRule(t, examples, []ruleTest{
		{
			name: "shown",
			files: map[string]string{
				"doc.go":                       "package colloc\n",
				"profile/a.go":                 "package profile\n",
				"profile/example_test.go":      "package profile_test\n\nfunc ExampleNew() {\n\tprintln()\n\t// Output: x\n}\n",
				"nvmlx/gonvml/a.go":            "package gonvml\n",
				"nvmlx/gonvml/example_test.go": "package gonvml_test\n\nfunc Example() {\n}\n",
				"internal/approx/a.go":         "package approx\n",
				"examples/a/main.go":           "package main\n",
			},
		},
		{
			name: "not shown",
			files: map[string]string{
				"profile/a.go":           "package profile\n",
				"packer/a.go":            "package packer\n",
				"packer/example_test.go": "package packer_test\n\nfunc ExampleGreedy() {\n\tprintln()\n}\n",
				"nvmlx/gonvml/a.go":      "package gonvml\n",
			},
			want: []string{
				"nvmlx/gonvml: package gonvml has no Example with checked output",
				"packer: package packer has no Example with checked output",
				"profile: package profile has no Example with checked output",
			},
		},
	})
}

// uncalled finds promised functions that no file with examples of their package names: each
// is a door into the package, and a reader looks for it in the examples first.
func uncalled(tr *tree) []string {
	called := map[string]bool{} // folder and name, from the files that hold examples
	for _, s := range tr.sources {
		if !s.test || len(doc.Examples(s.ast)) == 0 {
			continue
		}
		ast.Inspect(s.ast, func(n ast.Node) bool {
			if id, ok := n.(*ast.Ident); ok {
				called[s.dir+" "+id.Name] = true
			}
			return true
		})
	}
	var findings []string
	for _, line := range apiLines(tr) {
		dir, rest, _ := strings.Cut(line, ": func ")
		name, _, _ := strings.Cut(rest, "(")
		name, _, _ = strings.Cut(name, "[")
		if rest != "" && dir != "nvmlx/gonvml" && !called[dir+" "+name] {
			findings = append(findings, dir+": no Example calls "+name)
		}
	}
	return findings
}

func TestUncalled(t *testing.T) {
	testRule(t, uncalled, []ruleTest{
		{
			name: "called",
			files: map[string]string{
				"profile/a.go":            "package profile\n\nfunc New() {}\n\nfunc Some[T any](T) {}\n\nfunc own() {}\n",
				"profile/example_test.go": "package profile_test\n\nfunc ExampleNew() {\n\tprofile.New()\n\tprofile.Some(1)\n}\n",
				"internal/approx/a.go":    "package approx\n\nfunc Equal() {}\n",
				"colloc/sim/a.go":         "package sim\n\nfunc Run() {}\n",
			},
		},
		{
			name: "only tested",
			files: map[string]string{
				"profile/a.go":      "package profile\n\nfunc New() {}\n",
				"profile/a_test.go": "package profile_test\n\nfunc TestNew() {\n\tprofile.New()\n}\n",
			},
			want: []string{"profile: no Example calls New"},
		},
	})
}

// driverTypes finds names of go-nvml in the exported API below nvmlx: whoever
// embeds nvmlx must be able to do so without the driver's binding.
func driverTypes(tr *tree) []string {
	var findings []string
	for _, s := range tr.sources {
		if s.test || !below(s.dir, "nvmlx") {
			continue
		}
		local := localName(s.ast, driver+"/pkg/nvml")
		for _, node := range tr.api(s) {
			ast.Inspect(node, func(n ast.Node) bool {
				if sel, ok := n.(*ast.SelectorExpr); ok && isIdent(sel.X, local) {
					findings = append(findings, tr.at(sel, "%s.%s in the exported API of %s", local, sel.Sel.Name, s.dir))
				}
				return true
			})
		}
	}
	return findings
}

// api returns what a file shows to its package's users: signatures, exported
// fields and methods, and the types of exported values.
func (tr *tree) api(s *source) []ast.Node {
	f, err := parser.ParseFile(tr.fset, s.path, tr.text[s.path], 0) // a copy: FileExports prunes in place
	if err != nil {
		return nil // newTree has parsed it before
	}
	ast.FileExports(f)
	var nodes []ast.Node
	for _, decl := range f.Decls {
		switch decl := decl.(type) {
		case *ast.FuncDecl:
			if decl.Recv == nil || exportedReceiver(decl.Recv) {
				nodes = append(nodes, decl.Type)
			}
		case *ast.GenDecl:
			if decl.Tok != token.IMPORT {
				nodes = append(nodes, decl)
			}
		}
	}
	return nodes
}

// exportedReceiver reports whether a method belongs to an exported type.
func exportedReceiver(recv *ast.FieldList) bool {
	exported := false
	ast.Inspect(recv.List[0].Type, func(n ast.Node) bool {
		id, ok := n.(*ast.Ident)
		exported = exported || ok && id.IsExported()
		return !ok
	})
	return exported
}

func TestDriverTypes(t *testing.T) {
	const head = "package gonvml\n\nimport \"" + driver + "/pkg/nvml\"\n\n"
	testRule(t, driverTypes, []ruleTest{
		{
			name: "hidden",
			files: map[string]string{
				"nvmlx/gonvml/a.go": head + "type Source struct{ lib nvml.Interface }\n\n" +
					"type device struct{ nvml.Device }\n\n" +
					"func (d device) Raw() nvml.Device { return d }\n\n" +
					"func New() *Source { return &Source{nvml.New()} }\n",
				"nvmlx/a.go": "package nvmlx\n\ntype nvml struct{ Device int }\n\nvar Default = nvml{}.Device\n",
			},
		},
		{
			name: "shown",
			files: map[string]string{
				"nvmlx/gonvml/a.go": head + "type Source struct {\n\tLib nvml.Interface\n}\n\n" +
					"type Device interface {\n\tnvml.Device\n}\n\n" +
					"func (s *Source) Err() nvml.Return { return 0 }\n\n" +
					"var Success = nvml.SUCCESS\n",
				"nvmlx/b.go": "package nvmlx\n\nimport n \"" + driver + "/pkg/nvml\"\n\nfunc Read(func(n.Device)) {}\n",
			},
			want: []string{
				"nvmlx/b.go:5: n.Device in the exported API of nvmlx",
				"nvmlx/gonvml/a.go:6: nvml.Interface in the exported API of nvmlx/gonvml",
				"nvmlx/gonvml/a.go:10: nvml.Device in the exported API of nvmlx/gonvml",
				"nvmlx/gonvml/a.go:13: nvml.Return in the exported API of nvmlx/gonvml",
				"nvmlx/gonvml/a.go:15: nvml.SUCCESS in the exported API of nvmlx/gonvml",
			},
		},
	})
}
