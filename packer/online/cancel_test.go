package online

import (
	"context"
	"errors"
	"strconv"
	"testing"

	"example.com/colloc/packer"
	"example.com/colloc/packer/internal/packtest"
	"example.com/colloc/profile"
)

func TestRebalancePollsTheContext(t *testing.T) {
	const n = 200
	for _, at := range []int{1, 3, 50, 150} {
		speeds := packtest.BenchModel(t, "random", n)
		m := &packtest.CountingModel{BatchModel: speeds}
		gpus := make([]packer.GPU, n/2)
		for i := range gpus {
			gpus[i] = packer.GPU{ID: strconv.Itoa(i), Memory: profile.GiB}
		}
		s, err := NewSession(gpus, m, packer.Limits{}, nil)
		if err != nil {
			t.Fatal(err)
		}
		for _, task := range packtest.BenchProblem(speeds).Tasks {
			if _, err := s.Arrive(task); err != nil {
				t.Fatal(err)
			}
		}
		before := s.Throughput()
		ctx := &packtest.PollContext{Context: context.Background(), At: at, Questions: &m.Questions}
		if _, err := s.Rebalance(ctx, 50); !errors.Is(err, context.Canceled) {
			t.Errorf("cancelled at poll %d: %v", at, err)
		}
		if after := m.Questions - ctx.After; after > 20*n {
			t.Errorf("cancelled at poll %d: %d questions after that", at, after)
		}
		if s.Throughput() < before {
			t.Errorf("cancelled at poll %d: throughput falls from %v to %v", at, before, s.Throughput())
		}
	}
}
