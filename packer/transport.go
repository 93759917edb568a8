package packer

import "math"

// transport moves groups between kinds of GPU until no kind holds more than it
// has room for, at the least cost: successive shortest paths in a graph with a
// node for each kind and one for dropping a group altogether.
//
// Each chain makes a kind that holds too much one group smaller and fills no other
// beyond its room. Where each group begins in the kind that is best for it at some
// prices, no round trip of moves gains anything, and the cheapest chain is a path;
// where that is not so, and the chain runs in circles, a group is dropped instead.
//
// O(groups moved · (kinds · groups + kinds³)).
type transport struct {
	n    int
	room []int
	size func(k int) int
	// cost of moving group s of kind from to kind to, if it fits there.
	cost func(s, from, to int) (int64, bool)
	drop func(s, from int) int64
	move func(s, from, to int) // to is none for dropping
	stop func() bool           // nil is never
}

// hop is the cheapest move from one kind to another.
type hop struct {
	cost  int64
	group int
}

func (t *transport) run() {
	for k := range t.n {
		for t.size(k) > t.room[k] && (t.stop == nil || !t.stop()) {
			t.relieve(k)
		}
	}
}

// relieve makes kind k one group smaller along the cheapest chain.
func (t *transport) relieve(k int) {
	hops := t.hops()
	dist := make([]int64, t.n+1)
	from := make([]int, t.n+1)
	for v := range dist {
		dist[v], from[v] = math.MaxInt64, none
	}
	dist[k] = 0
	for range t.n { // Bellman-Ford: costs may be negative, cycles are not
		for u := range t.n {
			for v := 0; v <= t.n && dist[u] < math.MaxInt64; v++ {
				if h := hops[u][v]; v != k && h.group != none && dist[u]+h.cost < dist[v] {
					dist[v], from[v] = dist[u]+h.cost, u
				}
			}
		}
	}
	end := t.n
	for v := range t.n {
		if v != k && dist[v] < dist[end] && t.size(v) < t.room[v] {
			end = v
		}
	}
	var chain []int // from its end back to k
	for v := end; v != k && len(chain) <= t.n; v = from[v] {
		chain = append(chain, v)
	}
	if len(chain) > t.n {
		chain, from[t.n] = []int{t.n}, k
	}
	for _, v := range chain {
		to := v
		if v == t.n {
			to = none
		}
		t.move(hops[from[v]][v].group, from[v], to)
	}
}

// hops finds the cheapest move between each two kinds.
func (t *transport) hops() [][]hop {
	hops := make([][]hop, t.n)
	for u := range hops {
		hops[u] = make([]hop, t.n+1)
		for v := range hops[u] {
			hops[u][v].group = none
		}
		for s := range t.size(u) {
			for v := range t.n + 1 {
				c, ok := int64(0), u != v
				if v == t.n {
					c = t.drop(s, u)
				} else if ok {
					c, ok = t.cost(s, u, v)
				}
				if h := &hops[u][v]; ok && (h.group == none || c < h.cost) {
					*h = hop{c, s}
				}
			}
		}
	}
	return hops
}
