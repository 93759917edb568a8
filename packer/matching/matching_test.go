package matching

import (
	"encoding/binary"
	"errors"
	"fmt"
	"math/rand/v2"
	"runtime"
	"slices"
	"testing"

	"example.com/colloc/internal/race"
)

// randomMatrix is a symmetric matrix of weights: far apart, tied, sparse or extreme.
func randomMatrix(rng *rand.Rand, n int) []int32 {
	top := []int32{3, 1000, MaxWeight / 2}[rng.IntN(3)]
	part := 0.1 + 0.9*rng.Float64()
	w := make([]int32, n*n)
	for i := range n {
		for j := range i {
			v := -rng.Int32N(top + 1)
			if rng.Float64() < part {
				v = rng.Int32N(top + 1)
			}
			w[i*n+j], w[j*n+i] = v, v
		}
	}
	return w
}

// weightOf sums the pairs up.
func weightOf(m *Matching, w []int32) int64 {
	sum := int64(0)
	for i, j := range m.Mate {
		if int(j) > i {
			sum += int64(w[i*len(m.Mate)+int(j)])
		}
	}
	return sum
}

// slowMaximum is Maximum's twin.
func slowMaximum(n int, w []int32) int64 {
	var edges []edge
	for i := range n {
		for j := range i {
			edges = append(edges, edge{int32(i), int32(j), int64(w[i*n+j])})
		}
	}
	return slowMatching(n, edges, make([]int64, n))
}

func TestMaximumAgainstBruteForce(t *testing.T) {
	rng := rand.New(rand.NewPCG(91, 92))
	for range race.Fewer(600) {
		n := rng.IntN(11)
		w := randomMatrix(rng, n)
		m, err := Maximum(n, w)
		if err != nil {
			t.Fatal(err)
		}
		if err := m.Verify(w, nil); err != nil {
			t.Fatalf("%v: %v", w, err)
		}
		if got, want := weightOf(m, w), slowMaximum(n, w); got != want {
			t.Fatalf("n=%d %v: weight %d, want %d", n, w, got, want)
		}
	}
}

// TestSolverFollows: other floors and other weights, from the prices of the last.
func TestSolverFollows(t *testing.T) {
	rng := rand.New(rand.NewPCG(93, 94))
	for range race.Fewer(60) {
		n := 1 + rng.IntN(40)
		w := make([]int32, n*n)
		draw := func(w []int32) {
			for i := range n {
				for j := range i {
					v := 2 * rng.Int32N(500)
					w[i*n+j], w[j*n+i] = v, v
				}
			}
		}
		draw(w)
		s, err := NewSolver(n, w)
		if err != nil {
			t.Fatal(err)
		}
		for round := range 4 {
			floor := make([]int64, n)
			for v := range floor {
				floor[v] = rng.Int64N(400) - 50
			}
			m, err := s.Solve(floor, nil)
			if err != nil {
				t.Fatal(err)
			}
			if err := m.Verify(w, floor); err != nil {
				t.Fatalf("round %d: %v", round, err)
			}
			if rng.IntN(2) == 0 {
				continue
			}
			shift := make([]int64, n)
			if err := s.Reweigh(draw, rng.Int64N(2), shift, func() bool { return false }); err != nil {
				t.Fatal(err)
			}
		}
	}
}

// TestGoodEnough: a search that may end early proves how far it is from the best, with
// prices that hold for every pair, again after other floors and other weights.
func TestGoodEnough(t *testing.T) {
	rng := rand.New(rand.NewPCG(95, 96))
	never := func() bool { return false }
	early := 0
	for range max(10, race.Fewer(40)) {
		n := 2 + rng.IntN(150)
		tol := []float64{1e-5, 1e-3, 1e-2, 1e-1}[rng.IntN(4)]
		spread := []int32{10, 500, MaxWeight / 4}[rng.IntN(3)]
		w, wanted := make([]int32, n*n), rng.IntN(4)*20
		draw := func(w []int32) {
			for i := range n {
				for j := range i {
					v := (spread + 2*rng.Int32N(spread)) / 2
					if j < wanted { // by everybody, who gets somebody else
						v += spread/2 + 2*rng.Int32N(spread/4+1)
					}
					v &^= 1
					w[i*n+j], w[j*n+i] = v, v
				}
			}
		}
		draw(w)
		s, err := NewSolver(n, w)
		if err != nil {
			t.Fatal(err)
		}
		for round := range 3 {
			floor := make([]int64, n)
			for v := range floor {
				floor[v] = rng.Int64N(int64(spread))
			}
			told := int64(-1)
			o := &Options{Tol: tol, Enough: func(gap, dual int64) bool {
				if told = gap; float64(gap) > tol*float64(dual) {
					told = -1
				}
				return told >= 0
			}}
			m, err := s.Solve(floor, o)
			if err != nil {
				t.Fatal(err)
			}
			best, err := mustSolver(t, n, slices.Clone(w)).Solve(floor, nil)
			if err != nil {
				t.Fatal(err)
			}
			if told < 0 {
				if err := m.Verify(w, floor); err != nil {
					t.Fatalf("n=%d, round %d: found the best: %v", n, round, err)
				}
				continue
			}
			early++
			if got := valueOf(m, w, floor); got > best.Bound() || m.Bound() < best.Bound() || m.Bound() != got+told {
				t.Fatalf("n=%d, round %d: worth %d, prices prove %d, the gap is said to be %d, the best is %d", n, round, got, m.Bound(), told, best.Bound())
			}
			for i := range n {
				for j := range i {
					if m.Duals[i]+m.Duals[j] < int64(w[i*n+j]) {
						t.Fatalf("n=%d, round %d: the prices of %d and %d are below their weight", n, round, i, j)
					}
				}
			}
			if err := s.Reweigh(draw, rng.Int64N(2)*int64(spread)<<4, make([]int64, n), never); err != nil {
				t.Fatal(err)
			}
		}
	}
	if !race.Enabled && (early < 30) {
		t.Errorf("%d searches ended early: the test sees one side only", early)
	}
}

