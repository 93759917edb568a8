package colloc_test

import (
	"fmt"
	"math"
	"testing"

	"example.com/colloc/colloc"
	"example.com/colloc/packer"
	"example.com/colloc/profile"
)

// gang makes a task whose training says that it wants n GPUs.
func gang(tb testing.TB, id string, n int) colloc.Task {
	tb.Helper()
	task := seen(tb, id, 0.5, 0.2, 4*profile.GiB)
	p := *task.Profile
	p.Spec.Training.GPUs = n
	task.Profile = &p
	return task
}

// TestGang: a task of four GPUs gets four of one product or none, whether its
// profile says so or the task.
func TestGang(t *testing.T) {
	asked := seen(t, "asked", 0.5, 0.2, 4*profile.GiB)
	asked.GPUs = 4
	for _, task := range []colloc.Task{gang(t, "profile", 4), asked} {
		gpus := []colloc.GPU{card(t, "g0"), card(t, "g1"), card(t, "g2")}
		plan, err := shared(t).Plan(t.Context(), []colloc.Task{task}, gpus)
		if err != nil {
			t.Fatal(err)
		}
		if len(plan.Placements) != 0 || len(plan.Notes) != 1 || plan.Notes[0].Code != packer.TooFewGPUs || plan.Tasks[0].GPUs != 4 {
			t.Errorf("on three GPUs: %+v", plan)
		}
		gpus = append(gpus, colloc.GPU{ID: "other", Model: gpuModel(t, "A100")}, card(t, "g3"))
		plan, err = shared(t).Plan(t.Context(), []colloc.Task{task}, gpus)
		if err != nil {
			t.Fatal(err)
		}
		total := 0.0
		for i, p := range plan.Placements {
			total += p.Throughput
			if p.GPU != fmt.Sprint("g", i) || len(p.Gang) != 4 || len(p.Members) != 1 || p.Members[0].Task != task.ID || p.Reserved != plan.Tasks[0].Reserved {
				t.Errorf("placement %+v", p)
			}
		}
		if len(plan.Placements) != 4 || math.Abs(total-plan.Throughput) > 1e-9 || math.Abs(total-plan.Placements[0].Members[0].Pace.Value) > 1e-5 {
			t.Errorf("%d placements worth %v, plan worth %v", len(plan.Placements), total, plan.Throughput)
		}
	}
}

// TestGangRuns: who fits joins a gang that runs on one of its GPUs, and a gang joins what runs; a plan
// leaves them as they are, and a gang counts there once over its GPUs, also where only some are given.
func TestGangRuns(t *testing.T) {
	train, one, two := gang(t, "train", 2), seen(t, "one", 0.2, 0.1, profile.GiB), gang(t, "two", 2)
	for _, tt := range []struct {
		task     colloc.Task
		resident colloc.Task
	}{{one, train}, {two, train}, {two, one}} {
		v, err := shared(t).Fit(tt.task, card(t, "g", tt.resident))
		if err != nil || !v.Fits {
			t.Errorf("%s beside %s: %v, %v", tt.task.ID, tt.resident.ID, v, err)
		}
		slow := tt.resident
		slow.MaxSlowdown = 1.001
		if v, err = shared(t).Fit(tt.task, card(t, "g", slow)); err != nil || v.Code != packer.SpeedLimit {
			t.Errorf("%s beside %s that must not slow down: %v, %v", tt.task.ID, tt.resident.ID, v, err)
		}
	}
	if v, err := shared(t).Fit(two, card(t, "g")); err != nil || !v.Fits {
		t.Errorf("an empty GPU: %v, %v", v, err)
	}
	plan, err := shared(t).Plan(t.Context(), []colloc.Task{one}, []colloc.GPU{card(t, "g0", train), card(t, "g1", train)})
	if err != nil {
		t.Fatal(err)
	}
	if len(plan.Placements) != 2 || math.Abs(plan.Throughput-1) > 1e-9 || len(plan.Notes) != 1 || plan.Notes[0].Placed {
		t.Errorf("plan beside a gang: %+v", plan)
	}
	for _, p := range plan.Placements {
		if len(p.Members) != 1 || p.Members[0].Task != "train" || !p.Members[0].Resident || p.Members[0].Memory.Value == 0 {
			t.Errorf("placement %+v", p)
		}
	}
	if _, err := shared(t).Plan(t.Context(), nil, []colloc.GPU{card(t, "g0", train), card(t, "g1", train), card(t, "g2", train)}); len(colloc.Faults(err)) != 1 {
		t.Errorf("two GPUs at three places: %v", err)
	}
	train.GPUs = 1 << 17
	if _, err := shared(t).Fit(train, card(t, "g")); len(colloc.Faults(err)) != 1 || colloc.Faults(err)[0].Field != "GPUs" {
		t.Errorf("too many GPUs: %v", err)
	}
}
