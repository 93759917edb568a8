package simulate

import (
	_ "embed"
	"fmt"
	"html/template"
	"io"
	"slices"

	"example.com/colloc/colloc/sim"
)

//go:embed report.html
var reportPage string

// chart is a drawing with a sentence on how to read it.
type chart struct {
	Caption string
	SVG     template.HTML
}

// report is what the page shows.
type report struct {
	Title, World string
	Command      string
	Columns      []column
	Policies     []reportRow
	Unfinished   bool
	Bars, Lines  []chart
	Timelines    []template.HTML
	Seeds        int
}

type reportRow struct {
	Name       string
	Color      string // of its bars and lines
	Unfinished int
	Cells      []reportCell
}

type reportCell struct {
	Text string
	Best bool
}

// writeReport writes one HTML file that needs nothing beside it.
func writeReport(w io.Writer, title, world, command string, seeds int, all []summary) error {
	r := report{Title: title, World: world, Command: command, Columns: columns(), Seeds: seeds}
	r.rows(all)
	if err := r.draw(all); err != nil {
		return fmt.Errorf("report: %w", err)
	}
	page, err := template.New("report").Parse(reportPage)
	if err != nil {
		return fmt.Errorf("report: %w", err)
	}
	return page.Execute(w, &r)
}

// rows fills the table and marks the best figure of each column.
func (r *report) rows(all []summary) {
	for i := range all {
		c := palette(i)
		row := reportRow{Name: all[i].Policy, Color: fmt.Sprintf("#%02x%02x%02x", c.R, c.G, c.B), Unfinished: all[i].Unfinished}
		r.Unfinished = r.Unfinished || row.Unfinished > 0
		for k, c := range r.Columns {
			best := true
			for j := range all {
				a, b := all[j].Figures[k].Mean, all[i].Figures[k].Mean
				best = best && !(c.Less && a < b || !c.Less && a > b)
			}
			row.Cells = append(row.Cells, reportCell{all[i].Figures[k].format(c), best})
		}
		r.Policies = append(r.Policies, row)
	}
}

// draw makes the charts.
func (r *report) draw(all []summary) error {
	for k, c := range r.Columns {
		if !slices.ContainsFunc(all, func(s summary) bool { return s.Figures[k].Mean != 0 }) {
			continue // nothing to compare
		}
		drawing, err := bars(c, k, all)
		if err != nil {
			return err
		}
		r.Bars = append(r.Bars, chart{SVG: drawing})
	}
	drawing, err := completion(all)
	if err != nil {
		return err
	}
	r.Lines = append(r.Lines, chart{"The part of all tasks, over all seeds, that were done within the time; further left is better.", drawing})
	for _, l := range []struct {
		title, caption string
		value          func(*sim.Point) float64
	}{
		{"Busy", "The part of all SMs that works, first seed.", func(p *sim.Point) float64 { return p.Busy }},
		{"Waiting tasks", "Tasks without a GPU, first seed.", func(p *sim.Point) float64 { return float64(p.Waiting) }},
		{"Power", "Watts of all GPUs, first seed.", func(p *sim.Point) float64 { return p.Watts }},
	} {
		drawing, err := overTime(l.title, all, l.value)
		if err != nil {
			return err
		}
		r.Lines = append(r.Lines, chart{l.caption, drawing})
	}
	for i := range all {
		first := &all[i].Runs[0]
		if first.Timeline == nil {
			continue
		}
		drawing, err := gantt(all[i].Policy, first.Timeline, first.Last.At)
		if err != nil {
			return err
		}
		r.Timelines = append(r.Timelines, drawing)
	}
	return nil
}
