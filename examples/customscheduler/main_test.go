package main

import (
	"fmt"
	"strings"
	"testing"

	"example.com/colloc/colloc"
	"example.com/colloc/colloc/dispatch/dispatchtest"
)

// TestRun: in the day of main every job starts once and is done once, across two restarts.
func TestRun(t *testing.T) {
	var out strings.Builder
	if err := run(&out); err != nil {
		t.Fatal(err)
	}
	text := out.String()
	for i := range 11 {
		id := fmt.Sprintf("job%02d", i)
		if strings.Count(text, id+" starts on") != 1 || strings.Count(text, id+": done") != 1 {
			t.Errorf("%s does not start once, or is not done once:\n%s", id, text)
		}
	}
	if !strings.Contains(text, " and node") {
		t.Errorf("no job had two GPUs:\n%s", text)
	}
}

// TestKept: the scheduler keeps what every body must, whatever goes wrong.
func TestKept(t *testing.T) {
	planner, err := colloc.New(colloc.Config{})
	if err != nil {
		t.Fatal(err)
	}
	dispatchtest.Run(t, func(w *dispatchtest.World) (dispatchtest.Body, error) { return open(w, planner, nil) })
}
