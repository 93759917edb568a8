package packer

import (
	"context"
	"math/rand/v2"
	"testing"

	"example.com/colloc/profile"
)

// falling makes the promise for a model that keeps it.
type falling struct{ Model }

func (falling) Monotone(*GPU, profile.Mechanism) bool { return true }

// counting counts the questions to a model.
type counting struct {
	Model
	asked int
}

func (c *counting) Speeds(set []*Task, gpu *GPU, mech profile.Mechanism, dst []float64) error {
	c.asked++
	return c.Model.Speeds(set, gpu, mech, dst)
}

// TestMonotoneProvesTheSame verifies certificates, good and bad, with and
// without the promise: the bound must be the same, whatever the hints.
func TestMonotoneProvesTheSame(t *testing.T) {
	rng := rand.New(rand.NewPCG(51, 52))
	ctx := context.Background()
	for range 100 {
		p := draw(rng, drawOptions{tasks: 9, gpus: 4, kinds: 2, residents: 3, maxSet: 1 + rng.IntN(5), homes: rng.IntN(3) == 0})
		cert := &Certificate{U: make([]float64, len(p.Tasks))}
		for i := range cert.U {
			cert.U[i] = float64(rng.IntN(3)) * rng.Float64()
		}
		if rng.IntN(2) == 0 {
			cert = solve(t, ColumnGen{}, p).Certificate
		}
		q := *p
		q.Model = falling{Model: p.Model}
		want, err := cert.Verify(ctx, p)
		if err != nil {
			t.Fatal(err)
		}
		hints := cert.Lambda
		for _, lambda := range [][]float64{nil, hints} {
			cert.Lambda = lambda
			if got, err := cert.Verify(ctx, &q); err != nil || got != want {
				t.Fatalf("got %v, %v, want %v", got, err, want)
			}
		}
	}
}

func TestMonotoneAsksLess(t *testing.T) {
	p := benchProblem(benchModel(t, "random", 24), 7)
	p.Limits.MaxSet = 4
	cert := solve(t, ColumnGen{}, p).Certificate
	asked := func(wrap func(Model) Model) int {
		c := &counting{Model: p.Model}
		q := *p
		q.Model = wrap(c)
		if _, err := cert.Verify(context.Background(), &q); err != nil {
			t.Fatal(err)
		}
		return c.asked
	}
	all := asked(func(m Model) Model { return m })
	few := asked(func(m Model) Model { return falling{Model: m} })
	t.Logf("%d questions, %d of a monotone model", all, few)
	if few > all/2 {
		t.Errorf("%d questions of %d", few, all)
	}
}
