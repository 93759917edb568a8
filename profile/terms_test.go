package profile

import (
	"fmt"
	"math"
	"testing"

	"github.com/google/go-cmp/cmp"
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

func ExampleSpec_Terms() {
	terms := sixteen(Training{BatchSize: 64, Optimizer: Adam}).Terms()
	fmt.Println(terms.Weights, terms.Gradients, terms.States, terms.Activations, totalOf(terms))
	// Output: 62.5 KiB 62.5 KiB 125 KiB 40 KiB 290 KiB
}

func totalOf(t Terms) Bytes {
	total, _ := t.Total()
	return total
}
