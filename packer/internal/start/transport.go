package start

import (
	"math"
)

// Transport moves groups between kinds of GPU until no kind holds more than it
// has room for, at the least cost: successive shortest paths in a graph with a
// node for each kind and one for dropping a group altogether.
//
// Each chain makes a kind that holds too much one group smaller and fills no other
// beyond its room. Where each group begins in the kind that is best for it at some
// prices, no round trip of moves gains anything, and the cheapest chain is a path;
// where that is not so, and the chain runs in circles, a group is dropped instead.
//
// O(groups moved · (kinds · groups + kinds³)).
type Transport struct {
	N    int
	Room []int
	Size func(k int) int
	// Cost of moving group s of kind from to kind to, if it fits there.
	Cost func(s, from, to int) (int64, bool)
	Drop func(s, from int) int64
	Move func(s, from, to int) // to is none for dropping
	stop func() bool           // nil is never
}

// hop is the cheapest move from one kind to another.
type hop struct {
	cost  int64
	group int
}

// Run moves groups until there is room.
func (t *Transport) Run() {
	for k := range t.N {
		for t.Size(k) > t.Room[k] && (t.stop == nil || !t.stop()) {
			t.relieve(k)
		}
	}
}

// relieve makes kind k one group smaller along the cheapest chain.
func (t *Transport) relieve(k int) {
	hops := t.hops()
	dist := make([]int64, t.N+1)
	from := make([]int, t.N+1)
	for v := range dist {
		dist[v], from[v] = math.MaxInt64, none
	}
	dist[k] = 0
	for range t.N { // Bellman-Ford: costs may be negative, cycles are not
		for u := range t.N {
			for v := 0; v <= t.N && dist[u] < math.MaxInt64; v++ {
				if h := hops[u][v]; v != k && h.group != none && dist[u]+h.cost < dist[v] {
					dist[v], from[v] = dist[u]+h.cost, u
				}
			}
		}
	}
	end := t.N
	for v := range t.N {
		if v != k && dist[v] < dist[end] && t.Size(v) < t.Room[v] {
			end = v
		}
	}
	var chain []int // from its end back to k
	for v := end; v != k && len(chain) <= t.N; v = from[v] {
		chain = append(chain, v)
	}
	if len(chain) > t.N {
		chain, from[t.N] = []int{t.N}, k
	}
	for _, v := range chain {
		to := v
		if v == t.N {
			to = none
		}
		t.Move(hops[from[v]][v].group, from[v], to)
	}
}

// hops finds the cheapest move between each two kinds.
func (t *Transport) hops() [][]hop {
	hops := make([][]hop, t.N)
	for u := range hops {
		hops[u] = make([]hop, t.N+1)
		for v := range hops[u] {
			hops[u][v].group = none
		}
		for s := range t.Size(u) {
			for v := range t.N + 1 {
				c, ok := int64(0), u != v
				if v == t.N {
					c = t.Drop(s, u)
				} else if ok {
					c, ok = t.Cost(s, u, v)
				}
				if h := &hops[u][v]; ok && (h.group == none || c < h.cost) {
					*h = hop{c, s}
				}
			}
		}
	}
	return hops
}
