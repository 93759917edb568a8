package solve

import (
	"context"
	"errors"
	"fmt"
	rand "math/rand/v2"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"example.com/colloc/packer"
	"example.com/colloc/packer/internal/packtest"
	"example.com/colloc/profile"
)

// drawProblem draws a problem of a size that rapid can shrink.
func drawProblem(t *rapid.T) *packer.Problem {
	rng := rand.New(rand.NewPCG(rapid.Uint64().Draw(t, "seed"), 1))
	return packtest.Draw(rng, packtest.DrawOptions{
		Tasks:     rapid.IntRange(0, 24).Draw(t, "tasks"),
		GPUs:      rapid.IntRange(0, 14).Draw(t, "gpus"),
		Kinds:     rapid.IntRange(1, 3).Draw(t, "kinds"),
		Residents: rapid.IntRange(0, 6).Draw(t, "residents"),
		MaxSet:    2,
	})
}

func pack(t *rapid.T, m packer.Method, p *packer.Problem) *packer.Solution {
	s, err := m.Pack(context.Background(), p)
	if err != nil {
		t.Fatalf("%T: %v", m, err)
	}
	if err := p.Check(s); err != nil {
		t.Fatalf("%T: %v", m, err)
	}
	return s
}

// byName describes a plan without indices.
func byName(p *packer.Problem, s *packer.Solution) []string {
	out := []string{fmt.Sprintf("throughput %v bound %v", s.Throughput, s.Bound)}
	for _, set := range s.Sets {
		gpus := []string{p.GPUs[set.GPU].ID}
		for _, g := range set.Gang {
			gpus = append(gpus, p.GPUs[g].ID)
		}
		slices.Sort(gpus)
		names := make([]string, len(set.Tasks))
		for k, i := range set.Tasks {
			names[k] = p.Tasks[i].ID
		}
		slices.Sort(names)
		out = append(out, fmt.Sprint(gpus, names, set.Mechanism, set.Value))
	}
	slices.Sort(out)
	return out
}

func TestPropertyOrderChangesNothing(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		p := drawProblem(t)
		q := *p
		q.Tasks = rapid.Permutation(p.Tasks).Draw(t, "order of tasks")
		q.GPUs = rapid.Permutation(p.GPUs).Draw(t, "order of GPUs")
		for _, m := range []packer.Method{Matching{}, Greedy{}, LocalSearch{Steps: 50}, ColumnGen{Steps: 50}, Auto{}} {
			if diff := cmp.Diff(byName(p, pack(t, m, p)), byName(&q, pack(t, m, &q))); diff != "" {
				t.Fatalf("%T depends on the order of its input (-as given +permuted):\n%s", m, diff)
			}
		}
	})
}

func TestPropertyOneMoreGPUNeverHurts(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		p := drawProblem(t)
		for i := range p.GPUs {
			p.GPUs[i].Memory, p.GPUs[i].Mechanisms = 16*profile.GiB, nil
		}
		q := *p
		q.GPUs = append(slices.Clone(p.GPUs), packer.GPU{ID: "one more", Memory: 16 * profile.GiB})
		before, after := pack(t, Matching{}, p), pack(t, Matching{}, &q)
		if after.Throughput < before.Throughput {
			t.Fatalf("one more GPU lowers %v to %v", before.Throughput, after.Throughput)
		}
	})
}

func TestPropertyNeverWorse(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		p := drawProblem(t)
		got := pack(t, Matching{}, p)
		if greedy := pack(t, Greedy{}, p); got.Throughput < greedy.Throughput {
			t.Fatalf("matching %v, greedy %v", got.Throughput, greedy.Throughput)
		}
		p.Limits.MaxSet = 1
		if alone := pack(t, Matching{}, p); got.Throughput < alone.Throughput {
			t.Fatalf("matching %v, exclusive %v", got.Throughput, alone.Throughput)
		}
	})
}

