package lint

import (
	"flag"
	"fmt"
	"go/ast"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// longest is how many of the longest sentences TestProse prints with -v.
var longest = flag.Int("longest", 50, "how many of the longest sentences of doc comments to print")

// averageWords is the most words that the sentences of a doc comment may have on
// average: what is longer has to be read twice.
const averageWords = 25

// A sentence is one of a doc comment.
type sentence struct {
	at    string // path:line of the comment
	text  string
	words int
}

var (
	sentenceEnd = regexp.MustCompile(`[.?!:](\s+|$)`)
	preformed   = regexp.MustCompile(`(?m)^(\t.*| +[-•*0-9].*|#.*|\[.*\]:.*)$`) // code, formulas, lists, headings, links
)

// sentences returns the sentences of the exported doc comments, file by file. Code,
// formulas and lists are none.
func sentences(tr *tree) []sentence {
	var all []sentence
	for _, s := range tr.sources {
		if s.test || strings.Contains("/"+s.dir+"/", "/internal/") {
			continue
		}
		for _, doc := range docs(s.ast) {
			text := preformed.ReplaceAllString(doc.Text(), "\n")
			for paragraph := range strings.SplitSeq(text, "\n\n") {
				for _, one := range sentenceEnd.Split(paragraph, -1) {
					words := len(strings.Fields(one))
					if words == 0 {
						continue
					}
					at := strings.TrimSuffix(tr.at(doc, ""), ": ")
					all = append(all, sentence{at, strings.Join(strings.Fields(one), " "), words})
				}
			}
		}
	}
	return all
}

// docs returns the comments of a file that go doc shows.
func docs(f *ast.File) []*ast.CommentGroup {
	var groups []*ast.CommentGroup
	add := func(doc *ast.CommentGroup) {
		if doc != nil {
			groups = append(groups, doc)
		}
	}
	add(f.Doc)
	for _, decl := range f.Decls {
		switch decl := decl.(type) {
		case *ast.FuncDecl:
			if decl.Name.IsExported() && (decl.Recv == nil || exportedReceiver(decl.Recv)) {
				add(decl.Doc)
			}
		case *ast.GenDecl:
			if len(declared(decl)) == 0 || slices.ContainsFunc(declared(decl), (*ast.Ident).IsExported) {
				add(decl.Doc)
			}
			for _, spec := range decl.Specs {
				if t, ok := spec.(*ast.TypeSpec); ok && t.Name.IsExported() {
					add(t.Doc)
					fieldDocs(t.Type, add)
				}
			}
		}
	}
	return groups
}

// fieldDocs adds the comments of exported fields and methods.
func fieldDocs(t ast.Expr, add func(*ast.CommentGroup)) {
	ast.Inspect(t, func(n ast.Node) bool {
		if field, ok := n.(*ast.Field); ok && len(field.Names) > 0 && field.Names[0].IsExported() {
			add(field.Doc)
		}
		return true
	})
}

// prose finds doc comments with long sentences.
func prose(tr *tree) []string {
	var findings []string
	all := sentences(tr)
	for i := 0; i < len(all); {
		words, from := 0, i
		for ; i < len(all) && all[i].at == all[from].at; i++ {
			words += all[i].words
		}
		if words > averageWords*(i-from) {
			findings = append(findings, fmt.Sprintf("%s: %.1f words a sentence on average, at most %d",
				all[from].at, float64(words)/float64(i-from), averageWords))
		}
	}
	return findings
}

// TestProse prints the longest sentences with -v.
func TestProse(t *testing.T) {
	testRule(t, prose, []ruleTest{
		{name: "short", files: map[string]string{"a/a.go": "// Package a is " + strings.Repeat("very ", 20) + "short.\npackage a\n"}},
		{
			name:  "long",
			files: map[string]string{"a/a.go": "// Package a is " + strings.Repeat("very ", 21) + "long.\npackage a\n"},
			want:  nil,
		},
		{
			name:  "too long",
			files: map[string]string{"a/a.go": "// Package a is " + strings.Repeat("very ", 22) + "long.\npackage a\n"},
			want:  []string{"a/a.go:1: 26.0 words a sentence on average, at most 25"},
		},
		{
			name: "not prose",
			files: map[string]string{"a/a.go": "// Package a is short.\n//\n//\t" + strings.Repeat("x + ", 40) + "y\n//\n//   - " +
				strings.Repeat("word ", 40) + "\npackage a\n"},
		},
	})
	all := sentences(realTree(t))
	slices.SortFunc(all, func(a, b sentence) int {
		if a.words != b.words {
			return b.words - a.words
		}
		return strings.Compare(a.at+a.text, b.at+b.text)
	})
	for _, one := range all[:min(*longest, len(all))] {
		t.Logf("%d words, %s: %s", one.words, one.at, one.text)
	}
}
