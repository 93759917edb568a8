package screen

import (
	"sync"

	"example.com/colloc/colloc/runner"
)

// Switch is a display that can be replaced while the sweep runs, as when its terminal
// is closed.
type Switch struct {
	mu sync.Mutex
	to Display
}

// NewSwitch returns one that shows what d does.
func NewSwitch(d Display) *Switch { return &Switch{to: d} }

// Set replaces the display.
func (s *Switch) Set(d Display) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.to = d
}

func (s *Switch) display() Display {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.to
}

// Event passes an event on.
func (s *Switch) Event(e *runner.Event) { s.display().Event(e) }

// Note passes a sentence on.
func (s *Switch) Note(text string) { s.display().Note(text) }

// Line passes a line of a task on.
func (s *Switch) Line(task, text string) { s.display().Line(task, text) }

// Tick passes a view on.
func (s *Switch) Tick(v *View) { s.display().Tick(v) }

// End passes the report on.
func (s *Switch) End(r *Report) { s.display().End(r) }

// Live reports whether a display shows what Tick gets.
func Live(d Display) bool {
	if s, ok := d.(*Switch); ok {
		d = s.display()
	}
	_, live := d.(*table)
	return live
}
