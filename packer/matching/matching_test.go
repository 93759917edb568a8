package matching

import (
	"encoding/binary"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
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
	for range 600 {
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
	for range 60 {
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

// TestReweighFromScratch: a solver whose weights are new altogether does what a new
// one does, to the last price.
func TestReweighFromScratch(t *testing.T) {
	rng := rand.New(rand.NewPCG(97, 98))
	never := func() bool { return false }
	for range 40 {
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
	for range 200 {
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
