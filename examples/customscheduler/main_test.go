package main

import (
	"strings"
	"testing"
)

// TestAllTasksEnd runs the scheduler to its end: every task starts and ends
// once, at most two share a GPU, and sharing shortens the day.
func TestAllTasksEnd(t *testing.T) {
	var out strings.Builder
	if err := run(&out); err != nil {
		t.Fatal(err)
	}
	text := out.String()
	if starts, ends := strings.Count(text, " starts on "), strings.Count(text, " ends\n"); starts != 6 || ends != 6 {
		t.Errorf("%d starts and %d ends of 6 tasks:\n%s", starts, ends, text)
	}
	if !strings.Contains(text, "beside 1") || strings.Contains(text, "beside 2") {
		t.Errorf("want sets of one and two tasks:\n%s", text)
	}
	// One after another on two GPUs the 145 minutes of work take 75 or more.
	last := text[strings.LastIndex(strings.TrimRight(text, "\n"), "\n")+1:]
	if end := last[:5]; end >= "01:15" {
		t.Errorf("the last task ends at %s, want before 01:15, which exclusive use takes:\n%s", end, text)
	}
}