func mustSolver(t *testing.T, n int, w []int32) *Solver {
	t.Helper()
	s, err := NewSolver(n, w)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// valueOf sums pairs and floors of single vertices up.
func valueOf(m *Matching, w []int32, floor []int64) int64 {
	sum := weightOf(m, w)
	for v, u := range m.Mate {
		if u == none {
			sum += floor[v]
		}
	}
	return sum
}

// closeMatrix is a matrix in which every pair is worth something.
func closeMatrix(rng *rand.Rand, n int) []int32 {
	w := make([]int32, n*n)
	for i := range n {
		for j := range i {
			w[i*n+j] = 100_000 + 2*rng.Int32N(50_000)
			w[j*n+i] = w[i*n+j]
		}
	}
	return w
}

// TestLessWork: who is content with a hundredth, asks again, or changes weights a little
// waits for fewer searches than who asks for the best for the first time.
func TestLessWork(t *testing.T) {
	const n = 300
	searches := func(s *Solver, o Options) (asked int) {
		o.Stop = func() bool { asked++; return false }
		if _, err := s.Solve(make([]int64, n), &o); err != nil {
			t.Fatal(err)
		}
		return asked
	}
	var first, again, moved, coarse int
	for seed := range uint64(max(2, race.Fewer(8))) {
		rng := rand.New(rand.NewPCG(seed, 101))
		w := closeMatrix(rng, n)
		enough := func(gap, dual int64) bool { return gap <= dual/100 }
		coarse += searches(mustSolver(t, n, slices.Clone(w)), Options{Tol: 0.01, Enough: enough})
		s := mustSolver(t, n, w)
		first += searches(s, Options{})
		again += searches(s, Options{})
		nudge := func(w []int32) {
			for range n {
				if i, j := rng.IntN(n), rng.IntN(n); i != j {
					w[i*n+j] += 2
					w[j*n+i] += 2
				}
			}
		}
		if err := s.Reweigh(nudge, 2, make([]int64, n), func() bool { return false }); err != nil {
			t.Fatal(err)
		}
		moved += searches(s, Options{})
	}
	t.Logf("searches: first %d, again %d, after a nudge %d, to a hundredth %d", first, again, moved, coarse)
	if 2*again > first || 2*moved > first || 20*coarse > 11*first {
		t.Errorf("searches: first %d, again %d, after a nudge %d, to a hundredth %d; want at most a half, a half and eleven twentieths", first, again, moved, coarse)
	}
}

// TestMemory: a search keeps a few numbers for each pair, and one auction is enough.
func TestMemory(t *testing.T) {
	const n = 300
	s := mustSolver(t, n, closeMatrix(rand.New(rand.NewPCG(99, 100)), n))
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	if _, err := s.Solve(make([]int64, n), nil); err != nil {
		t.Fatal(err)
	}
	runtime.ReadMemStats(&after)
	if got := after.TotalAlloc - before.TotalAlloc; got > 64*n*n {
		t.Errorf("%d bytes for %d vertices, want at most 64 for each pair", got, n)
	}
}

// TestReweighFromScratch: a solver whose weights are new altogether does what a new
// one does, to the last price.
func TestReweighFromScratch(t *testing.T) {
	rng := rand.New(rand.NewPCG(97, 98))
	never := func() bool { return false }
	for range race.Fewer(40) {
		n := 30 + rng.IntN(60)
		w := make([]int32, n*n)
		for i := range n {
			for j := range i {
				v := 2 * rng.Int32N(60)
				w[i*n+j], w[j*n+i] = v, v
			}
		}
		fresh, err := NewSolver(n, slices.Clone(w))
		if err != nil {
			t.Fatal(err)
		}
		again, err := NewSolver(n, make([]int32, n*n))
		if err != nil {
			t.Fatal(err)
		}
		if err := again.Reweigh(func(to []int32) { copy(to, w) }, 0, nil, never); err != nil {
			t.Fatal(err)
		}
		for _, price := range []int64{0, 90, 20} {
			floor := slices.Repeat([]int64{price}, n)
			want, err := fresh.Solve(floor, nil)
			if err != nil {
				t.Fatal(err)
			}
			got, err := again.Solve(floor, nil)
			if err != nil {
				t.Fatal(err)
			}
			if !slices.Equal(got.Mate, want.Mate) || !slices.Equal(got.Duals, want.Duals) {
				t.Fatalf("n=%d, price %d: %v, want %v", n, price, got, want)
			}
		}
	}
}

func TestVerifyFindsDamage(t *testing.T) {
	rng := rand.New(rand.NewPCG(95, 96))
	for range race.Fewer(200) {
		n := 3 + rng.IntN(8)
		w := randomMatrix(rng, n)
		m, err := Maximum(n, w)
		if err != nil {
			t.Fatal(err)
		}
		v := rng.IntN(n)
		switch rng.IntN(3) {
		case 0:
			m.Duals[v]--
		case 1:
			m.Duals[v]++
		default:
			if m.Mate[v] < 0 {
				continue
			}
			if u := m.Mate[v]; w[v*n+int(u)] > 0 {
				m.Mate[v], m.Mate[u] = -1, -1
			}
		}
		if m.Verify(w, nil) == nil {
			t.Fatalf("%+v passes for %v", m, w)
		}
	}
}

func TestWrongInput(t *testing.T) {
	var size *SizeError
	var weight *WeightError
	if _, err := Maximum(2, make([]int32, 3)); !errors.As(err, &size) || size.Want != 4 {
		t.Errorf("3 weights for 2 vertices: %v", err)
	}
	if _, err := Maximum(-1, nil); !errors.As(err, &size) {
		t.Errorf("-1 vertices: %v", err)
	}
	if _, err := Maximum(1<<20, nil); !errors.As(err, &size) {
		t.Errorf("a million vertices: %v", err)
	}
	for _, w := range [][]int32{{0, 1, 2, 0}, {0, MaxWeight, MaxWeight, 0}} {
		if _, err := Maximum(2, w); !errors.As(err, &weight) || weight.I == weight.J {
			t.Errorf("weights %v: %v", w, err)
		}
	}
	if _, err := NewSolver(2, []int32{0, 3, 3, 0}); !errors.As(err, &weight) {
		t.Errorf("an odd weight: %v", err)
	}
	s, err := NewSolver(2, []int32{0, 4, 4, 0})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := s.Solve(make([]int64, 1), nil); !errors.As(err, &size) {
		t.Errorf("one floor for two vertices: %v", err)
	}
	if _, err := s.Solve([]int64{0, MaxWeight + 1}, nil); !errors.As(err, &weight) || weight.I != 1 {
		t.Errorf("a floor out of range: %v", err)
	}
	if m, err := s.Solve([]int64{0, 0}, &Options{Stop: func() bool { return true }}); m != nil || err != nil {
		t.Errorf("stopped: %+v, %v", m, err)
	}
	odd := func(w []int32) { w[1] = 3 }
	if err := s.Reweigh(odd, 0, nil, func() bool { return false }); !errors.As(err, &weight) {
		t.Errorf("one weight changed: %v", err)
	}
}

// FuzzMaximum: whatever the weights, the answer proves itself or there is an error.
func FuzzMaximum(f *testing.F) {
	f.Add([]byte{})
	f.Add(slices.Repeat([]byte{0xff, 0xff, 0xff, 7}, 10))
	f.Add([]byte("as many weights as there are pairs, in bytes"))
	f.Fuzz(func(t *testing.T, data []byte) {
		n := 0
		for (n+1)*n/2 <= len(data)/4 && n < 24 {
			n++
		}
		w := make([]int32, n*n)
		at := 0
		for i := range n {
			for j := range i {
				v := int32(binary.LittleEndian.Uint32(data[4*at:]))
				w[i*n+j], w[j*n+i] = v, v
				at++
			}
		}
		m, err := Maximum(n, w)
		if err != nil {
			return
		}
		if err := m.Verify(w, nil); err != nil {
			t.Fatal(err)
		}
		if n <= 9 && weightOf(m, w) != slowMaximum(n, w) {
			t.Fatalf("weight %d, want %d", weightOf(m, w), slowMaximum(n, w))
		}
	})
}

func BenchmarkMaximum(b *testing.B) {
	for _, n := range []int{100, 1000} {
		for _, top := range []int32{1 << 20, 8} {
			b.Run(fmt.Sprintf("n=%d/weights=%d", n, top), func(b *testing.B) {
				rng := rand.New(rand.NewPCG(1, uint64(n)))
				w := make([]int32, n*n)
				for i := range n {
					for j := range i {
						v := rng.Int32N(top)
						w[i*n+j], w[j*n+i] = v, v
					}
				}
				for b.Loop() {
					if _, err := Maximum(n, w); err != nil {
						b.Fatal(err)
					}
				}
			})
		}
	}
}
