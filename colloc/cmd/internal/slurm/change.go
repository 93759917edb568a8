package slurm

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
)

// reread takes in the sweep file if it was changed, and reports whether it was. Of one that
// makes no sense that is said once, and what was read before counts.
func (w *steward) reread() bool {
	info, err := os.Stat(*w.path)
	if err == nil && w.version != nil && os.SameFile(info, w.version) && info.ModTime().Equal(w.version.ModTime()) && info.Size() == w.version.Size() {
		return false
	}
	first := w.version == nil
	w.version = info
	next, err := readSweep(*w.path)
	if err == nil && next.name != w.sweep.name {
		err = fmt.Errorf("%s: the sweep is called %q now, and was %q: end this command and begin it again", *w.path, next.name, w.sweep.name)
	}
	if err != nil {
		if err.Error() != w.wrong {
			w.wrong = err.Error()
			fmt.Fprintf(w.stderr, "colloc slurm submit: %v: going on with what it was\n", err)
		}
		return false
	}
	w.wrong = ""
	if first && w.sweep.same(next) {
		return false
	}
	fmt.Fprintf(w.stdout, "%s: %s\n", *w.path, w.take(next))
	return true
}

// take goes on with another version of the sweep. Jobs that wait with tasks that are gone from it, or are
// others now, are to be taken back; what runs runs on.
func (w *steward) take(next *sweep) (what string) {
	came, changed, gone := 0, 0, 0
	for _, e := range next.tasks {
		switch was := w.sweep.byID[e.ID]; {
		case was == nil || w.sweep.gone[e.ID]:
			came++
		case !was.same(e):
			changed++
			w.recall[e.ID] = true
		default:
			continue
		}
		delete(w.impossible, e.ID)
		delete(w.refusals, e.ID)
	}
	for id, e := range w.sweep.byID {
		if next.byID[id] != nil {
			continue
		}
		if !w.sweep.gone[id] {
			gone++
			w.recall[id] = true
		}
		next.byID[id], next.gone[id] = e, true
	}
	w.sweep = next
	return fmt.Sprintf("%d tasks came, %d changed, %d are gone: %d", came, changed, gone, len(next.tasks))
}

// same reports whether two versions of a task say the same.
func (e *entry) same(o *entry) bool {
	a, err := json.Marshal(&e.Task)
	b, err2 := json.Marshal(&o.Task)
	return err == nil && err2 == nil && bytes.Equal(a, b)
}

// same reports whether two versions of a sweep have the same tasks.
func (s *sweep) same(o *sweep) bool {
	if len(s.tasks) != len(o.tasks) {
		return false
	}
	for i, e := range s.tasks {
		if e.ID != o.tasks[i].ID || !e.same(o.tasks[i]) {
			return false
		}
	}
	return true
}
