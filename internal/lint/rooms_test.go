package lint

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"go/ast"
	"go/types"
	"math/bits"
	"path"
	"slices"
	"strings"
	"testing"
	"text/tabwriter"

	"pgregory.net/rapid"
)

// A folder is a room with one purpose, small enough to know by heart.
const (
	maxFamily = 2  // of them with one prefix, up to the first underscore: three are a package that was never opened
	minDown   = 10 // references between files of which fewer than one may run back
)

// A room is what is counted of one package: its files outside tests, and who of
// them refers to whom.
type room struct {
	dir      string
	files    int
	families []string // prefixes that more than maxFamily files share
	refs     int      // pairs of files (a, b) where a names something that b declares
	back     int      // of them those that run against the best order of the files
	circle   bool     // it imports itself, through others
}

// tangled reports whether one reference in ten or more runs back.
func (r *room) tangled() bool { return r.back > 0 && r.back*minDown >= r.refs }

// judge holds rooms against the rules.
func judge(all []room) []string {
	var findings []string
	for i := range all {
		r := &all[i]
		find := func(format string, args ...any) {
			findings = append(findings, r.dir+": "+fmt.Sprintf(format, args...))
		}
		if r.circle {
			find("it imports itself, through others")
		}
		for _, prefix := range r.families {
			find("more than %d files are called %s: a family of files is a package", maxFamily, prefix)
		}
		if r.tangled() {
			find("%d of %d references between files run back, want fewer than one in %d", r.back, r.refs, minDown)
		}
	}
	slices.Sort(findings)
	return findings
}

// A surveyor counts a tree's rooms. It checks the types of the module's packages
// and leaves those of others unknown, which needs no network, takes a second, and
// misses only references whose type goes through a foreign package.
type surveyor struct {
	tr      *tree
	sources map[string][]*source // by import path, without programs and tests
	checked map[string]*types.Package
	uses    map[string]*types.Info
}

// survey returns the rooms of a tree by folder.
func survey(tr *tree) []room {
	s := &surveyor{tr: tr, sources: map[string][]*source{}, checked: map[string]*types.Package{}, uses: map[string]*types.Info{}}
	var paths []string
	for key, files := range tr.packages() {
		files = slices.DeleteFunc(files, func(f *source) bool { return f.test })
		if len(files) == 0 {
			continue
		}
		target := module + "/" + key[0]
		if _, taken := s.sources[target]; taken || key[1] == "main" {
			target += " (" + key[1] + ")" // a program, perhaps beside a library: nobody imports it
		}
		s.sources[target] = files
		paths = append(paths, target)
	}
	slices.Sort(paths)
	var all []room
	for _, p := range paths {
		_, _ = s.Import(p) // what it cannot resolve is not counted
		all = append(all, s.room(p))
	}
	return all
}

// Import checks a package of the module; go/types asks it.
func (s *surveyor) Import(target string) (*types.Package, error) {
	files := s.sources[target]
	if files == nil {
		return nil, errors.New("not of this module")
	}
	if p, known := s.checked[target]; known {
		if p == nil {
			return nil, errors.New("import circle")
		}
		return p, nil
	}
	s.checked[target] = nil
	info := &types.Info{Uses: map[*ast.Ident]types.Object{}}
	parsed := make([]*ast.File, len(files))
	for i, f := range files {
		parsed[i] = f.ast
	}
	conf := types.Config{Importer: s, FakeImportC: true, Error: func(error) {}}
	p, _ := conf.Check(target, s.tr.fset, parsed, info)
	s.checked[target], s.uses[target] = p, info
	return p, nil
}

// room counts one package.
func (s *surveyor) room(target string) room {
	files := s.sources[target]
	r := room{dir: files[0].dir, files: len(files), circle: s.reaches(target, target, map[string]bool{})}
	number := map[string]int{}
	prefixes := map[string]int{}
	for i, f := range files {
		number[f.path] = i
		prefix, _, _ := strings.Cut(strings.TrimSuffix(path.Base(f.path), ".go"), "_")
		if prefixes[prefix]++; prefixes[prefix] == maxFamily+1 {
			r.families = append(r.families, prefix)
		}
	}
	to := make([][]int, len(files)) // 1 where a file names something that another declares
	for i := range to {
		to[i] = make([]int, len(files))
	}
	for id, object := range s.uses[target].Uses {
		if object.Pkg() == nil || object.Pkg() != s.checked[target] {
			continue
		}
		a, b := number[s.tr.fset.Position(id.Pos()).Filename], number[s.tr.fset.Position(object.Pos()).Filename]
		if a != b && to[a][b] == 0 {
			to[a][b] = 1
			r.refs++
		}
	}
	r.back = fewestBack(to)
	return r
}

// reaches reports whether a package imports another, through any number of
// others.
func (s *surveyor) reaches(from, target string, seen map[string]bool) bool {
	for _, f := range s.sources[from] {
		for _, spec := range f.ast.Imports {
			next := strings.Trim(spec.Path.Value, `"`)
			if next == target {
				return true
			}
			if !seen[next] && s.sources[next] != nil {
				seen[next] = true
				if s.reaches(next, target, seen) {
					return true
				}
			}
		}
	}
	return false
}

// fewestBack orders files so that few references run back, and counts those: the
// least there can be for up to 18 files, and otherwise what moving one file at a
// time reaches.
func fewestBack(to [][]int) int {
	n := len(to)
	if n > 18 {
		return moveFiles(to)
	}
	out := make([]uint, n) // whom each refers to
	for a := range to {
		for b, refers := range to[a] {
			out[a] |= uint(refers) << b
		}
	}
	least := make([]int, 1<<n) // by the set of files that stand above all others
	for above := uint(1); above < 1<<n; above++ {
		least[above] = n * n
		for last := range n {
			if bit := uint(1) << last; above&bit != 0 {
				least[above] = min(least[above], least[above&^bit]+bits.OnesCount(out[last]&above))
			}
		}
	}
	return least[1<<n-1]
}

