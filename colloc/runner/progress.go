package runner

import (
	"bytes"
	"fmt"
	"io"
	"os"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"example.com/colloc/profile"
)

// groupNames are the named groups of a pattern, in the order of their constants.
//
//nolint:gochecknoglobals // a read-only table
var groupNames = []string{"step", "total", "seconds", "rate"}

const (
	groupStep = iota
	groupTotal
	groupSeconds
	groupRate
)

// stepPattern is a compiled [Progress].Pattern.
type stepPattern struct {
	expr   *regexp.Regexp
	groups [4]int // index of each of groupNames; -1 if absent
}

// compilePattern checks and compiles a pattern; an empty one is nil.
func compilePattern(text string) (*stepPattern, error) {
	if text == "" {
		return nil, nil
	}
	expr, err := regexp.Compile(text)
	if err != nil {
		return nil, err
	}
	p := &stepPattern{expr: expr}
	for i, name := range groupNames {
		p.groups[i] = expr.SubexpIndex(name)
	}
	if p.groups[groupStep] < 0 && p.groups[groupSeconds] < 0 && p.groups[groupRate] < 0 {
		return nil, fmt.Errorf("%q has no group named step, seconds or rate, such as (?P<step>[0-9]+)", text)
	}
	return p, nil
}

// reading is what is known of a task's progress.
type reading struct {
	step, total profile.Opt[int64]
	stepTime    profile.Opt[time.Duration]
	matched     bool // the pattern matched, or the file told something
}

// most bounds what is read of an output at a time.
const most = 1 << 20

// follower reads the progress of one run. It is safe for concurrent use.
type follower struct {
	mu      sync.Mutex
	pattern *stepPattern
	log     string
	steps   string
	offset  int64
	rest    []byte // an unfinished line
	read    reading
}

// begin follows a run from its start.
func (f *follower) begin(pattern *stepPattern, log, steps string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.pattern, f.log, f.steps, f.offset, f.rest, f.read = pattern, log, steps, 0, nil, reading{}
}

// output is the file with the task's output.
func (f *follower) output() string {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.log
}

// follow reads what is new and returns what is known; at the end of the run an
// unfinished line counts. What cannot be read is no progress.
func (f *follower) follow(end bool) reading {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.steps == "" {
		return f.read
	}
	if f.pattern == nil {
		f.followFile()
	} else {
		f.followOutput()
		if end {
			f.match(f.rest)
			f.rest = nil
		}
	}
	return f.read
}

// followFile reads the file that the task writes.
func (f *follower) followFile() {
	text, err := os.ReadFile(f.steps)
	if err != nil {
		return
	}
	fields := strings.Fields(string(text[:min(len(text), 64)]))
	if len(fields) > 0 && f.read.count(&f.read.step, fields[0]) && len(fields) > 1 {
		f.read.count(&f.read.total, fields[1])
	}
}

// followOutput looks for the pattern in the lines that are new. A carriage
// return ends a line too: progress bars write nothing else.
func (f *follower) followOutput() {
	file, err := os.Open(f.log)
	if err != nil {
		return
	}
	defer func() { _ = file.Close() }() // it was only read
	text, err := io.ReadAll(io.NewSectionReader(file, f.offset, most))
	if err != nil {
		return
	}
	f.offset += int64(len(text))
	text = append(f.rest, text...)
	for {
		end := bytes.IndexAny(text, "\r\n")
		if end < 0 {
			break
		}
		f.match(text[:end])
		text = text[end+1:]
	}
	if len(text) > most {
		text = nil // no line of a program for people
	}
	f.rest = slices.Clone(text)
}

// match takes one line.
func (f *follower) match(line []byte) {
	found := f.pattern.expr.FindSubmatch(line)
	if found == nil {
		return
	}
	group := func(i int) string {
		if at := f.pattern.groups[i]; at >= 0 {
			return string(found[at])
		}
		return ""
	}
	f.read.count(&f.read.step, group(groupStep))
	f.read.count(&f.read.total, group(groupTotal))
	if s, err := strconv.ParseFloat(group(groupSeconds), 64); err == nil {
		f.read.seconds(s)
	}
	if rate, err := strconv.ParseFloat(group(groupRate), 64); err == nil && rate > 0 {
		f.read.seconds(1 / rate)
	}
}

// count stores a number of steps, if it is one.
func (r *reading) count(to *profile.Opt[int64], text string) bool {
	n, err := strconv.ParseInt(text, 10, 64)
	if err != nil || n < 0 {
		return false
	}
	*to = profile.Some(n)
	r.matched = true
	return true
}

// seconds stores the time of a step, if it can be one.
func (r *reading) seconds(s float64) {
	const shortest, longest = 1e-9, 1e6
	if s >= shortest && s < longest {
		r.stepTime = profile.Some(time.Duration(s * float64(time.Second)))
		r.matched = true
	}
}
