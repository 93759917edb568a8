package main

import (
	"fmt"
	"io"

	"example.com/colloc/examples/measure/internal/plan"
)

func printTasks(w io.Writer, tasks []plan.Task) error {
	for _, t := range tasks {
		mark := " "
		if t.Core {
			mark = "*"
		}
		if _, err := fmt.Fprintf(w, "%s %-16s %s\n", mark, t.Name, t.What); err != nil {
			return err
		}
	}
	_, err := fmt.Fprintln(w, "\n* core: their pairs are measured first")
	return err
}

// printPlan prints each stage with the time until its end, and its cells.
func printPlan(w io.Writer, o *options) error {
	settings := o.config().Settings
	var until float64
	cells := 0
	for _, s := range o.Stages() {
		for i := range s.Cells {
			until += settings.Expect(&s.Cells[i]).Minutes()
		}
		cells += len(s.Cells)
		if _, err := fmt.Fprintf(w, "%s: %d cells, done after about %.0f min\n", s.Name, len(s.Cells), until); err != nil {
			return err
		}
		for i := range s.Cells {
			if _, err := fmt.Fprintln(w, " ", s.Cells[i].ID()); err != nil {
				return err
			}
		}
	}
	_, err := fmt.Fprintf(w, "%d cells in all\n", cells)
	return err
}