// moveFiles takes the file that the fewest of the others refer to, then the next
// like that, and moves one after the other to its best place until nothing gets
// better.
func moveFiles(to [][]int) int {
	n := len(to)
	order, rest := []int{}, make([]int, n)
	for a := range rest {
		rest[a] = a
	}
	named := func(b int) (by int) {
		for _, a := range rest {
			by += to[a][b]
		}
		return by
	}
	for range n {
		next := slices.MinFunc(rest, func(a, b int) int { return cmp.Compare(named(a), named(b)) })
		order, rest = append(order, next), slices.DeleteFunc(rest, func(a int) bool { return a == next })
	}
	for again := true; again; { // each pass lowers a number that is not negative
		again = false
		for a := range n {
			at := slices.Index(order, a)
			rest := slices.Delete(slices.Clone(order), at, at+1)
			best, place, gain, here := 0, 0, 0, 0
			for i, b := range rest {
				gain += to[b][a] - to[a][b] // a stands below b now
				if i+1 == at {
					here = gain
				}
				if gain > best {
					best, place = gain, i+1
				}
			}
			if best > here {
				order, again = slices.Insert(rest, place, a), true
			}
		}
	}
	back := 0
	for i, a := range order {
		for _, above := range order[:i] {
			back += to[a][above]
		}
	}
	return back
}

// TestRooms holds this checkout against the rules of a room and prints the
// table: go test ./internal/lint -run Rooms -v.
func TestRooms(t *testing.T) {
	tr := realTree(t)
	all := append(survey(tr), survey(kubeTree(t, tr))...)
	rows := []string{"files\treferences\tback\tfamilies\t  folder\n"}
	for i := range all {
		r := &all[i]
		rows = append(rows, fmt.Sprintf("%d\t%d\t%d\t%s\t  %s\n", r.files, r.refs, r.back, strings.Join(r.families, ","), r.dir))
	}
	var text bytes.Buffer
	w := tabwriter.NewWriter(&text, 0, 0, 2, ' ', tabwriter.AlignRight)
	if _, err := w.Write([]byte(strings.Join(rows, ""))); err != nil {
		t.Fatal(err)
	}
	if err := w.Flush(); err != nil {
		t.Fatal(err)
	}
	t.Log("\n" + text.String())
	for _, finding := range judge(all) {
		t.Error(finding)
	}
}

func TestRoomRules(t *testing.T) {
	family := map[string]string{}
	for _, name := range []string{"a", "a_b", "a_c", "b_a", "b_b", "b_a_test"} {
		family["packer/"+name+".go"] = "package packer\n"
		family["internal/x/"+name+".go"] = "package x\n"
	}
	testRule(t, func(tr *tree) []string { return judge(survey(tr)) }, []ruleTest{
		{name: "a family", files: family, want: []string{
			"internal/x: more than 2 files are called a: a family of files is a package",
			"packer: more than 2 files are called a: a family of files is a package",
		}},
		{
			name: "references by name, by method and by field",
			files: map[string]string{
				"colloc/a.go":      "package colloc\n\nimport \"" + module + "/predict\"\n\ntype A struct{ x predict.P }\n\nfunc (a A) m() { b(); print(a.y()) }\n",
				"colloc/b.go":      "package colloc\n\nfunc b() { a := A{}; a.m(); d := 1; _ = d }\n",
				"colloc/c.go":      "package colloc\n\nfunc (a A) y() int { return a.x.F().N }\n",
				"colloc/d.go":      "package colloc\n\nvar d = A.y\n", // names a and c; the d of b is its own
				"colloc/d_test.go": "package colloc\n\nfunc e() { b() }\n",
				"predict/p.go":     "package predict\n\ntype P struct{ q }\n\nfunc (P) F() P { return P{} }\n",
				"predict/q.go":     "package predict\n\ntype q struct{ N int }\n",
			},
			want: []string{"colloc: 2 of 6 references between files run back, want fewer than one in 10"},
		},
		{
			name: "a circle",
			files: map[string]string{
				"packer/a.go":        "package packer\n\nimport _ \"" + module + "/packer/solve\"\n",
				"packer/solve/a.go":  "package solve\n\nimport _ \"" + module + "/packer/online\"\n",
				"packer/online/a.go": "package online\n\nimport _ \"" + module + "/packer\"\n",
				"packer/mig/a.go":    "package mig\n\nimport _ \"" + module + "/packer\"\n",
			},
			want: []string{
				"packer/online: it imports itself, through others",
				"packer/solve: it imports itself, through others",
				"packer: it imports itself, through others",
			},
		},
	})
}

// TestFewestBack holds the exact count and the quick one against each other.
func TestFewestBack(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		n := rapid.IntRange(1, 9).Draw(t, "files")
		acyclic := rapid.Bool().Draw(t, "acyclic")
		to := make([][]int, n)
		for a := range to {
			to[a] = make([]int, n)
			for b := range n {
				if a != b && (b < a || !acyclic) {
					to[a][b] = rapid.IntRange(0, 1).Draw(t, "refers")
				}
			}
		}
		exact, quick := fewestBack(to), moveFiles(to)
		if exact > quick || acyclic && quick != 0 {
			t.Fatalf("%v: exact %d, quick %d", to, exact, quick)
		}
	})
}
