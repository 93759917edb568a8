package matching

import (
	rand "math/rand/v2"
	"testing"

	"example.com/colloc/internal/race"
)

// randomGraph draws a graph with floors; kinds differ in how degenerate the
// weights are. Weights are even, as blossom requires.
func randomGraph(rng *rand.Rand, n int) ([]edge, []int64) {
	span := []int64{2, 4, 12, 1 << 20}[rng.IntN(4)]
	density := rng.Float64()
	var edges []edge
	for u := range int32(n) {
		for v := range u {
			if rng.Float64() < density {
				edges = append(edges, edge{u, v, 2 * (rng.Int64N(span+1) - span/4)})
			}
		}
	}
	floor := make([]int64, n)
	if rng.IntN(2) == 0 {
		for v := range floor {
			floor[v] = rng.Int64N(span/2 + 1)
		}
	}
	return edges, floor
}

// checkDuals proves the matching optimal by its own duals and returns its value.
func checkDuals(t *testing.T, b *blossom, edges []edge) int64 {
	t.Helper()
	zsum := func(u, v int32) int64 {
		sum := int64(0)
		for p := b.parent[u]; p != none; p = b.parent[p] {
			for q := b.parent[v]; q != none; q = b.parent[q] {
				if p == q {
					sum += b.z[p]
				}
			}
		}
		return sum
	}
	primal, dual := int64(0), int64(0)
	for _, e := range edges {
		if s := b.y[e.u] + b.y[e.v] + zsum(e.u, e.v) - e.w; s < 0 {
			t.Fatalf("edge %v: slack %d", e, s)
		}
		if b.mate[e.u] == e.v {
			primal += e.w
		}
	}
	for v := range b.n {
		if b.y[v] < b.floor[v] {
			t.Fatalf("vertex %d: dual %d below floor %d", v, b.y[v], b.floor[v])
		}
		dual += b.y[v]
		if m := b.mate[v]; m == none {
			primal += b.floor[v]
		} else if b.mate[m] != int32(v) {
			t.Fatalf("mates of %d and %d do not agree", v, m)
		}
	}
	for node := b.n; node < len(b.z); node++ {
		if b.z[node] < 0 {
			t.Fatalf("blossom %d: z = %d", node, b.z[node])
		}
		size := int64(0)
		if b.z[node] > 0 {
			b.eachVertex(int32(node), func(int32) { size++ })
		}
		dual += b.z[node] * (size / 2)
	}
	if primal != dual {
		t.Fatalf("primal %d, dual %d", primal, dual)
	}
	return primal
}

// startDuals returns duals feasible for edges: cold, or random and lopsided.
func startDuals(rng *rand.Rand, edges []edge, floor []int64) []int64 {
	y := append([]int64(nil), floor...)
	cold := rng.IntN(2) == 0
	for _, e := range edges {
		if cold {
			y[e.u], y[e.v] = max(y[e.u], e.w/2), max(y[e.v], e.w/2)
		} else if short := e.w - y[e.u] - y[e.v]; short > 0 {
			part := rng.Int64N(short + 1)
			y[e.u] += part
			y[e.v] += short - part
		}
	}
	return y
}

func TestBlossomAgainstBruteForce(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	for range race.Fewer(12000) {
		n := rng.IntN(12) + 1
		edges, floor := randomGraph(rng, n)
		b := newBlossom(n, floor, startDuals(rng, edges, floor))
		b.setEdges(edges)
		if !b.solve(func() bool { return false }) {
			t.Fatal("stopped")
		}
		if got, want := checkDuals(t, b, edges), slowMatching(n, edges, floor); got != want {
			t.Fatalf("n=%d edges=%v floor=%v: got %d, want %d", n, edges, floor, got, want)
		}
	}
}

func TestBlossomLargerProvesItself(t *testing.T) {
	rng := rand.New(rand.NewPCG(3, 4))
	for range race.Fewer(300) {
		n := rng.IntN(90) + 10
		edges, floor := randomGraph(rng, n)
		b := newBlossom(n, floor, startDuals(rng, edges, floor))
		b.setEdges(edges)
		b.solve(func() bool { return false })
		checkDuals(t, b, edges)
	}
}
