package main

import (
	"fmt"
	"go/ast"
	"go/token"
	"go/types"
	"maps"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
)

// mutant is one change: text before a node, in place of its operator and after it.
type mutant struct {
	id             int
	path, file, in string // whole path, base name, function
	line           int
	what, node     string // kind of change, and what is changed
	from, to       int    // offsets of the node
	before, after  string // %d is the mutant's number
	op, opLen      int    // offset and length of what middle replaces
	middle         string
}

func (m *mutant) String() string {
	return fmt.Sprintf("%s:%d %s: %s in %s", m.file, m.line, m.what, m.node, m.in)
}

// key names the mutant without its line, which moves.
func (m *mutant) key(pkg string) string {
	return fmt.Sprintf("%s %s %s: %s: %s", pkg, m.file, m.in, m.what, m.node)
}

// edit drops so many bytes at an offset and puts text there.
type edit struct {
	at, drop, rank int
	text           string
}

// edits nest: at one place what ends comes before what begins, inner before outer where
// they end and after where they begin.
func (m *mutant) edits() []edit {
	size := (m.to - m.from) << 20
	number := func(s string) string { return strings.ReplaceAll(s, "%d", strconv.Itoa(m.id)) }
	list := []edit{{m.from, 0, m.id - size, number(m.before)}, {m.to, 0, size - m.id - 1<<60, m.after}}
	if m.opLen > 0 {
		list = append(list, edit{m.op, m.opLen, 0, m.middle})
	}
	return list
}

// finder collects the mutants of a file.
type finder struct {
	*source
	file  *ast.File
	path  string
	in    string
	stack []ast.Node
	list  []*mutant
}

// mutants lists every mutant that the package could have.
func (p *source) mutants() []*mutant {
	var list []*mutant
	for _, path := range slices.Sorted(maps.Keys(p.files)) {
		f := &finder{source: p, file: p.files[path], path: path}
		ast.Inspect(f.file, f.visit)
		list = append(list, f.list...)
	}
	return list
}

func (f *finder) visit(n ast.Node) bool {
	if n == nil {
		f.stack = f.stack[:len(f.stack)-1]
		return true
	}
	f.stack = append(f.stack, n)
	switch n := n.(type) {
	case *ast.GenDecl:
		if n.Tok == token.CONST || n.Tok == token.IMPORT || n.Tok == token.TYPE {
			f.stack = f.stack[:len(f.stack)-1]
			return false
		}
	case *ast.ArrayType:
		f.stack = f.stack[:len(f.stack)-1]
		return false
	case *ast.FuncDecl:
		f.in = n.Name.Name
	case *ast.BinaryExpr:
		f.binary(n)
	case *ast.BasicLit:
		f.literal(n)
	case *ast.IfStmt:
		if isBool(f.info.TypeOf(n.Cond)) {
			f.add("condition negated", n.Cond, "(sw(%d) != (", "))")
		}
	case *ast.CallExpr:
		f.call(n)
	case *ast.ExprStmt, *ast.IncDecStmt, *ast.AssignStmt, *ast.DeferStmt, *ast.BranchStmt:
		f.statement(n)
	}
	return true
}

func (f *finder) add(what string, n ast.Node, before, after string) *mutant {
	at := f.set.Position(n.Pos())
	m := &mutant{
		path: f.path, file: filepath.Base(f.path), in: f.in, line: at.Line, what: what, node: f.show(n),
		from: at.Offset, to: f.set.Position(n.End()).Offset, before: before, after: after,
	}
	f.list = append(f.list, m)
	return m
}

// between replaces the operator of a binary expression.
func (m *mutant) between(f *finder, n *ast.BinaryExpr, text string) {
	m.op, m.opLen, m.middle = f.set.Position(n.OpPos).Offset, len(n.Op.String()), text
}

