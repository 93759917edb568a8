package colloc_test

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"example.com/colloc/colloc"
	"example.com/colloc/profile"
)

// BenchmarkPlanFleet pairs 1000 tasks, each like no other, on 800 GPUs of four
// kinds: every use, speed and pace comes from the pretrained models. Of every four
// tasks one was never observed.
func BenchmarkPlanFleet(b *testing.B) {
	p := shared(b)
	rng := rand.New(rand.NewPCG(1, 2))
	tasks := make([]colloc.Task, 1000)
	for i := range tasks {
		id := fmt.Sprintf("task%d", i)
		tasks[i] = seen(b, id, 0.05+0.9*rng.Float64(), 0.02+0.7*rng.Float64(), profile.Bytes(1+rng.IntN(8))*profile.GiB)
		if i%4 == 3 {
			tasks[i].Profile = describe(b)
			tasks[i].Profile.Spec.Training.BatchSize = 1 + i
		}
	}
	kinds := []string{"V100", "T4", "A100", "RTX 3090"}
	gpus := make([]colloc.GPU, 800)
	for i := range gpus {
		gpus[i] = colloc.GPU{ID: fmt.Sprintf("g%d", i), Model: gpuModel(b, kinds[i%len(kinds)])}
	}
	var plan *colloc.Plan
	b.ReportAllocs()
	for b.Loop() {
		var err error
		if plan, err = p.Plan(b.Context(), tasks, gpus); err != nil {
			b.Fatal(err)
		}
	}
	b.ReportMetric(100*plan.Gap, "gap_pct")
	b.Log(plan.Method)
}
