// Package matching finds maximum-weight matchings of graphs: pairs of vertices, each
// in one pair at most, with the largest sum of weights. It knows of nothing but
// integers.
//
//	m, err := matching.Maximum(n, weights) // weights[i*n+j] of each two vertices
//	if err != nil {
//		return err
//	}
//	for i, j := range m.Mate {
//		if int(j) > i {
//			fmt.Println(i, "with", j)
//		}
//	}
//
// The answer proves itself: prices of vertices and of odd sets, which [Matching.Verify]
// holds against the weights, show that no matching has more weight. A [Solver] solves
// one graph again and again, with other weights or other prices of being single, and
// starts each time from the prices of the last.
//
// # Formulation
//
// A pair e of vertices is worth w(e), a single vertex v is worth floor(v):
//
//	max  Σ w(e)·x(e) + Σ floor(v)·(1 - x(δ(v)))
//	min  Σ y(v) + Σ z(B)·⌊|B|/2⌋
//	     y(v) + y(u) + Σ z(B: u, v ∈ B) >= w(uv),  y(v) >= floor(v),  z >= 0
//
// with odd sets B of vertices (Edmonds 1965). Weights are even, which keeps every
// price an integer: there is no rounding anywhere.
//
// # Method
//
// An auction finds prices that lack only the odd sets; the ten pairs of each vertex
// that are nearest to being worth their price go to Edmonds' primal-dual algorithm,
// with heaps; pairs that are worth more than the prices it ends with join them, until
// there are none. On dense graphs that takes about O(n²) time where weights are not
// tied, and O(n³ log n) at worst.
//
// # Concurrency
//
// A Solver is for one goroutine at a time; solvers share nothing.
//
// # References
//
//   - Edmonds, Maximum matching and a polyhedron with 0,1-vertices, 1965,
//     doi:10.6028/jres.069B.013.
//   - Galil, Efficient algorithms for finding maximum matching in graphs, 1986,
//     doi:10.1145/6462.6502: the primal-dual method with heaps.
//   - Bertsekas, The auction algorithm, 1988, doi:10.1007/BF02186476.
package matching
