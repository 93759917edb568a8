package api_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"strconv"
	"strings"
	"testing"

	"example.com/colloc/colloc/kube/api"
)

// Each annotation of a pod that has a name here is one that collocd keeps.
func TestKnown(t *testing.T) {
	file, err := parser.ParseFile(token.NewFileSet(), "names.go", nil, 0)
	if err != nil {
		t.Fatal(err)
	}
	found := 0
	ast.Inspect(file, func(n ast.Node) bool {
		spec, ok := n.(*ast.ValueSpec)
		if !ok || !strings.HasPrefix(spec.Names[0].Name, "Annotation") || spec.Names[0].Name == "AnnotationUUIDs" { // which is a node's
			return true
		}
		sum, _ := spec.Values[0].(*ast.BinaryExpr)
		lit, _ := sum.Y.(*ast.BasicLit)
		path, err := strconv.Unquote(lit.Value)
		if found++; err != nil || !api.Known(api.Domain+path) {
			t.Errorf("%s is not known: %v", spec.Names[0].Name, err)
		}
		return true
	})
	if found < 10 || api.Known(api.AnnotationUUIDs) || api.Known(api.Domain+"/x") {
		t.Errorf("%d annotations were found, or too much is known", found)
	}
}