func TestPropertySharingThatOnlyLosesIsRefused(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		p := drawProblem(t)
		p.Model = crowded{}
		for _, set := range pack(t, Matching{}, p).Sets {
			if len(set.Tasks) > 1 || len(set.Tasks) > 0 && len(p.GPUs[set.GPU].Residents) > 0 {
				t.Fatalf("shared at a loss: %+v", set)
			}
		}
	})
}

// crowded is a model in which k tasks together do less than one alone.
type crowded struct{}

func (crowded) Speeds(set []*packer.Task, _ *packer.GPU, _ profile.Mechanism, dst []float64) error {
	for i := range dst {
		dst[i] = 1
		if len(set) > 1 {
			dst[i] = 0.2 / float64(len(set))
		}
	}
	return nil
}

// TestPropertyCancelled cancels in the middle: after a number of questions to
// the model.
func TestPropertyCancelled(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		p := drawProblem(t)
		ctx, cancel := context.WithCancel(context.Background())
		defer cancel()
		p.Model = &cancelling{Model: p.Model, left: rapid.IntRange(1, 400).Draw(t, "questions"), cancel: cancel}
		for _, m := range []packer.Method{Matching{}, Greedy{}, LocalSearch{Steps: 50}, ColumnGen{Steps: 50}, Auto{}} {
			s, err := m.Pack(ctx, p)
			if err != nil && !errors.Is(err, context.Canceled) {
				t.Fatalf("%T: %v", m, err)
			}
			if s == nil {
				t.Fatalf("%T: no plan", m)
			}
			if err := p.Check(s); err != nil {
				t.Fatalf("%T, cancelled: %v", m, err)
			}
		}
		if ctx.Err() != nil {
			if _, err := (Matching{}).Pack(ctx, p); !errors.Is(err, context.Canceled) {
				t.Fatalf("cancelled before: %v", err)
			}
		}
	})
}

type cancelling struct {
	packer.Model
	left   int
	cancel func()
}

func (c *cancelling) Speeds(set []*packer.Task, gpu *packer.GPU, mech profile.Mechanism, dst []float64) error {
	if c.left--; c.left == 0 {
		c.cancel()
	}
	return c.Model.Speeds(set, gpu, mech, dst)
}

// TestPropertyCheckFindsDamage breaks a good answer in one way and expects
// Check to see it.
func TestPropertyCheckFindsDamage(t *testing.T) {
	damages := map[string]func(s *packer.Solution){
		"throughput": func(s *packer.Solution) { s.Throughput++ },
		"bound":      func(s *packer.Solution) { s.Bound = s.Throughput - 0.5 },
		"twice":      func(s *packer.Solution) { s.Sets[0].Tasks = append(s.Sets[0].Tasks, s.Sets[0].Tasks...) },
		"speed":      func(s *packer.Solution) { s.Sets[0].Speeds[0] /= 2 },
		"value":      func(s *packer.Solution) { s.Sets[0].Value += 0.25 },
		"mechanism":  func(s *packer.Solution) { s.Sets[0].Mechanism = profile.MIG },
		"gpu":        func(s *packer.Solution) { s.Sets[0].GPU = 99 },
		"task":       func(s *packer.Solution) { s.Sets[0].Tasks[0] = -1 },
		"dropped":    func(s *packer.Solution) { s.Sets = s.Sets[1:] },
		"reason":     func(s *packer.Solution) { s.Reasons = append(s.Reasons, packer.Reason{Task: 99}) },
	}
	names := []string{"throughput", "bound", "twice", "speed", "value", "mechanism", "gpu", "task", "dropped", "reason"}
	rapid.Check(t, func(t *rapid.T) {
		p := drawProblem(t)
		s := pack(t, Matching{}, p)
		if len(s.Sets) == 0 || len(s.Sets[0].Tasks) == 0 {
			return
		}
		name := rapid.SampledFrom(names).Draw(t, "damage")
		damages[name](s)
		if p.Check(s) == nil {
			t.Fatalf("Check accepts an answer with damaged %s", name)
		}
	})
}
