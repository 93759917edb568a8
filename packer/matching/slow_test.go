package matching

// slowMatching is blossom's twin: it tries every matching.
func slowMatching(n int, edges []edge, floor []int64) int64 {
	w := make([][]int64, n)
	for i := range w {
		w[i] = make([]int64, n)
		for j := range w[i] {
			w[i][j] = -1 << 40
		}
	}
	for _, e := range edges {
		w[e.u][e.v], w[e.v][e.u] = e.w, e.w
	}
	memo := make([]int64, 1<<n)
	for used := (1 << n) - 2; used >= 0; used-- {
		v := 0
		for used>>v&1 == 1 {
			v++
		}
		best := floor[v] + memo[used|1<<v]
		for u := v + 1; u < n; u++ {
			if used>>u&1 == 0 {
				best = max(best, w[v][u]+memo[used|1<<v|1<<u])
			}
		}
		memo[used] = best
	}
	return memo[0]
}