func (f *finder) binary(n *ast.BinaryExpr) {
	if f.info.Types[n].Value != nil {
		return
	}
	x, y := f.info.TypeOf(n.X), f.info.TypeOf(n.Y)
	switch n.Op {
	case token.LSS, token.LEQ, token.GTR, token.GEQ:
		if isNumber(x) && isBool(f.info.TypeOf(n)) {
			f.add("boundary moved", n, fmt.Sprintf("swCompare(%%d, %q, ", n.Op), ")").between(f, n, ",")
		}
	case token.EQL, token.NEQ:
		if isBool(f.info.TypeOf(n)) {
			f.add("equality negated", n, "(sw(%d) != (", "))")
		}
	case token.LAND, token.LOR:
		if isBool(f.info.TypeOf(n)) {
			f.add("and for or", n, fmt.Sprintf("swLogic(%%d, %q, ", n.Op), ") })").between(f, n, ", func() bool { return (")
		}
	case token.ADD, token.SUB, token.MUL, token.QUO:
		if isNumber(x) && isNumber(y) {
			f.add("another operator", n, fmt.Sprintf("swNumber(%%d, %q, ", n.Op), ")").between(f, n, ",")
		}
	}
}

// literal changes a number, where no constant is asked for.
func (f *finder) literal(n *ast.BasicLit) {
	basic, ok := f.info.TypeOf(n).(*types.Basic)
	if !ok || n.Kind != token.INT && n.Kind != token.FLOAT || basic.Info()&types.IsUntyped != 0 || !isNumber(basic) {
		return
	}
	switch parent := f.stack[len(f.stack)-2].(type) {
	case *ast.CaseClause, *ast.KeyValueExpr, *ast.CompositeLit:
		return // may have to be a constant
	case ast.Expr:
		if f.info.Types[parent].Value != nil {
			return
		}
	}
	f.add("number changed", n, "swLiteral["+basic.Name()+"](%d, ", ")")
}

// call swaps min and max.
func (f *finder) call(n *ast.CallExpr) {
	id, ok := n.Fun.(*ast.Ident)
	if !ok || f.info.Types[n].Value != nil || len(n.Args) < 2 || n.Ellipsis.IsValid() {
		return
	}
	if _, builtin := f.info.Uses[id].(*types.Builtin); !builtin || id.Name != "min" && id.Name != "max" {
		return
	}
	if !isNumber(f.info.TypeOf(n)) {
		return
	}
	m := f.add("min for max", n, "", "")
	m.op, m.opLen, m.middle = m.from, f.set.Position(n.Lparen).Offset+1-m.from, ""
	m.before = fmt.Sprintf("swExtreme(%%d, %q, ", id.Name)
}

// statement leaves one out.
func (f *finder) statement(n ast.Node) {
	switch f.stack[len(f.stack)-2].(type) {
	case *ast.BlockStmt, *ast.CaseClause, *ast.CommClause:
	default:
		return
	}
	switch s := n.(type) {
	case *ast.AssignStmt:
		if s.Tok == token.DEFINE || len(s.Lhs) == 1 && isBlank(s.Lhs[0]) {
			return
		}
	case *ast.BranchStmt:
		if s.Tok != token.BREAK && s.Tok != token.CONTINUE {
			return
		}
	case *ast.ExprStmt:
		c, ok := s.X.(*ast.CallExpr)
		if id, named := (*ast.Ident)(nil), false; ok {
			if id, named = c.Fun.(*ast.Ident); named && id.Name == "panic" {
				return
			}
		}
	}
	if c, ok := f.stack[len(f.stack)-2].(*ast.CommClause); ok && c.Comm == n {
		return
	}
	f.add("left out", n, "if !sw(%d) { ", " }")
}

func isBlank(e ast.Expr) bool {
	id, ok := e.(*ast.Ident)
	return ok && id.Name == "_"
}

// isBool reports whether an expression is of the plain type bool.
func isBool(t types.Type) bool {
	b, ok := t.(*types.Basic)
	return ok && (b.Kind() == types.Bool || b.Kind() == types.UntypedBool)
}

// isNumber reports whether an expression is of a number that is not complex. What C has is
// of no type.
func isNumber(t types.Type) bool {
	if t == nil {
		return false
	}
	b, ok := t.Underlying().(*types.Basic)
	_, open := t.(*types.TypeParam)
	return ok && !open && b.Info()&(types.IsInteger|types.IsFloat) != 0
}
