package dispatch_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"

	"example.com/colloc/colloc"
	"example.com/colloc/colloc/dispatch"
	"example.com/colloc/profile"
)

func ExampleOnce() {
	planner, err := colloc.New(colloc.Config{})
	if err != nil {
		panic(err)
	}
	model, _ := profile.LookupGPU("A100-SXM4-40GB")
	task := func(id string, reserved profile.Bytes) colloc.Task { return colloc.Task{ID: id, Reserved: reserved} }
	gpus := []colloc.GPU{{ID: "gpu0", Model: model, Residents: []colloc.Task{task("runs", 20*profile.GiB)}}}
	decision, err := dispatch.Once(context.Background(), planner, []colloc.Task{task("large", 30*profile.GiB), task("small", 5*profile.GiB)}, gpus)
	if err != nil {
		panic(err)
	}
	for _, p := range decision.Placements {
		for _, m := range p.Members {
			fmt.Println(p.GPU, m.Task, m.Resident, m.Reserved)
		}
	}
	for _, r := range decision.Waits {
		fmt.Println(r.Job, "waits:", r.Placing.Sharing)
	}
	// Output:
	// gpu0 runs true 20 GiB
	// gpu0 small false 5 GiB
	// large waits: memory
}

// TestFound: GPUs of which not all that runs can be told take nobody; of others everything is told.
func TestFound(t *testing.T) {
	g := func(id string, residents ...colloc.Task) colloc.GPU { return colloc.GPU{ID: id, Residents: residents} }
	one := func(id string) colloc.Task { return colloc.Task{ID: id, Reserved: profile.GiB} }
	gang, stranger := colloc.Task{ID: "gang", GPUs: 2}, colloc.Task{ID: "stranger", Foreign: true}
	for _, tt := range []struct {
		name string
		gpus []colloc.GPU
		want string
	}{
		{"nothing", []colloc.GPU{g("a")}, ""},
		{"two", []colloc.GPU{g("a", one("x"), stranger)}, "x 1 [a] true false, stranger 2 [a] false true"},
		{"a gang", []colloc.GPU{g("a", gang), g("b", gang)}, "gang 1 [a b] false false"},
		{"half a gang", []colloc.GPU{g("a", gang, one("x")), g("b")}, "drained a"},
		{"a crowd", []colloc.GPU{g("a", one("1"), one("2"), one("3"), one("4"), one("5")), g("b", one("6"))}, "6 6 [b] true false, drained a"},
	} {
		var got []string
		for _, e := range dispatch.Found(tt.gpus, false) {
			switch e := e.(type) {
			case dispatch.Adopted:
				got = append(got, fmt.Sprint(e.Job.ID, " ", e.Run, " ", e.GPUs, " ", e.Job.Fixed, " ", e.Job.Alone))
			case dispatch.Drained:
				got = append(got, "drained "+e.GPU)
			default:
				t.Errorf("%s: %T", tt.name, e)
			}
		}
		if s := strings.Join(got, ", "); s != tt.want {
			t.Errorf("%s: %s, want %s", tt.name, s, tt.want)
		}
	}
}

// TestDied: what a job died of before it was told of raises it as a death that was seen does.
func TestDied(t *testing.T) {
	planner, err := colloc.New(colloc.Config{})
	if err != nil {
		t.Fatal(err)
	}
	model, _ := profile.LookupGPU("A100-SXM4-40GB")
	died := dispatch.Died{Job: "a", GPU: "g", Peak: 10 * profile.GiB}
	for deaths, want := range []profile.Bytes{8 * profile.GiB, 15 * profile.GiB, profile.BytesOf(22.5 * float64(profile.GiB)), 0} {
		d, err := dispatch.New(planner, &dispatch.Options{AtOnce: true})
		if err != nil {
			t.Fatal(err)
		}
		if err := d.Tell(0, dispatch.GPUAdded{GPU: colloc.GPU{ID: "g", Model: model}}, dispatch.Submitted{Job: dispatch.Job{Task: colloc.Task{ID: "a", Reserved: 8 * profile.GiB}}}); err != nil {
			t.Fatal(err)
		}
		for range deaths {
			if err := d.Tell(0, died); err != nil {
				t.Fatal(err)
			}
		}
		actions, err := d.Decide(t.Context(), 0)
		if err != nil || len(actions) != 1 || actions[0].Reserve != want || (actions[0].Verb == dispatch.GiveUp) != (want == 0) {
			t.Errorf("after %d deaths: %+v, %v; want %v reserved", deaths, actions, err, want)
		} else if said := fmt.Sprintf("it ran out of memory %d times", deaths); want == 0 && !strings.HasPrefix(actions[0].Why, said) {
			t.Errorf("%q; want %q", actions[0].Why, said)
		}
		for _, wrong := range []dispatch.Died{{Job: "b", GPU: "g"}, {Job: "a", GPU: "h"}, {Job: "a", GPU: "g", Peak: -1}, died} { // it runs, or is gone
			if err := d.Tell(0, wrong); !errors.Is(err, dispatch.ErrUnknown) && !errors.Is(err, dispatch.ErrInvalid) {
				t.Errorf("%+v: %v", wrong, err)
			}
		}
	}
}
