package packer

import "slices"

// auction finds prices for a dense symmetric assignment problem: each person i
// takes one object j of value w(i, j), the diagonal standing for taking part in
// no pair. It is the relaxation of a matching in which each vertex is cut in a
// person and an object, so (profit + price) / 2 are dual prices of the matching
// that lack only the odd sets.
//
// It is Bertsekas' forward auction with ε-scaling. Each person remembers its
// best objects and a bound on all others: prices only rise, so most bids need
// no scan of a row.
type auction struct {
	n     int
	w     []int32
	price []int64
	owner []int32 // of objects
	near  []int32 // nearby objects of each person
	bound []int64 // no object outside near is worth more
	queue []int32 // persons without an object
}

// nearby is how many objects a person remembers.
const nearby = 12

func newAuction(n int, w []int32) *auction {
	a := &auction{n: n, w: w, price: make([]int64, n), owner: make([]int32, n)}
	a.near = make([]int32, n*nearby)
	a.bound = make([]int64, n)
	for i := range a.bound {
		a.bound[i] = 1 << 60 // nothing known: scan
	}
	return a
}

// run bids until everybody owns an object, with ε from first down to last.
// stop is asked once in a while; run returns early if it says so, and the
// prices are valid all the same.
func (a *auction) run(first, last int64, stop func() bool) {
	for eps := max(first, last); ; eps = max(eps/6, last) {
		a.queue = a.queue[:0]
		for i := a.n - 1; i >= 0; i-- {
			a.owner[i] = none
			a.queue = append(a.queue, int32(i))
		}
		for bids := 0; len(a.queue) > 0; bids++ {
			if bids%1024 == 0 && stop() {
				return
			}
			i := a.queue[len(a.queue)-1]
			a.queue = a.queue[:len(a.queue)-1]
			a.bid(i, eps)
		}
		if eps == last {
			return
		}
	}
}

// bid lets person i buy its best object for all it is worth to it over the
// second best, plus eps. The former owner goes back to the queue.
func (a *auction) bid(i int32, eps int64) {
	best, first, second := a.recall(i)
	if first < a.bound[i] {
		a.scan(i)
		best, first, second = a.recall(i)
	}
	second = max(second, a.bound[i])
	a.price[best] += first - second + eps
	if old := a.owner[best]; old != none {
		a.queue = append(a.queue, old)
	}
	a.owner[best] = i
}

// recall returns the best nearby object of person i and the best two values.
func (a *auction) recall(i int32) (best int32, first, second int64) {
	first, second = -1<<60, -1<<60
	if a.bound[i] == 1<<60 {
		return 0, first, second
	}
	row := a.w[int(i)*a.n : int(i+1)*a.n]
	for _, j := range a.near[int(i)*nearby : int(i+1)*nearby] {
		if j == none {
			break
		}
		if v := int64(row[j]) - a.price[j]; v > first {
			best, first, second = j, v, first
		} else if v > second {
			second = v
		}
	}
	return best, first, second
}

// scan finds the nearby objects of person i anew.
func (a *auction) scan(i int32) {
	row := a.w[int(i)*a.n : int(i+1)*a.n]
	var value [nearby + 1]int64
	var object [nearby + 1]int32
	for k := range value {
		value[k], object[k] = -1<<60, none
	}
	price := a.price[:len(row)]
	least := value[nearby]
	for j, w := range row {
		v := int64(w) - price[j]
		if v <= least {
			continue
		}
		k := nearby
		for ; k > 0 && value[k-1] < v; k-- {
			value[k], object[k] = value[k-1], object[k-1]
		}
		value[k], object[k] = v, int32(j)
		least = value[nearby]
	}
	copy(a.near[int(i)*nearby:], object[:nearby])
	a.bound[i] = least
}

// duals returns (profit + price) / 2 for each vertex, rounded up: feasible for
// all pairs, and for the diagonal.
func (a *auction) duals() []int64 {
	y := slices.Clone(a.price)
	for i := range a.n {
		row := a.w[i*a.n : (i+1)*a.n]
		profit := int64(-1 << 60)
		price := a.price[:len(row)]
		for j, w := range row {
			profit = max(profit, int64(w)-price[j])
		}
		y[i] = (y[i] + profit + 1) >> 1
	}
	return y
}
