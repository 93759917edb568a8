package oom

import (
	"bytes"
	"slices"

	"example.com/colloc/internal/plain"
	"example.com/colloc/internal/regular"
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
	for i, pattern := range patterns() {
		for at, text := range slices.Backward(lines) {
			if pattern.Match(text) && !survived(lines, at, step) {
				return clean(text), i > 0
			}
		}
	}
	return "", false
}

// survived reports whether a program went on after a line, the last that tells of lack of
// memory or one before: it took further steps, or another exception ended it, which began
// after the line and not while the one that the line tells of was handled.
func survived(lines [][]byte, at int, step func([]byte) (int64, bool)) bool {
	if inTraceback(lines[:at]) && bytes.HasPrefix(lines[at], []byte("[rank")) {
		return false // of several processes one ended so; others may take a step before they are ended
	}
	before := int64(0)
	for _, line := range lines[:at] {
		if n, ok := step(line); ok {
			before = n
		}
	}
	for _, line := range lines[at+1:] {
		if n, ok := step(line); ok && n != before { // a bar that is closed shows its step again
			return true
		}
	}
	// Launchers and other processes report their own after one that ended so.
	return !inTraceback(lines[:at]) && slices.ContainsFunc(lines[at+1:], traceback)
}

// traceback reports whether a line begins the trace of a Python exception.
func traceback(line []byte) bool {
	return bytes.HasPrefix(unranked(line), []byte("Traceback (most recent call last):"))
}

// inTraceback reports whether the line after these ends a trace: all lines since
// its begin belong to it.
func inTraceback(lines [][]byte) bool {
	for _, line := range slices.Backward(lines) {
		switch {
		case traceback(line):
			return true
		case !bytes.HasPrefix(unranked(line), []byte(" ")):
			return false
		}
	}
	return false
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
