package main

import (
	"fmt"
	"io"
	"strings"
	"time"
)

// report prints the table and keeps the first error.
type report struct {
	io.Writer
	err          error
	missed, rows int
}

func (r *report) printf(format string, args ...any) {
	if r.err == nil {
		_, r.err = fmt.Fprintf(r, format, args...)
	}
}

// figure is something measured beside the time, with what it must be.
type figure struct {
	text, must string
	missed     bool
}

const layout = "%-36s %9s %8s  %-22s %-12s %-7s %8s %6s"

func (r *report) head() {
	r.line("case", "time", "must", "measured", "must", "", "LEMON", "ratio")
}

func (r *report) line(columns ...any) {
	r.printf("%s\n", strings.TrimRight(fmt.Sprintf(layout, columns...), " "))
}

// row prints what was measured, whether it is what it must be, and LEMON's time
// where there is one. A most of 0 is no limit.
func (r *report) row(name string, took, most time.Duration, also []figure, rival, ratio string) {
	var texts, musts []string
	missed, judged := most > 0 && took >= most, most > 0
	for _, f := range also {
		texts = append(texts, f.text)
		if f.must != "" {
			musts = append(musts, f.must)
			missed, judged = missed || f.missed, true
		}
	}
	limit, verdict := "", ""
	if most > 0 {
		limit = "<" + short(most)
	}
	if judged {
		r.rows++
		verdict = "met"
	}
	if missed {
		r.missed++
		verdict = "missed"
	}
	r.line(name, short(took), limit, strings.Join(texts, ", "), strings.Join(musts, ", "), verdict, rival, ratio)
}

// short prints a time with three digits.
func short(d time.Duration) string {
	unit := time.Duration(1)
	for d >= 1000*unit {
		unit *= 10
	}
	d = d.Round(unit)
	switch {
	case d >= time.Second:
		return fmt.Sprintf("%gs", float64(d)/float64(time.Second))
	case d >= time.Millisecond:
		return fmt.Sprintf("%gms", float64(d)/float64(time.Millisecond))
	}
	return fmt.Sprintf("%gµs", float64(d)/float64(time.Microsecond))
}
