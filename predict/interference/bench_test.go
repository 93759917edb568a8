package interference

import (
	"testing"

	"example.com/colloc/predict"
	"example.com/colloc/profile"
)

func BenchmarkSpeeds(b *testing.B) {
	tasks, obs := fakeWorld(b, 1, 8, 6)
	m, gpu := mustFit(b, obs, nil), rtx3090(b)
	dst := make([]predict.Estimate, 0, 4)
	for _, k := range []int{2, 4} {
		b.Run(map[int]string{2: "tasks=2", 4: "tasks=4"}[k], func(b *testing.B) {
			b.ReportAllocs()
			for i := 0; b.Loop(); i++ {
				at := i % (len(tasks) - k)
				dst, _ = m.Speeds(gpu, profile.TimeSlice, tasks[at:at+k], dst[:0])
			}
		})
	}
}

func BenchmarkBeside(b *testing.B) {
	tasks, obs := fakeWorld(b, 1, 8, 6)
	m, gpu := mustFit(b, obs, nil), rtx3090(b)
	for len(tasks) < 1000 {
		p := *tasks[len(tasks)%48]
		p.Spec.Training.BatchSize += len(tasks)
		tasks = append(tasks, &p)
	}
	own, other := make([]float64, len(tasks)), make([]float64, len(tasks))
	b.Run("partners=1000", func(b *testing.B) {
		b.ReportAllocs()
		for i := 0; b.Loop(); i++ {
			if err := m.Beside(gpu, profile.TimeSlice, tasks[i%len(tasks)], tasks, own, other); err != nil {
				b.Fatal(err)
			}
		}
	})
}

func BenchmarkObserve(b *testing.B) {
	_, obs := fakeWorld(b, 1, 8, 6)
	m := mustFit(b, obs, nil)
	b.ReportAllocs()
	for i := 0; b.Loop(); i++ {
		if err := m.Observe(obs[i%len(obs)]); err != nil {
			b.Fatal(err)
		}
	}
}
