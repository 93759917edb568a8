package progress

import (
	"fmt"
	"regexp"
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
	index [groups]int // of each of groupNames; -1 if absent
}

// Compile checks and compiles a pattern; an empty one is nil.
func Compile(text string) (*Pattern, error) {
	if text == "" {
		return nil, nil
	}
	expr, err := regexp.Compile(text)
	if err != nil {
		return nil, err
	}
	p := &Pattern{expr: expr}
	for i, name := range groupNames {
		p.index[i] = expr.SubexpIndex(name)
	}
	if p.index[groupStep] < 0 && p.index[groupSeconds] < 0 && p.index[groupRate] < 0 {
		return nil, fmt.Errorf("%q has no group named step, seconds or rate, such as (?P<step>[0-9]+)", text)
	}
	return p, nil
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
