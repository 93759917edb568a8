package oom

import (
	"bytes"
	"math"
	"slices"

	"example.com/colloc/internal/plain"
	"example.com/colloc/internal/regular"
	"example.com/colloc/profile"
)

// outputTail is how much of the end of the output is searched.
const outputTail = 64 << 10

// Line returns the line of the end of an output that tells that the program ended
// for lack of memory; vague says that it may mean something else. step reads the
// step that a line tells.
func Line(path string, step func(line []byte) (int64, bool)) (line string, vague bool) {
	tail, err := regular.Tail(path, outputTail)
	if err != nil {
		return "", false
	}
	lines := bytes.FieldsFunc(tail, func(r rune) bool { return r == '\n' || r == '\r' })
	var told []around // found once, and where a line matches: a pattern of the user's may be slow
	for i, pattern := range patterns() {
		for at, text := range slices.Backward(lines) {
			if !pattern.Match(text) {
				continue
			}
			if told == nil {
				told = surroundings(lines, step)
			}
			if !told[at].survived(text) {
				return clean(text), i > 0
			}
		}
	}
	return "", false
}

// around is what the lines before and after a line tell.
type around struct {
	before    int64 // the last step before; 0 without one
	low, high int64 // of the steps after; low is larger without any
	inTrace   bool  // all lines since the begin of a trace belong to it, so that this line ends it
	another   bool  // a trace begins after
}

// surroundings tells of each line. O(lines).
func surroundings(lines [][]byte, step func([]byte) (int64, bool)) []around {
	told := make([]around, len(lines))
	steps := make([]profile.Opt[int64], len(lines))
	now := around{low: math.MaxInt64, high: math.MinInt64}
	for at, line := range lines {
		told[at] = now
		if n, ok := step(line); ok {
			steps[at], now.before = profile.Some(n), n
		}
		now.inTrace = traceback(line) || now.inTrace && bytes.HasPrefix(unranked(line), []byte(" "))
	}
	for at, line := range slices.Backward(lines) {
		told[at].low, told[at].high, told[at].another = now.low, now.high, now.another
		if n, ok := steps[at].Get(); ok {
			now.low, now.high = min(now.low, n), max(now.high, n)
		}
		now.another = now.another || traceback(line)
	}
	return told
}

// survived reports whether a program went on after a line, the last that tells of lack of
// memory or one before: it took further steps, or another exception ended it, which began
// after the line and not while the one that the line tells of was handled.
func (a *around) survived(line []byte) bool {
	if a.inTrace && bytes.HasPrefix(line, []byte("[rank")) {
		return false // of several processes one ended so; others may take a step before they are ended
	}
	if a.low <= a.high && (a.low != a.before || a.high != a.before) { // a bar that is closed shows its step again
		return true
	}
	// Launchers and other processes report their own after one that ended so.
	return !a.inTrace && a.another
}

// traceback reports whether a line begins the trace of a Python exception.
func traceback(line []byte) bool {
	return bytes.HasPrefix(unranked(line), []byte("Traceback (most recent call last):"))
}

// unranked takes off what launchers put in front of lines, such as "[rank0]: ".
func unranked(line []byte) []byte {
	if at := bytes.Index(line, []byte("]: ")); at > 0 && line[0] == '[' {
		return line[at+len("]: "):]
	}
	return line
}

// clean makes a line safe to show: printable, and not too long.
func clean(line []byte) string {
	const longest = 200
	return plain.Text(string(line[:min(len(line), longest)]))
}
