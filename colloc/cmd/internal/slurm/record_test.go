package slurm

import (
	"os"
	"testing"
)

// Tasks of two files in one folder may have the same names: that those of the first are done says nothing of the second's.
func TestTwoSweepsInAFolder(t *testing.T) {
	folder(t)
	s := &cluster{gres: whole}
	call(t, s, 0, "submit", "-sweep", "sweep.json")
	first := len(s.scripts)
	text, err := os.ReadFile("sweep.json")
	if err == nil {
		err = os.WriteFile("night.json", text, 0o644)
	}
	if err != nil {
		t.Fatal(err)
	}
	for _, command := range [][]string{{"submit"}, {"submit", "-wait"}, {"plan"}, {"watch"}} {
		_, errs := call(t, s, 2, append(command, "-sweep", "night.json")...)
		contains(t, errs, "submitted.json tells of the tasks of sweep.json", "move night.json to a folder of its own")
	}
	call(t, s, 0, "submit", "-sweep", "night.json", "-record", "night-submitted.json")
	if len(s.scripts) == first {
		t.Error("with a record of its own none of its tasks was submitted")
	}
}
