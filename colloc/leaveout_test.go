package colloc_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"testing"

	"example.com/colloc/colloc"
	"example.com/colloc/internal/race"
	"example.com/colloc/profile"
)

// asJSON plans and returns the plan and its bytes without what was left out.
func asJSON(t *testing.T, p *colloc.Planner, tasks []colloc.Task, gpus []colloc.GPU) (*colloc.Plan, string) {
	t.Helper()
	plan, err := p.Plan(t.Context(), tasks, gpus)
	if err != nil {
		t.Fatal(err)
	}
	rest := *plan
	rest.LeftOut = nil
	data, err := json.Marshal(rest)
	if err != nil {
		t.Fatal(err)
	}
	return plan, string(data)
}

// TestLeaveOutOneOf500: the others are planned, bit by bit as though the faulty had
// not been given, and the plan names these.
func TestLeaveOutOneOf500(t *testing.T) {
	p, n := newPlanner(t, colloc.Config{LeaveOutFaulty: true}), 500
	if race.Enabled {
		n = 12 // planned three times
	}
	bad := n / 2
	var tasks []colloc.Task
	for i := range n {
		one := seen(t, fmt.Sprintf("task%d", i), 0.1*float64(1+i%7), 0.1, profile.Bytes(2+i%5)*profile.GiB)
		tasks = append(tasks, one)
	}
	tasks[bad].Weight = -1
	gpus := []colloc.GPU{card(t, "g0"), card(t, "g1"), card(t, "g2"), card(t, "g3")}
	gpus[2].Memory = -1
	plan, got := asJSON(t, p, tasks, gpus)
	bare, want := asJSON(t, p, slices.Delete(slices.Clone(tasks), bad, bad+1), slices.Delete(slices.Clone(gpus), 2, 3))
	if got != want || len(bare.LeftOut) != 0 || len(plan.Tasks) != n-1 || len(plan.Placements) != 3 {
		t.Errorf("%d tasks on %d GPUs are planned otherwise than without the faulty", len(plan.Tasks), len(plan.Placements))
	}
	if got := leftOutOf(plan); !slices.Equal(got, []string{fmt.Sprintf("task%d//%d/-1/Weight", bad, bad), "/g2/-1/2/Memory"}) {
		t.Errorf("left out %q", got)
	}
	var text bytes.Buffer
	if err := plan.Explain(&text); err != nil || !strings.Contains(text.String(), fmt.Sprintf("Left out, for they are at fault\n\n  task %d \"task%d\": Weight is -1", bad, bad)) {
		t.Errorf("%v: the text does not say what was left out", err)
	}
	if n := strings.Count(text.String(), "Left out, for they are at fault"); n != 1 {
		t.Errorf("the heading of two that were left out stands there %d times", n)
	}
	if _, err := shared(t).Plan(t.Context(), tasks, gpus); len(colloc.Faults(err)) != 2 {
		t.Errorf("without being asked: %v, want two faults", err)
	}
	data, err := json.Marshal(plan)
	if err != nil {
		t.Fatal(err)
	}
	var back colloc.Plan
	if err := json.Unmarshal(data, &back); err != nil || len(back.LeftOut) != 2 || !reflect.DeepEqual(leftOutOf(&back), leftOutOf(plan)) || back.LeftOut[1].Error() != plan.LeftOut[1].Error() {
		t.Errorf("%v: read back %q", err, leftOutOf(&back))
	}
}

func leftOutOf(plan *colloc.Plan) []string {
	var list []string
	for _, f := range plan.LeftOut {
		list = append(list, fmt.Sprintf("%s/%s/%d/%d/%s", f.Task, f.GPU, f.TaskIndex, f.GPUIndex, f.Field))
	}
	return list
}

// TestLeaveOutWhatHangsTogether: nothing is started twice, and nothing placed where it
// is not known what is free.
func TestLeaveOutWhatHangsTogether(t *testing.T) {
	p := newPlanner(t, colloc.Config{LeaveOutFaulty: true})
	a, b := seen(t, "a", 0.3, 0.1, 2*profile.GiB), seen(t, "b", 0.3, 0.1, 2*profile.GiB)
	bad := b
	bad.ID, bad.Weight = "bad", -1
	home, badHome := a, bad
	home.Home, badHome.Home = "g0", "g0"
	g1, empty := card(t, "g1"), []colloc.GPU{card(t, "g1")}
	for _, tt := range []struct {
		name  string
		tasks []colloc.Task
		gpus  []colloc.GPU
		left  []string
		rest  []colloc.Task
		cards []colloc.GPU
	}{
		{"a resident takes its GPU", []colloc.Task{a}, []colloc.GPU{card(t, "g0", bad), g1}, []string{"bad/g0/0/0/Weight"}, []colloc.Task{a}, empty},
		{"a GPU takes whose Home it is", []colloc.Task{b, home}, []colloc.GPU{card(t, "g0", bad), g1}, []string{"bad/g0/0/0/Weight", "a//1/-1/Home"}, []colloc.Task{b}, empty},
		{"a task takes its Home", []colloc.Task{b, badHome}, []colloc.GPU{g1, card(t, "g0")}, []string{"bad//1/-1/Weight", "/g0/-1/1/ID"}, []colloc.Task{b}, empty},
		{"what runs does not start", []colloc.Task{b, a}, []colloc.GPU{card(t, "g0", a), g1}, []string{"a/g0/0/0/ID", "a//1/-1/ID"}, []colloc.Task{b}, empty},
		{"two GPUs of one ID", []colloc.Task{b}, []colloc.GPU{card(t, "g0", a), g1, card(t, "g0")}, []string{"/g0/-1/2/ID", "/g0/-1/0/ID"}, []colloc.Task{b}, empty},
		{"two tasks of one ID", []colloc.Task{a, b, a}, empty, []string{"a//2/-1/ID"}, []colloc.Task{a, b}, empty},
		{"it runs and waits", []colloc.Task{b, a, home}, []colloc.GPU{card(t, "g0"), g1}, []string{"a//2/-1/ID", "a//1/-1/ID", "/g0/-1/0/ID"}, []colloc.Task{b}, empty},
		{"it waits and runs at fault", []colloc.Task{b, {ID: "bad", Profile: a.Profile}, badHome}, []colloc.GPU{card(t, "g0"), g1}, []string{"bad//2/-1/ID", "bad//2/-1/Weight", "bad//1/-1/ID", "/g0/-1/0/ID"}, []colloc.Task{b}, empty},
		{"nothing is left", []colloc.Task{bad}, []colloc.GPU{{ID: "g"}}, []string{"bad//0/-1/Weight", "/g/-1/0/Memory"}, nil, nil},
	} {
		plan, got := asJSON(t, p, tt.tasks, tt.gpus)
		_, want := asJSON(t, p, tt.rest, tt.cards)
		if left := leftOutOf(plan); got != want || !slices.Equal(left, tt.left) {
			t.Errorf("%s: left out %q, want %q\n%s\n%s", tt.name, left, tt.left, got, want)
		}
	}
}
