package solve

import (
	"context"
	"errors"
	"fmt"
	rand "math/rand/v2"
	"strings"
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
				m := &packtest.CountingModel{BatchModel: speeds}
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

// TestMillionTasks: what Matching cannot do it refuses at once, and says why.
func TestMillionTasks(t *testing.T) {
	p := &packer.Problem{Model: packtest.Even{1, 0.8}, GPUs: []packer.GPU{{ID: "g", Memory: profile.GiB}}, Tasks: make([]packer.Task, 1_000_000)}
	if _, err := (Matching{}).Pack(context.Background(), p); err == nil || !strings.Contains(err.Error(), "1000000 tasks") {
		t.Errorf("got %v", err)
	}
}
