package packer

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"example.com/colloc/profile"
)

// pollContext counts how often it is asked, and what is done in between. It is
// cancelled from the poll at on.
type pollContext struct {
	context.Context
	polls, at int
	questions *int
	last      int
	worst     int // questions between two polls
	after     int // questions asked when it was cancelled
}

func (c *pollContext) Err() error {
	c.worst = max(c.worst, *c.questions-c.last)
	c.last = *c.questions
	if c.polls++; c.polls < c.at {
		return nil
	}
	if c.polls == c.at {
		c.after = *c.questions
	}
	return context.Canceled
}

// countingModel counts questions, by the pair.
type countingModel struct {
	BatchModel
	questions int
}

func (m *countingModel) Speeds(set []*Task, gpu *GPU, mech profile.Mechanism, dst []float64) error {
	m.questions++
	return m.BatchModel.Speeds(set, gpu, mech, dst)
}

func (m *countingModel) PairSpeeds(task *Task, partners []*Task, gpu *GPU, mech profile.Mechanism, own, other []float64) error {
	m.questions += len(partners)
	return m.BatchModel.PairSpeeds(task, partners, gpu, mech, own, other)
}

// TestMethodsPollTheContext: methods look at the context at least every few
// thousand questions, and when it is cancelled they end with few more. A
// question to a quick model takes some tens of nanoseconds, so that is far below
// ten milliseconds.
func TestMethodsPollTheContext(t *testing.T) {
	const n = 120
	for _, kinds := range [][]int{{40}, {24, 16}} {
		for _, method := range []Method{Greedy{}, Matching{}, Matching{Tol: 0.001}, LocalSearch{Steps: 100}} {
			var polls int
			for _, at := range []int{1 << 30, 1, 5, 0, -3, -10} {
				speeds := benchModel(t, "random", n)
				m := &countingModel{BatchModel: speeds}
				p := benchProblem(speeds, kinds...)
				p.Model = m
				if at <= 0 { // somewhere in the middle
					at = max(1, polls*(12+at)/13)
				}
				ctx := &pollContext{Context: context.Background(), at: at, questions: &m.questions}
				s, err := method.Pack(ctx, p)
				name := fmt.Sprintf("%T on %v kinds, cancelled at poll %d", method, kinds, at)
				if at == 1<<30 {
					polls = ctx.polls
				} else if !errors.Is(err, context.Canceled) {
					t.Errorf("%s: error %v", name, err)
				}
				if s == nil {
					t.Fatalf("%s: no plan, %v", name, err)
				}
				if ctx.worst > 20*n {
					t.Errorf("%s: %d questions between two polls", name, ctx.worst)
				}
				if after := m.questions - ctx.after; at < 1<<30 && after > 20*n {
					t.Errorf("%s: %d questions after that", name, after)
				}
				if err := p.Check(s); err != nil {
					t.Errorf("%s: %v", name, err)
				}
			}
		}
	}
}

func TestRebalancePollsTheContext(t *testing.T) {
	const n = 200
	for _, at := range []int{1, 3, 50, 150} {
		speeds := benchModel(t, "random", n)
		m := &countingModel{BatchModel: speeds}
		gpus := make([]GPU, n/2)
		for i := range gpus {
			gpus[i] = GPU{ID: strconv.Itoa(i), Memory: profile.GiB}
		}
		s, err := NewSession(gpus, m, Limits{}, nil)
		if err != nil {
			t.Fatal(err)
		}
		for _, task := range benchProblem(speeds).Tasks {
			if _, err := s.Arrive(task); err != nil {
				t.Fatal(err)
			}
		}
		before := s.Throughput()
		ctx := &pollContext{Context: context.Background(), at: at, questions: &m.questions}
		if _, err := s.Rebalance(ctx, 50); !errors.Is(err, context.Canceled) {
			t.Errorf("cancelled at poll %d: %v", at, err)
		}
		if after := m.questions - ctx.after; after > 20*n {
			t.Errorf("cancelled at poll %d: %d questions after that", at, after)
		}
		if s.Throughput() < before {
			t.Errorf("cancelled at poll %d: throughput falls from %v to %v", at, before, s.Throughput())
		}
	}
}

// TestPropertyOrderChangesNothingElse is TestPropertyOrderChangesNothing with
// homes and gangs.
func TestPropertyOrderChangesNothingElse(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		rng := rand.New(rand.NewPCG(rapid.Uint64().Draw(t, "seed"), 5))
		o := drawOptions{tasks: 14, gpus: 8, kinds: 2, residents: 3, maxSet: 2}
		o.homes = rapid.Bool().Draw(t, "homes")
		o.gangs = !o.homes
		p := draw(rng, o)
		q := *p
		q.Tasks = rapid.Permutation(p.Tasks).Draw(t, "order of tasks")
		q.GPUs = rapid.Permutation(p.GPUs).Draw(t, "order of GPUs")
		for _, m := range []Method{Matching{}, Greedy{}, LocalSearch{Steps: 50}} {
			a, b := pack(t, m, p), pack(t, m, &q)
			if diff := cmp.Diff(byName(p, a), byName(&q, b)); diff != "" {
				t.Fatalf("%T depends on the order of its input (-as given +permuted):\n%s", m, diff)
			}
		}
	})
}

// TestMillionTasks: what Matching cannot do it refuses at once, and says why.
func TestMillionTasks(t *testing.T) {
	p := &Problem{Model: even{1, 0.8}, GPUs: []GPU{{ID: "g", Memory: profile.GiB}}, Tasks: make([]Task, 1_000_000)}
	if _, err := (Matching{}).Pack(context.Background(), p); err == nil || !strings.Contains(err.Error(), "1000000 tasks") {
		t.Errorf("got %v", err)
	}
}
