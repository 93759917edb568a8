package main

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
)

// module is what the paths of packages begin with.
const module = "example.com/colloc"

// event is a line of go test -json; see go doc test2json.
type event struct {
	Action, Package, Test, Output string
}

// report is what is known of a run. What a test printed is kept until it is known
// whether anybody wants it.
type report struct {
	out      *bufio.Writer
	lines    map[test][]byte
	seen     map[test]bool
	packages map[string]bool
	skipped  []test
	failed   []test
}

// read reads all events. Lines that are none, such as those of the linker, are copied.
func (rep *report) read(r io.Reader) error {
	in := bufio.NewReader(r)
	for {
		line, err := in.ReadBytes('\n')
		if len(line) > 0 {
			var e event
			if line[0] != '{' || json.Unmarshal(line, &e) != nil {
				rep.print(line)
			} else {
				rep.event(&e)
			}
		}
		switch {
		case errors.Is(err, io.EOF):
			return nil
		case err != nil:
			return fmt.Errorf("what go test prints: %w", err)
		}
	}
}

// print writes; check reports errors when it flushes.
func (rep *report) print(text []byte) { _, _ = rep.out.Write(text) }

// event takes one event.
func (rep *report) event(e *event) {
	t := test{strings.TrimPrefix(strings.TrimPrefix(e.Package, module), "/"), e.Test}
	rep.packages[t.pkg] = true
	switch e.Action {
	case "output":
		rep.lines[t] = append(rep.lines[t], e.Output...)
	case "build-output":
		rep.print([]byte(e.Output))
	case "run":
		rep.seen[t] = true
	case "skip":
		if t.name != "" {
			rep.skipped = append(rep.skipped, t)
			return // what it printed is its reason
		}
		rep.close(t)
	case "pass":
		if t.name == "" {
			rep.close(t)
		}
		delete(rep.lines, t)
	case "fail":
		rep.failed = append(rep.failed, t)
		if t.name == "" {
			rep.unfinished(t.pkg)
		}
		rep.print(rep.lines[t])
		delete(rep.lines, t)
		_ = rep.out.Flush()
	default:
	}
}

// close prints the line with which go test ends a package that did not fail.
func (rep *report) close(t test) {
	for line := range bytes.Lines(rep.lines[t]) {
		if bytes.HasPrefix(line, []byte("ok ")) || bytes.HasPrefix(line, []byte("? ")) {
			rep.print(line)
		}
	}
	delete(rep.lines, t)
	_ = rep.out.Flush()
}

// unfinished prints what the tests of a package printed that never ended, as where
// the time ran out.
func (rep *report) unfinished(pkg string) {
	var open []test
	for t := range rep.lines {
		if t.pkg == pkg && t.name != "" && !slices.Contains(rep.skipped, t) {
			open = append(open, t)
		}
	}
	slices.SortFunc(open, func(a, b test) int { return strings.Compare(a.name, b.name) })
	for _, t := range open {
		rep.print(rep.lines[t])
		delete(rep.lines, t)
	}
}

// verdict says what is wrong with the run.
func (rep *report) verdict(may []entry) error {
	var faults []error
	for _, t := range rep.skipped {
		allowed := slices.ContainsFunc(may, func(e entry) bool {
			return e.pkg == t.pkg && (e.name == t.name || strings.HasPrefix(t.name, e.name+"/"))
		})
		if !allowed {
			faults = append(faults, fmt.Errorf("%s %s skipped: install what it needs, or give the reason in the list\n%s", t.pkg, t.name, rep.lines[t]))
		}
	}
	for _, e := range may {
		if rep.packages[e.pkg] && !rep.seen[e.test] {
			faults = append(faults, fmt.Errorf("the list, line %d: there is no test %s in %s any more", e.line, e.name, e.pkg))
		}
	}
	if len(rep.failed) > 0 {
		faults = append(faults, fmt.Errorf("tests failed: %s; what they printed is above", strings.Join(rep.names(), ", ")))
	}
	if len(rep.packages) == 0 {
		faults = append(faults, errors.New("no package was tested"))
	}
	return errors.Join(faults...)
}

// names are the tests that failed, and the packages without one. Parts of a test go
// without saying.
func (rep *report) names() []string {
	var all []string
	in := make(map[string]bool)
	for _, t := range rep.failed {
		if t.name != "" && !strings.Contains(t.name, "/") {
			all = append(all, t.pkg+" "+t.name)
			in[t.pkg] = true
		}
	}
	for _, t := range rep.failed {
		if t.name == "" && !in[t.pkg] {
			all = append(all, t.pkg)
		}
	}
	slices.Sort(all)
	return all
}
