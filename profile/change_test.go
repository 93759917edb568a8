package profile

import (
	"fmt"
	"math"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"
)

// sixteen is a stack of 16 equal layers: 1000 parameters and 10 outputs each.
func sixteen(t Training) Spec {
	s := Spec{Model: Model{Name: "stack"}, Training: t}
	for range 16 {
		s.Model.Layers = append(s.Model.Layers, Layer{Kind: Linear, Params: 1000, Activations: 10, MACs: Some[int64](1000)})
	}
	return s
}

func TestTerms(t *testing.T) {
	const p, a = 16_000, 160
	for _, c := range []struct {
		name     string
		training Training
		want     Terms
	}{
		{
			"fp32 Adam",
			Training{BatchSize: 8},
			Terms{Weights: 4 * p, Gradients: 4 * p, States: 8 * p, Activations: Some[Bytes](4 * a * 8), FLOPs: Some(6.0 * p * 8)},
		},
		{
			"mixed momentum",
			Training{BatchSize: 8, Precision: Mixed, Optimizer: Momentum},
			Terms{Weights: 4 * p, Gradients: 4 * p, States: 4 * p, Casts: 2 * p, Activations: Some[Bytes](2 * a * 8), FLOPs: Some(6.0 * p * 8)},
		},
		{
			"bf16 SGD",
			Training{BatchSize: 8, Precision: BF16, Optimizer: SGD},
			Terms{Weights: 2 * p, Gradients: 2 * p, Activations: Some[Bytes](2 * a * 8), FLOPs: Some(6.0 * p * 8)},
		},
		{
			"checkpointing: half of 16 layers",
			Training{BatchSize: 8, Checkpointing: true, Optimizer: SGD},
			Terms{Weights: 4 * p, Gradients: 4 * p, Activations: Some[Bytes](4 * a * 8 / 2), FLOPs: Some(8.0 * p * 8)},
		},
		{
			"inference",
			Training{BatchSize: 8, Optimizer: NoOptimizer},
			Terms{Weights: 4 * p, Activations: Some[Bytes](4 * 10 * 8), FLOPs: Some(2.0 * p * 8)},
		},
		{
			"data parallel",
			Training{BatchSize: 8, GPUs: 4, Parallelism: DataParallel, Optimizer: SGD},
			Terms{Weights: 4 * p, Gradients: 4 * p, Buckets: 4 * p, Activations: Some[Bytes](4 * a * 8), FLOPs: Some(6.0 * p * 8)},
		},
		{
			"ZeRO 1",
			Training{BatchSize: 8, GPUs: 4, Parallelism: ShardedData, ZeRO: 1},
			Terms{Weights: 4 * p, Gradients: 4 * p, States: 2 * p, Activations: Some[Bytes](4 * a * 8), FLOPs: Some(6.0 * p * 8)},
		},
		{
			"ZeRO 2",
			Training{BatchSize: 8, GPUs: 4, Parallelism: ShardedData, ZeRO: 2},
			Terms{Weights: 4 * p, Gradients: p, States: 2 * p, Activations: Some[Bytes](4 * a * 8), FLOPs: Some(6.0 * p * 8)},
		},
		{
			"sharded, stage 3 unless said",
			Training{BatchSize: 8, GPUs: 4, Parallelism: ShardedData, Precision: Mixed},
			Terms{Weights: p, Gradients: p, States: 2 * p, Casts: p / 2, Activations: Some[Bytes](2 * a * 8), FLOPs: Some(6.0 * p * 8)},
		},
		{
			"accumulation",
			Training{BatchSize: 2, Accumulation: 4, Optimizer: SGD},
			Terms{Weights: 4 * p, Gradients: 4 * p, Activations: Some[Bytes](4 * a * 2), FLOPs: Some(6.0 * p * 8)},
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			got := sixteen(c.training).Terms()
			if diff := cmp.Diff(c.want, got, exportOpts); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
			sum := got.Weights + got.Gradients + got.States + got.Casts + got.Buckets + got.Activations.Or(0)
			if total, known := got.Total(); total != sum || !known {
				t.Errorf("total %v, known %v; want %v", total, known, sum)
			}
		})
	}
	huge := Spec{Model: Model{Layers: []Layer{{Params: math.MaxInt64, Activations: math.MaxInt64}}}, Training: Training{BatchSize: math.MaxInt}}
	if got := huge.Terms(); got.Weights != math.MaxInt64 || totalOf(got) != math.MaxInt64 {
		t.Errorf("got %+v, want saturation", got)
	}
}

