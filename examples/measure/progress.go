package main

import (
	"fmt"
	"strings"
	"time"

	"example.com/colloc/nvmlx"
)

// progress estimates how long the rest takes.
type progress struct {
	clock    nvmlx.Clock
	settings settings
	start    time.Time
	// rest[i] is the expected time of the cells from i on.
	rest []time.Duration
	// factor is how much longer than expected the cells so far took.
	factor float64
}

func newProgress(clock nvmlx.Clock, s settings, cells []cell) *progress {
	p := &progress{clock: clock, settings: s, start: clock.Now(), factor: 1}
	p.plan(cells)
	return p
}

// plan takes a new list of cells, of which those that were finished still are.
func (p *progress) plan(cells []cell) {
	p.rest = make([]time.Duration, len(cells)+1)
	for i := len(cells) - 1; i >= 0; i-- {
		p.rest[i] = p.rest[i+1] + p.settings.expect(&cells[i])
	}
}

// expect returns how long a cell takes by rule of thumb: a fresh process loads
// the framework for about 8 s, a kept one only builds its model.
func (s settings) expect(c *cell) time.Duration {
	load := 8.0
	if s.Keep > 0 {
		load = 2
	}
	seconds := load + 0.5*float64(len(c.Tasks)) + s.Warmup + s.Measure
	return time.Duration(seconds * float64(time.Second))
}

// expect corrects the rule by what was seen.
func (p *progress) expect(c *cell) time.Duration {
	return time.Duration(float64(p.settings.expect(c)) * p.factor)
}

func (p *progress) elapsed() time.Duration { return p.clock.Now().Sub(p.start) }

// finished notes that cells 0 to i are done.
func (p *progress) finished(i int) {
	if planned := p.rest[0] - p.rest[i+1]; planned > 0 {
		p.factor = p.elapsed().Seconds() / planned.Seconds()
	}
}

// line says what cell i came to and how long the others will take.
func (p *progress) line(i int, res *result) string {
	left := time.Duration(float64(p.rest[i+1]) * p.factor).Round(time.Second)
	total := len(p.rest) - 1
	var what strings.Builder
	fmt.Fprintf(&what, "[%d/%d, %v left] %s: %s", i+1, total, left, res.Cell.id(), res.Status)
	if res.Window == nil {
		if text := complaints(res); text != "" {
			fmt.Fprintf(&what, " (%.200s)", text)
		}
		return what.String()
	}
	for k := range res.Members {
		m := &res.Members[k]
		fmt.Fprintf(&what, " %s %.1f steps/s", m.Task, m.steps(*res.Window)/res.Window.seconds())
	}
	return what.String()
}
