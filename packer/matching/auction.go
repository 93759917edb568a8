package matching

import (
	"math"
)

// auction finds prices for a dense symmetric assignment problem: each person i
// takes one object j of value w(i, j), the diagonal standing for taking part in
// no pair. It is the relaxation of a matching in which each vertex is cut in a
// person and an object, so (profit + price) / 2 are dual prices of the matching
// that lack only the odd sets.
//
// It is Bertsekas' forward auction with ε-scaling. On measured speeds, where
// whole groups of tasks are nearly alike, remembering the best objects of each
// person saves nothing; a bid scans the row.
type auction struct {
	n     int
	w     []int32
	price []int32
	owner []int32 // of objects
	queue []int32 // persons without an object
	top   int32   // no value is larger
}

// newAuction starts with prices at half of the best value of each object: where
// they would be if everybody had its favourite partner.
// stop is asked now and then; if it says so, the prices are of no use.
func newAuction(n int, w []int32, stop func() bool) *auction {
	a := &auction{n: n, w: w, price: make([]int32, n), owner: make([]int32, n), top: 1}
	for i := range a.price {
		if i%rowsPerPoll == 0 && stop() {
			break
		}
		most := largest(a.row(i))
		a.price[i] = most / 2
		a.top = max(a.top, most)
	}
	return a
}

func (a *auction) row(i int) []int32 { return a.w[i*a.n : (i+1)*a.n] }

// Precision of the auction, as powers of two below the largest value: ε begins
// at one and ends at the other, in steps of a factor. Finer prices leave less
// to blossom and cost more bids.
const (
	auctionFirst = 6
	auctionLast  = 12
	auctionStep  = 5
)

// run bids until everybody owns an object, for each ε. A bid raises a price by ε,
// one at least, and none goes beyond n·(top + ε): objects that nobody owns are free.
// ε falls until it is last. stop is asked once in a
// while; run returns early if it says so, and the prices are valid all the same.
func (a *auction) run(last int32, stop func() bool) {
	for eps := max(a.top>>auctionFirst, last); ; eps = max(eps/auctionStep, last) {
		a.queue = a.queue[:0]
		for i := a.n - 1; i >= 0; i-- {
			a.owner[i] = none
			a.queue = append(a.queue, int32(i))
		}
		for bids := 1; len(a.queue) > 0; bids++ {
			if bids%1024 == 0 && stop() {
				return
			}
			i := a.queue[len(a.queue)-1]
			a.queue = a.queue[:len(a.queue)-1]
			if a.bid(i, eps) > 1<<30 {
				return // cannot happen while values are below 1<<27
			}
		}
		if eps == last {
			return
		}
	}
}

// bid lets person i buy its best object for all it is worth to it over the
// second best, plus eps, and returns the price. The former owner goes back to
// the queue. Rows are read from the diagonal on, so that persons with many
// equally good objects begin with different ones.
func (a *auction) bid(i, eps int32) int32 {
	row := a.row(int(i))
	b := offer{first: math.MinInt32, second: math.MinInt32}
	b.scan(row[i:], a.price[i:], i)
	b.scan(row[:i], a.price[:i], 0)
	a.price[b.best] += min(b.first-max(b.second, b.first-a.top), a.top) + eps
	if old := a.owner[b.best]; old != none {
		a.queue = append(a.queue, old)
	}
	a.owner[b.best] = i
	return a.price[b.best]
}

// offer is the best object and the best two profits of a person.
type offer struct {
	best          int32
	first, second int32
}

// scan looks through a part of a row that begins with object from. Few profits
// come near the second best, so it looks at four for one decision.
func (o *offer) scan(row, price []int32, from int32) {
	const step = 4
	second := o.second
	for ; len(row) >= step && len(price) >= step; row, price = row[step:], price[step:] {
		w, p := (*[step]int32)(row), (*[step]int32)(price)
		if w[0]-p[0] > second || w[1]-p[1] > second || w[2]-p[2] > second || w[3]-p[3] > second {
			for k := range w {
				o.take(from+int32(k), w[k]-p[k])
			}
			second = o.second
		}
		from += step
	}
	for k, w := range row {
		o.take(from+int32(k), w-price[k])
	}
}

// take looks at one object.
func (o *offer) take(object, profit int32) {
	switch {
	case profit > o.first:
		o.best, o.first, o.second = object, profit, o.first
	case profit > o.second:
		o.second = profit
	}
}

// duals returns (profit + price) / 2 for each vertex, rounded up: feasible for
// all pairs, and for the diagonal.
func (a *auction) duals(stop func() bool) []int64 {
	y := make([]int64, a.n)
	for i := range y {
		if i%rowsPerPoll == 0 && stop() {
			break
		}
		var b offer
		b.first, b.second = math.MinInt32, math.MinInt32
		b.scan(a.row(i), a.price, 0)
		y[i] = (int64(a.price[i]) + int64(b.first) + 1) >> 1
	}
	return y
}

// largest returns the largest of some values, 0 if none is larger.
func largest(values []int32) int32 {
	const step = 4
	most := int32(0)
	for ; len(values) >= step; values = values[step:] {
		if v := (*[step]int32)(values); v[0] > most || v[1] > most || v[2] > most || v[3] > most {
			most = max(v[0], v[1], v[2], v[3])
		}
	}
	for _, v := range values {
		most = max(most, v)
	}
	return most
}

// rowsPerPoll is how many rows of a matrix are read between two looks at the
// context: a few milliseconds' worth of the largest.
const rowsPerPoll = 64
