package pace

import (
	"bytes"
	"strconv"
	"testing"

	"example.com/colloc/profile"
)

// TestTasksAreBounded: the task that was told of least recently is forgotten, and
// what is left is told by GPU.
func TestTasksAreBounded(t *testing.T) {
	named := func(i int) *profile.Profile {
		return &profile.Profile{Spec: profile.Spec{Model: profile.Model{Name: "net" + strconv.Itoa(i)}}}
	}
	s := *priorState()
	s.tasks = make(map[taskKey][]seen, mostTasks+1)
	for i := range mostTasks {
		key, _ := keyOf(named(i))
		s.told++
		s.tasks[key] = []seen{{kind: kind{name: "T4"}, n: 1, order: s.told}}
	}
	var m Predictor
	m.state.Store(&s)
	tell := func(i int, card string) {
		t.Helper()
		if err := m.Observe(Observation{Profile: named(i), GPU: profile.GPUModel{Name: card}, Throughput: 1}); err != nil {
			t.Fatal(err)
		}
	}
	tell(0, "K80")       // the oldest is told of again
	tell(mostTasks, "X") // and one more comes
	if n := len(m.load().tasks); n != mostTasks {
		t.Errorf("%d tasks, want %d", n, mostTasks)
	}
	if got := m.Seen(named(0)); len(got) != 2 || got[0].GPU != "K80" || got[1].GPU != "T4" || got[0].Runs != 1 || got[0].Throughput != 1 {
		t.Errorf("of the task told of twice: %+v, want K80 and T4", got)
	}
	if gone, last := m.Seen(named(1)), m.Seen(named(mostTasks)); gone != nil || len(last) != 1 {
		t.Errorf("the oldest task: %+v, the newest: %+v; want none and one", gone, last)
	}
}

// TestOldFilesForgetByName: where no task has an order, the first by name is forgotten.
func TestOldFilesForgetByName(t *testing.T) {
	var s state
	s.tasks = make(map[taskKey][]seen, mostTasks+1)
	for i := range mostTasks + 1 {
		s.tasks[taskKey{Model: "net", Batch: i + 1}] = []seen{{n: 1}}
	}
	s.forget()
	if _, kept := s.tasks[taskKey{Model: "net", Batch: 1}]; kept || len(s.tasks) != mostTasks {
		t.Errorf("%d tasks, the first of them kept: %v", len(s.tasks), kept)
	}
}

// TestLoadedForgetsTheOldest: what is told after a file was read is newer than all in it.
func TestLoadedForgetsTheOldest(t *testing.T) {
	tell := func(m *Predictor, name string) {
		t.Helper()
		if err := m.Observe(Observation{Profile: &profile.Profile{Spec: profile.Spec{Model: profile.Model{Name: name}}}, GPU: profile.GPUModel{Name: "T4"}, Throughput: 1}); err != nil {
			t.Fatal(err)
		}
	}
	var m Predictor
	for _, name := range []string{"c", "a", "b"} {
		tell(&m, name)
	}
	loaded, err := Load(bytes.NewReader(saved(t, &m)))
	if err != nil {
		t.Fatal(err)
	}
	tell(loaded, "later")
	newest := uint64(0)
	for key, list := range loaded.load().tasks {
		if key.Model != "later" {
			newest = max(newest, list[0].order)
		}
	}
	if got := loaded.load().tasks[taskKey{Model: "later"}]; len(got) != 1 || got[0].order <= newest {
		t.Errorf("told after loading: %+v, before: order %d", got, newest)
	}
}
