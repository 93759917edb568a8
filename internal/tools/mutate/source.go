package main

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"go/ast"
	"go/importer"
	"go/parser"
	"go/printer"
	"go/token"
	"go/types"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
)

// source is a package, parsed and typed.
type source struct {
	path, name, dir string
	set             *token.FileSet
	files           map[string]*ast.File
	text            map[string][]byte
	info            *types.Info
}

// load reads the package in dir, with the types of what it imports from go list.
func load(dir string) (*source, error) {
	list := exec.Command("go", "list", "-export", "-deps", "-json=ImportPath,Name,Dir,GoFiles,CgoFiles,Export,DepOnly", ".")
	list.Dir, list.Stderr = dir, os.Stderr
	out, err := list.Output()
	if err != nil {
		return nil, fmt.Errorf("go list: %w", err)
	}
	exports := make(map[string]string)
	p := &source{set: token.NewFileSet(), files: make(map[string]*ast.File), text: make(map[string][]byte)}
	var names []string
	for d := json.NewDecoder(bytes.NewReader(out)); ; {
		var l struct {
			ImportPath, Name, Dir, Export string
			GoFiles, CgoFiles             []string
			DepOnly                       bool
		}
		if err := d.Decode(&l); errors.Is(err, io.EOF) {
			break
		} else if err != nil {
			return nil, err
		}
		exports[l.ImportPath] = l.Export
		if !l.DepOnly {
			p.path, p.name, p.dir, names = l.ImportPath, l.Name, l.Dir, slices.Concat(l.GoFiles, l.CgoFiles)
		}
	}
	var files []*ast.File
	for _, name := range names {
		file := filepath.Join(p.dir, name)
		text, err := os.ReadFile(file)
		if err != nil {
			return nil, err
		}
		f, err := parser.ParseFile(p.set, file, text, parser.SkipObjectResolution)
		if err != nil {
			return nil, err
		}
		p.files[file], p.text[file], files = f, text, append(files, f)
	}
	p.info = &types.Info{Types: make(map[ast.Expr]types.TypeAndValue), Uses: make(map[*ast.Ident]types.Object)}
	lookup := func(path string) (io.ReadCloser, error) { return os.Open(exports[path]) }
	conf := types.Config{Importer: importer.ForCompiler(p.set, "gc", lookup), FakeImportC: true} // what is C's has no type, and no mutants that need one
	_, err = conf.Check(p.path, p.set, files, p.info)
	return p, err
}

// apply returns the files that have mutants, with these behind their switches.
func (p *source) apply(mutants []*mutant) map[string][]byte {
	byFile := make(map[string][]*mutant)
	for _, m := range mutants {
		byFile[m.path] = append(byFile[m.path], m)
	}
	out := make(map[string][]byte)
	for file, list := range byFile {
		text := p.text[file]
		var all []edit
		for _, m := range list {
			all = append(all, m.edits()...)
		}
		slices.SortFunc(all, func(a, b edit) int { return cmp.Or(a.at-b.at, a.rank-b.rank) })
		var b bytes.Buffer
		last := 0
		for _, e := range all {
			b.Write(text[last:e.at])
			b.WriteString(e.text)
			last = e.at + e.drop
		}
		b.Write(text[last:])
		out[file] = b.Bytes()
	}
	return out
}

// show prints a node on one line.
func (p *source) show(n ast.Node) string {
	var b strings.Builder
	_ = printer.Fprint(&b, p.set, n)
	s := strings.Join(strings.Fields(b.String()), " ")
	if len(s) > 90 {
		s = s[:90] + "..."
	}
	return s
}
