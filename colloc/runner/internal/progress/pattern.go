package progress

import (
	"fmt"
	"regexp"
	"regexp/syntax"
	"slices"
	"strconv"
)

// groupNames are the named groups of a pattern, in the order of their constants.
//
//nolint:gochecknoglobals // a read-only table
var groupNames = []string{"step", "total", "seconds", "rate", "epochs"}

const (
	groupStep = iota
	groupTotal
	groupSeconds
	groupRate
	groupEpochs
	groups
)

// Pattern finds progress in a line of output.
type Pattern struct {
	expr  *regexp.Regexp
	size  int
	index [groups]int // of each of groupNames; -1 if absent
}

// largest is how many instructions a pattern may have. To look for it in a line takes time in proportion to them, and a
// few letters can ask for a hundred thousand: (a{0,999}){99}.
const largest = 5000

// Check says what is wrong with a pattern; nothing is with an empty one. It costs much less than Compile.
func Check(text string) error {
	_, err := parse(text)
	return err
}

// Compile checks and compiles a pattern; an empty one is nil.
func Compile(text string) (*Pattern, error) {
	size, err := parse(text)
	if err != nil || text == "" {
		return nil, err
	}
	expr, err := regexp.Compile(text)
	if err != nil {
		return nil, err
	}
	p := &Pattern{expr: expr, size: size}
	for i, name := range groupNames {
		p.index[i] = expr.SubexpIndex(name)
	}
	return p, nil
}

// parse returns the size of a pattern that may be compiled.
func parse(text string) (size int, err error) {
	if text == "" {
		return 0, nil
	}
	tree, err := syntax.Parse(text, syntax.Perl)
	if err != nil {
		return 0, err
	}
	if size = instructions(tree); size > largest {
		return 0, fmt.Errorf("%.60q asks for %d steps at each letter, want at most %d: repeat less, such as .* for .{0,999}", text, size, largest)
	}
	names := tree.CapNames()
	has := func(group int) bool { return slices.Contains(names, groupNames[group]) }
	if !has(groupStep) && !has(groupSeconds) && !has(groupRate) {
		return 0, fmt.Errorf("%q has no group named step, seconds or rate, such as (?P<step>[0-9]+)", text)
	}
	return size, nil
}

// instructions is about how many a compiled expression has. What is repeated is written out.
func instructions(tree *syntax.Regexp) int {
	if tree.Op == syntax.OpLiteral {
		return len(tree.Rune)
	}
	n := 1
	for _, sub := range tree.Sub {
		n += instructions(sub)
	}
	if tree.Op == syntax.OpRepeat {
		n *= max(tree.Min+1, tree.Max) // Max is -1 where there is none
	}
	return n
}

// find returns what a line tells; false if the pattern does not match.
func (p *Pattern) find(line []byte) (found found, ok bool) {
	at := p.expr.FindSubmatchIndex(line)
	if at == nil {
		return found, false
	}
	for i, group := range p.index {
		if group >= 0 && at[2*group] >= 0 {
			found[i] = string(line[at[2*group]:at[2*group+1]])
		}
	}
	return found, true
}

// Step returns the step that a line tells; false if it tells none, or p is nil.
func (p *Pattern) Step(line []byte) (int64, bool) {
	if p == nil {
		return 0, false
	}
	found, ok := p.find(line)
	if !ok {
		return 0, false
	}
	return found.count(groupStep)
}

// found are the texts of the groups in a line; empty where a group is not there.
type found [groups]string

// count reads a number of steps.
func (f *found) count(group int) (int64, bool) {
	n, err := strconv.ParseInt(f[group], 10, 64)
	return n, err == nil && n >= 0
}