func TestWith(t *testing.T) {
	base := sixteen(Training{BatchSize: 64, Workers: 4})
	base.Traced.AfterForward = Some(MiB)
	for _, c := range []struct {
		name   string
		change Change
		want   Training
		traced bool
	}{
		{"nothing", Change{}, Training{BatchSize: 64, Workers: 4}, true},
		{"optimizer", Change{Optimizer: Some(SGD)}, Training{BatchSize: 64, Workers: 4, Optimizer: SGD}, true},
		{"precision", Change{Precision: Some(Mixed)}, Training{BatchSize: 64, Workers: 4, Precision: Mixed}, false},
		{"checkpointing", Change{Checkpointing: Some(true)}, Training{BatchSize: 64, Workers: 4, Checkpointing: true}, false},
		{"batch", Change{BatchSize: Some(32)}, Training{BatchSize: 32, Workers: 4}, false},
		{"accumulation keeps the step", Change{Accumulation: Some(4)}, Training{BatchSize: 16, Workers: 4, Accumulation: 4}, false},
		{"rounded up", Change{Accumulation: Some(10)}, Training{BatchSize: 7, Workers: 4, Accumulation: 10}, false},
		{"unless the batch is set", Change{Accumulation: Some(4), BatchSize: Some(64)}, Training{BatchSize: 64, Workers: 4, Accumulation: 4}, true},
		{"data parallel", Change{DataParallel: Some(8)}, Training{BatchSize: 8, Workers: 4, GPUs: 8, Parallelism: DataParallel}, false},
		{
			"ZeRO",
			Change{DataParallel: Some(2), ZeRO: Some(3)},
			Training{BatchSize: 32, Workers: 4, GPUs: 2, Parallelism: ShardedData, ZeRO: 3},
			false,
		},
		{
			"accumulation on several GPUs",
			Change{DataParallel: Some(2), Accumulation: Some(4)},
			Training{BatchSize: 8, Workers: 4, GPUs: 2, Parallelism: DataParallel, Accumulation: 4},
			false,
		},
		{"ZeRO 0 of one GPU", Change{ZeRO: Some(0)}, Training{BatchSize: 64, Workers: 4}, true},
	} {
		t.Run(c.name, func(t *testing.T) {
			got, err := base.With(c.change)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(c.want, got.Training); diff != "" || got.Traced.AfterForward.IsZero() == c.traced {
				t.Errorf("traced %v (-want +got):\n%s", got.Traced, diff)
			}
		})
	}
	both, err := base.With(Change{DataParallel: Some(2), Accumulation: Some(4)})
	if err != nil {
		t.Fatal(err)
	}
	if less, err := both.With(Change{Accumulation: Some(2)}); err != nil || less.Training.BatchSize != 16 {
		t.Errorf("two GPUs, from four to two batches a step: got %+v, %v, want 16 samples each", less.Training, err)
	}
	sharded, err := base.With(Change{DataParallel: Some(4), ZeRO: Some(2)})
	if err != nil {
		t.Fatal(err)
	}
	back, err := sharded.With(Change{DataParallel: Some(1)})
	if err != nil || back.Training != (Training{BatchSize: 64, Workers: 4, GPUs: 1}) {
		t.Errorf("back on one GPU: got %+v, %v", back.Training, err)
	}
}

func TestWithRefuses(t *testing.T) {
	for _, c := range []struct {
		change Change
		want   string
	}{
		{Change{ZeRO: Some(2)}, "nothing to shard over"},
		{Change{ZeRO: Some(4)}, "ZeRO stage 4"},
		{Change{Accumulation: Some(0)}, "Accumulation is 0"},
		{Change{DataParallel: Some(-2)}, "DataParallel is -2"},
		{Change{BatchSize: Some(0)}, "training.batch_size is 0"},
		{Change{Precision: Some(Precision(99))}, "training.precision is 99"},
	} {
		if _, err := sixteen(Training{BatchSize: 8}).With(c.change); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%+v: got %v, want %q", c.change, err, c.want)
		}
	}
}

// TestWithKeepsSteps draws changes: no result is invalid, no step shrinks.
func TestWithKeepsSteps(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s := sixteen(Training{
			BatchSize: rapid.IntRange(1, MaxBatch).Draw(t, "batch"), Accumulation: rapid.IntRange(0, 1<<20).Draw(t, "a"),
		})
		c := Change{Accumulation: Some(rapid.IntRange(-1, 1<<21).Draw(t, "to")), DataParallel: Some(rapid.IntRange(-1, 1<<21).Draw(t, "gpus"))}
		got, err := s.With(c)
		if err != nil {
			return
		}
		if err := got.Validate(); err != nil {
			t.Fatal(err)
		}
		before := float64(s.Training.BatchSize) * float64(s.Training.steps()*s.Training.replicas())
		if after := float64(got.Training.BatchSize) * float64(got.Training.steps()*got.Training.replicas()); after < before {
			t.Fatalf("%v samples a step became %v", before, after)
		}
	})
}

func ExampleSpec_With() {
	s := sixteen(Training{BatchSize: 64})
	cheaper, err := s.With(Change{Precision: Some(Mixed), Accumulation: Some(4)})
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(s.Terms().Activations, s.Training.BatchSize)
	fmt.Println(cheaper.Terms().Activations, cheaper.Training.BatchSize)
	// Output:
	// 40 KiB 64
	// 5 KiB 16
}

func ExampleSpec_Terms() {
	terms := sixteen(Training{BatchSize: 64, Optimizer: Adam}).Terms()
	fmt.Println(terms.Weights, terms.Gradients, terms.States, terms.Activations, totalOf(terms))
	// Output: 62.5 KiB 62.5 KiB 125 KiB 40 KiB 290 KiB
}

func totalOf(t Terms) Bytes {
	total, _ := t.Total()
	return total
}
