package session

import (
	"fmt"
	"strings"
	"time"

	"example.com/colloc/examples/measure/internal/plan"
	"example.com/colloc/examples/measure/internal/raw"
	"example.com/colloc/nvmlx"
)

// progress estimates how long the rest takes.
type progress struct {
	clock    nvmlx.Clock
	settings plan.Settings
	start    time.Time
	// rest[i] is the expected time of the cells from i on.
	rest []time.Duration
	// factor is how much longer than expected the cells so far took.
	factor float64
}

func newProgress(clock nvmlx.Clock, s plan.Settings, cells []plan.Cell) *progress {
	p := &progress{clock: clock, settings: s, start: clock.Now(), factor: 1}
	p.plan(cells)
	return p
}

// plan takes a new list of cells, of which those that were finished still are.
func (p *progress) plan(cells []plan.Cell) {
	p.rest = make([]time.Duration, len(cells)+1)
	for i := len(cells) - 1; i >= 0; i-- {
		p.rest[i] = p.rest[i+1] + p.settings.Expect(&cells[i])
	}
}

// expect corrects the rule by what was seen.
func (p *progress) expect(c *plan.Cell) time.Duration {
	return time.Duration(float64(p.settings.Expect(c)) * p.factor)
}

func (p *progress) elapsed() time.Duration { return p.clock.Now().Sub(p.start) }

// finished notes that cells 0 to i are done.
func (p *progress) finished(i int) {
	if planned := p.rest[0] - p.rest[i+1]; planned > 0 {
		p.factor = p.elapsed().Seconds() / planned.Seconds()
	}
}

// line says what cell i came to and how long the others will take.
func (p *progress) line(i int, res *raw.Result) string {
	left := time.Duration(float64(p.rest[i+1]) * p.factor).Round(time.Second)
	total := len(p.rest) - 1
	var what strings.Builder
	fmt.Fprintf(&what, "[%d/%d, %v left] %s: %s", i+1, total, left, res.Cell.ID(), res.Status)
	if res.Window == nil {
		if text := res.Complaints(); text != "" {
			fmt.Fprintf(&what, " (%.200s)", text)
		}
		return what.String()
	}
	for k := range res.Members {
		m := &res.Members[k]
		fmt.Fprintf(&what, " %s %.1f steps/s", m.Task, m.Steps(*res.Window)/res.Window.Seconds())
	}
	return what.String()
}
