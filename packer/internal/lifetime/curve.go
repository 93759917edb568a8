package lifetime

import "slices"

// Times are cut into spans, perDouble for each doubling, from 0 to shortest milliseconds
// the first, to nine years and more the last.
const (
	shortest  = 1 << 10
	perDouble = 4
	doublings = 28
	spans     = 1 + perDouble*doublings
)

// edges are where spans begin, and where the last one ends.
//
//nolint:gochecknoglobals // read-only table
var edges = func() (at [spans + 1]int64) {
	parts := [perDouble]float64{1, 1.189207115002721, 1.4142135623730951, 1.681792830507429}
	for i := range spans {
		at[i+1] = int64(shortest * parts[i%perDouble] * float64(int64(1)<<(i/perDouble)))
	}
	return at
}()

// span is the one that a time is in.
func span(ms int64) int {
	at, exact := slices.BinarySearch(edges[:], ms)
	if !exact {
		at--
	}
	return max(0, min(at, spans-1))
}

// counts are how many tasks were in each span, when they ended or now.
type counts [spans]float64

// curve is what becomes of a task: the probability that it ends within each span which it
// reaches, and from where the span begins how long it still runs on average, and its price.
//
// The price is what it costs to see such a task end if it may be given up: the least, over
// all times for which it may be tried, of how long it then runs on average over the
// probability that it ends. It is the inverse of Gittins' index.
type curve struct {
	ends   [spans]float64
	left   [spans + 1]float64
	prices [spans + 1]float64
}

// prior is the curve of tasks of which none was seen: what is left is as long again as they
// have had, and typical milliseconds at first.
func prior(typical float64) *curve {
	var c curve
	for i := range spans {
		stay := (float64(edges[i]) + typical) / (float64(edges[i+1]) + typical)
		c.ends[i] = 1 - float64(stay*stay)
	}
	c.sum(typical)
	return &c
}

// fit returns the curve of tasks of which some ended and others are open: those end later.
// Another curve counts like weight tasks.
//
// Of r tasks that reach a span d end in it and o are there now: the probability to end in
// it is d / (r - o/2), as in a table of mortality.
func fit(ended, open *counts, like *curve, weight float64) *curve {
	var c curve
	reach := 0.0
	for i := spans - 1; i >= 0; i-- {
		d, o := ended[i], open[i]
		reach += d + o
		c.ends[i] = (d + float64(weight*like.ends[i])) / (reach - o/2 + weight)
	}
	c.sum(like.left[spans] - float64(edges[spans]))
	c.rate()
	return &c
}

// sum fills in what is left; beyond the last span as for the prior.
func (c *curve) sum(typical float64) {
	c.left[spans] = float64(edges[spans]) + typical
	for i := spans - 1; i >= 0; i-- {
		width := float64(edges[i+1] - edges[i])
		c.left[i] = float64(width*(1-c.ends[i]/2)) + float64((1-c.ends[i])*c.left[i+1])
	}
}

// rate fills in the prices. How long tasks still run over how many of them still do is a
// line, and the price the least slope to any later point of it: backwards, as for a convex
// hull, each point is passed over once.
func (c *curve) rate() {
	var alive, rest [spans + 2]float64 // nobody at the end
	alive[0] = 1
	for i := range spans {
		alive[i+1] = alive[i] * (1 - c.ends[i])
	}
	for i := range alive[:spans+1] {
		rest[i] = float64(alive[i] * c.left[i])
	}
	slope := func(i, j int) float64 { return (rest[i] - rest[j]) / (alive[i] - alive[j]) }
	var until [spans + 1]int
	for i := spans; i >= 0; i-- {
		j := i + 1
		for j <= spans && c.prices[j] < slope(i, j) {
			j = until[j]
		}
		until[i], c.prices[i] = j, slope(i, j)
	}
}

// after returns how many milliseconds a task that has run for so many still runs on
// average, and its price.
func (c *curve) after(done int64) (mean, price float64) {
	at := span(done)
	width := float64(edges[at+1] - edges[at])
	part := min(1, float64(done-edges[at])/width) // of the span that is over
	end := float64(c.ends[at]*(1-part)) / (1 - float64(c.ends[at]*part))
	mean = float64(width*(1-part)*(1-end/2)) + float64((1-end)*c.left[at+1])
	price = float64((1-part)*c.prices[at]) + float64(part*c.prices[at+1])
	return mean, min(price, mean)
}
