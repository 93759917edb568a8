package trace_test

import (
	"math"
	"reflect"
	"testing"
	"time"

	"example.com/colloc/colloc/sim"
	"example.com/colloc/colloc/sim/trace"
)

// TestGenerate checks rates, lengths and sizes against what was asked for.
func TestGenerate(t *testing.T) {
	w := trace.Workload{
		Tasks: 20000, Seed: 3, Between: 2 * time.Minute, MeanLength: 30 * time.Minute, Diurnal: 0.5,
	}
	tasks, err := trace.Generate(w)
	if err != nil {
		t.Fatal(err)
	}
	length, day := 0.0, 0.0
	for i, task := range tasks {
		length += task.Work.Minutes()
		if task.Arrival%(24*time.Hour) < 12*time.Hour {
			day++
		}
		if i > 0 && task.Arrival < tasks[i-1].Arrival {
			t.Fatalf("task %d arrives before the one before", i)
		}
	}
	n := float64(len(tasks))
	near := func(name string, got, want, tol float64) {
		t.Helper()
		if math.Abs(got-want) > tol {
			t.Errorf("%s is %v, want %v", name, got, want)
		}
	}
	near("mean length", length/n, 30, 1)
	near("mean distance", tasks[len(tasks)-1].Arrival.Minutes()/n, 2, 0.1)
	// half a sine: 1/2 + 0.5/π in the first half of the day
	near("by day", day/n, 0.5+0.5/math.Pi, 0.02)
	again, err := trace.Generate(w)
	if err != nil || !reflect.DeepEqual(tasks, again) {
		t.Errorf("the same workload gave other tasks (error %v)", err)
	}
	w.Seed++
	if other, _ := trace.Generate(w); reflect.DeepEqual(tasks, other) {
		t.Error("another seed gave the same tasks")
	}
}

func TestGenerateFaults(t *testing.T) {
	for _, w := range []trace.Workload{
		{Tasks: -1},
		{Tasks: 1, Diurnal: 2},
		{Tasks: 1, LengthSpread: math.NaN()},
		{Tasks: 1, LengthSpread: 4.1},
		{Tasks: 1, MeanLength: -1},
	} {
		if tasks, err := trace.Generate(w); err == nil {
			t.Errorf("Generate(%+v) = %v, want an error", w, tasks)
		}
	}
	if _, err := trace.Generate(trace.Workload{Tasks: 1, LengthSpread: 4}); err != nil {
		t.Errorf("a spread of 4: %v", err)
	}
	tasks, err := trace.Generate(trace.Workload{Tasks: 3, Between: -1, LengthSpread: -1})
	if err != nil || tasks[2].Arrival != 0 || tasks[2].Work != time.Hour {
		t.Errorf("a burst of equal tasks is %+v, %v", tasks, err)
	}
}

// TestDefaults: unless told otherwise a task comes each minute.
func TestDefaults(t *testing.T) {
	const n = 20000
	tasks, err := trace.Generate(trace.Workload{Tasks: n, Seed: 7})
	if err != nil {
		t.Fatal(err)
	}
	if between := tasks[n-1].Arrival.Minutes() / n; math.Abs(between-1) > 0.05 {
		t.Errorf("%.3f minutes between arrivals, want 1", between)
	}
}

// TestSpread: the mean length is as asked for, however far lengths are spread.
func TestSpread(t *testing.T) {
	for _, spread := range []float64{0.2, 0.5, 1.2} {
		const n = 20000
		tasks, err := trace.Generate(trace.Workload{Tasks: n, Seed: 5, MeanLength: 30 * time.Minute, LengthSpread: spread})
		if err != nil {
			t.Fatal(err)
		}
		mean, logs := 0.0, 0.0
		for _, task := range tasks {
			mean += task.Work.Minutes() / n
			logs += math.Log(task.Work.Minutes()/30) / n
		}
		if math.Abs(mean-30) > 1.5 || math.Abs(logs+spread*spread/2) > 0.05 {
			t.Errorf("spread %v: the mean length is %.2f minutes, that of the logarithms %.3f, want 30 and %.3f", spread, mean, logs, -spread*spread/2)
		}
	}
}

// TestGenerateFar: arrivals beyond a century stay there.
func TestGenerateFar(t *testing.T) {
	tasks, err := trace.Generate(trace.Workload{Tasks: 100, Between: math.MaxInt64, Diurnal: 1})
	if err != nil {
		t.Fatal(err)
	}
	for _, task := range tasks {
		if err := task.Validate(); err != nil {
			t.Fatal(err)
		}
	}
}

func TestInflate(t *testing.T) {
	got := trace.Inflate([]sim.Task{{ID: "a", Share: 0.5, GPUs: 1}, {ID: "b", GPUs: 2}, {ID: "c", HostOnly: true}}, 10, 1)
	sum := 0.0
	ids := map[string]bool{}
	for i, task := range got {
		if ids[task.ID] {
			t.Errorf("two tasks are called %q", task.ID)
		}
		ids[task.ID] = true
		if task.Arrival != time.Duration(i)*time.Second {
			t.Errorf("task %d arrives at %v", i, task.Arrival)
		}
		switch {
		case task.HostOnly:
		case task.Share > 0:
			sum += task.Share
		default:
			sum += float64(task.GPUs)
		}
	}
	if sum < 10 || sum > 12 {
		t.Errorf("%v GPUs are asked for, want just 10", sum)
	}
	if got := trace.Inflate([]sim.Task{{ID: "a", GPUs: 1}}, 10, 1); len(got) != 10 {
		t.Errorf("%d tasks of one GPU ask for ten", len(got))
	}
	if got := trace.Inflate([]sim.Task{{ID: "c", HostOnly: true}}, 10, 1); len(got) != 1 {
		t.Errorf("%d tasks without GPUs", len(got))
	}
}
