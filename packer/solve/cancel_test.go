package solve

import (
	"context"
	"errors"
	"fmt"
	rand "math/rand/v2"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"example.com/colloc/packer"
	"example.com/colloc/packer/internal/packtest"
	"example.com/colloc/profile"
)

// TestMethodsPollTheContext: methods look at the context at least every few
// thousand questions, and when it is cancelled they end with few more. A
// question to a quick model takes some tens of nanoseconds, so that is far below
// ten milliseconds.
func TestMethodsPollTheContext(t *testing.T) {
	const n = 120
	for _, kinds := range [][]int{{40}, {24, 16}} {
		for _, method := range []packer.Method{Greedy{}, Matching{}, Matching{Tol: 0.001}, LocalSearch{Steps: 100}} {
			var polls int
			for _, at := range []int{1 << 30, 1, 5, 0, -3, -10} {
				speeds := packtest.BenchModel(t, "random", n)
				m := &countingModel{BatchModel: speeds}
				p := packtest.BenchProblem(speeds, kinds...)
				p.Model = m
				if at <= 0 { // somewhere in the middle
					at = max(1, polls*(12+at)/13)
				}
				ctx := &packtest.PollContext{Context: context.Background(), At: at, Questions: &m.Questions}
				s, err := method.Pack(ctx, p)
				name := fmt.Sprintf("%T on %v kinds, cancelled at poll %d", method, kinds, at)
				if at == 1<<30 {
					polls = ctx.Polls
				} else if !errors.Is(err, context.Canceled) {
					t.Errorf("%s: error %v", name, err)
				}
				if s == nil {
					t.Fatalf("%s: no plan, %v", name, err)
				}
				if ctx.Worst > 20*n {
					t.Errorf("%s: %d questions between two polls", name, ctx.Worst)
				}
				if after := m.Questions - ctx.After; at < 1<<30 && after > 20*n {
					t.Errorf("%s: %d questions after that", name, after)
				}
				if err := p.Check(s); err != nil {
					t.Errorf("%s: %v", name, err)
				}
			}
		}
	}
}

// TestPropertyOrderChangesNothingElse is TestPropertyOrderChangesNothing with
// homes and gangs.
func TestPropertyOrderChangesNothingElse(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		rng := rand.New(rand.NewPCG(rapid.Uint64().Draw(t, "seed"), 5))
		o := packtest.DrawOptions{Tasks: 14, GPUs: 8, Kinds: 2, Residents: 3, MaxSet: 2}
		o.Homes = rapid.Bool().Draw(t, "homes")
		o.Gangs = !o.Homes
		p := packtest.Draw(rng, o)
		q := *p
		q.Tasks = rapid.Permutation(p.Tasks).Draw(t, "order of tasks")
		q.GPUs = rapid.Permutation(p.GPUs).Draw(t, "order of GPUs")
		for _, m := range []packer.Method{Matching{}, Greedy{}, LocalSearch{Steps: 50}} {
			a, b := pack(t, m, p), pack(t, m, &q)
			if diff := cmp.Diff(byName(p, a), byName(&q, b)); diff != "" {
				t.Fatalf("%T depends on the order of its input (-as given +permuted):\n%s", m, diff)
			}
		}
	})
}

// TestColumnGenWithoutHomesStops: with gangs beside homes there are two plans on the way;
// cancelled at any moment, or where the model fails, it says just that.
func TestColumnGenWithoutHomesStops(t *testing.T) {
	rng := rand.New(rand.NewPCG(183, 184))
	stopped, failed := 0, 0
	for range 6 {
		p := packtest.Draw(rng, packtest.DrawOptions{Tasks: 7, GPUs: 6, Kinds: 2, MaxSet: 2, Homes: true})
		for i := range p.Tasks {
			if p.Tasks[i].Home == "" {
				p.Tasks[i].GPUs = rng.IntN(3)
			}
		}
		model, asked := p.Model, 0
		polls := 1 << 30
		for at := polls; at > 0; at = at * 4 / 5 {
			ctx := &packtest.PollContext{Context: t.Context(), At: min(at, polls), Questions: &asked}
			s, err := ColumnGen{Steps: 20}.Pack(ctx, p)
			if s == nil || err != nil && !errors.Is(err, context.Canceled) {
				t.Fatalf("cancelled at poll %d: %v, %v", ctx.At, s, err)
			}
			if err := p.Check(s); err != nil {
				t.Fatal(err)
			}
			if err != nil {
				stopped++
			}
			if at == 1<<30 {
				at, polls = ctx.Polls+1, ctx.Polls+1
			}
		}
		counting := &counting{Model: model}
		p.Model = counting
		if _, err := (ColumnGen{Steps: 20}).Pack(t.Context(), p); err != nil {
			t.Fatal(err)
		}
		for at := counting.Asked; at > 0; at = at * 4 / 5 {
			p.Model = &failsAt{Model: model, left: at}
			if s, err := (ColumnGen{Steps: 20}).Pack(t.Context(), p); s != nil && err == nil {
				t.Fatalf("the model fails at question %d of %d, and nobody says so", at, counting.Asked)
			} else if !errors.Is(err, errBroken) {
				t.Fatalf("question %d: %v", at, err)
			}
			failed++
		}
	}
	if stopped == 0 || failed == 0 {
		t.Errorf("stopped %d times, failed %d times", stopped, failed)
	}
}

// failsAt is a model that fails at one question.
type failsAt struct {
	packer.Model
	left int
}

// Speeds implements packer.Model.
func (m *failsAt) Speeds(set []*packer.Task, gpu *packer.GPU, mech profile.Mechanism, dst []float64) error {
	if m.left--; m.left == 0 {
		return errBroken
	}
	return m.Model.Speeds(set, gpu, mech, dst)
}

// countingModel counts questions, by the pair.
type countingModel struct {
	packer.BatchModel
	Questions int
}

// Speeds implements packer.Model.
func (m *countingModel) Speeds(set []*packer.Task, gpu *packer.GPU, mech profile.Mechanism, dst []float64) error {
	m.Questions++
	return m.BatchModel.Speeds(set, gpu, mech, dst)
}

// PairSpeeds implements packer.BatchModel.
func (m *countingModel) PairSpeeds(task *packer.Task, partners []*packer.Task, gpu *packer.GPU, mech profile.Mechanism, own, other []float64) error {
	m.Questions += len(partners)
	return m.BatchModel.PairSpeeds(task, partners, gpu, mech, own, other)
}

// counting counts the questions to a model.
type counting struct {
	packer.Model
	Asked int
}

// Speeds implements packer.Model.
func (c *counting) Speeds(set []*packer.Task, gpu *packer.GPU, mech profile.Mechanism, dst []float64) error {
	c.Asked++
	return c.Model.Speeds(set, gpu, mech, dst)
}
