package history_test

import (
	"strconv"
	"testing"
	"time"

	"example.com/colloc/colloc/sim"
	"example.com/colloc/colloc/sim/history"
	"example.com/colloc/colloc/sim/policy"
	"example.com/colloc/profile"
)

// TestHistory follows a day: nothing is known, then all tasks, then the kind.
func TestHistory(t *testing.T) {
	tasks := []sim.Task{
		{ID: "a1", Type: "a", Work: 10 * time.Minute, Memory: 10 * profile.GiB},
		{ID: "a2", Type: "a", Work: 40 * time.Minute, Memory: 20 * profile.GiB},
		{ID: "b1", Type: "b", Work: 90 * time.Minute, Memory: 5 * profile.GiB},
		{ID: "s", Type: "s", Work: time.Minute, Service: &profile.Server{}},
		{ID: "u", User: "ann", Work: time.Hour},
	}
	h := history.New(tasks)
	guess := h.Memory(func(*sim.Task) profile.Bytes { return profile.GiB })
	at := func(when time.Duration, kind sim.EventKind, task string) {
		h.Note(&sim.Event{At: when, Kind: kind, Task: task})
	}
	says := func(i int, length time.Duration, memory float64) {
		t.Helper()
		got, bytes := h.Length(&tasks[i]), guess(&tasks[i])
		if (got-length).Abs() > time.Millisecond || bytes != profile.BytesOf(memory*float64(profile.GiB)) {
			t.Errorf("%s: %v and %v, want %v and %v GiB", tasks[i].ID, got, bytes, length, memory)
		}
	}
	says(0, time.Hour, 1)
	at(0, sim.Start, "a1")
	at(30*time.Second, sim.Preemption, "a1") // too soon for its memory
	at(2*time.Minute, sim.Start, "a2")
	says(0, time.Hour, 1)
	at(3*time.Minute, sim.Start, "b1") // a2 has run for a minute
	says(0, time.Hour, 21)
	says(2, time.Hour, 1)
	at(42*time.Minute, sim.Finish, "a2")
	says(0, 40*time.Minute, 21)
	says(2, 40*time.Minute, 5.25) // like all that ended
	at(43*time.Minute, sim.Start, "a1")
	at(50*time.Minute, sim.Finish, "a1")
	says(1, 20*time.Minute, 21) // the geometric mean; the highest peak
	at(51*time.Minute, sim.Finish, "s")
	says(4, 20*time.Minute, 1) // a service says nothing of lengths
	at(52*time.Minute, sim.Finish, "b1")
	says(2, 90*time.Minute, 5.25)
	tasks[4].Memory = 2 * profile.GiB
	at(53*time.Minute, sim.Start, "u")
	at(53*time.Minute+20*time.Second, sim.Finish, "u") // soon, but it is done
	says(4, time.Hour, 2.1)
}

// TestLearningPays: where each type has a length of its own, shortest first with learned
// lengths comes close to what it does with known ones, and far from not knowing.
func TestLearningPays(t *testing.T) {
	var tasks []sim.Task
	for i := range 300 {
		kind := i * i % 7
		tasks = append(tasks, sim.Task{
			ID: strconv.Itoa(i), Type: strconv.Itoa(kind), Arrival: time.Duration(i) * 10 * time.Minute, Memory: profile.GiB,
			Work: time.Duration(5+40*kind) * time.Minute,
		})
	}
	c, err := sim.ParseCluster("8xA100-40GB")
	if err != nil {
		t.Fatal(err)
	}
	mean := func(o sim.Options) time.Duration {
		r, err := sim.Run(t.Context(), c, tasks, policy.Shortest{}, o)
		if err != nil {
			t.Fatal(err)
		}
		return r.MeanJCT
	}
	h := history.New(tasks)
	known, learned := mean(sim.Options{}), mean(sim.Options{Length: h.Length, OnEvent: h.Note})
	never := mean(sim.Options{Length: func(*sim.Task) time.Duration { return time.Hour }})
	t.Logf("known %v, learned %v, never %v", known, learned, never)
	if learned-known > (never-known)/4 {
		t.Errorf("mean completion time is %v with known lengths, %v with learned ones, %v with none", known, learned, never)
	}
}
