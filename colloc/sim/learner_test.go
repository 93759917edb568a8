package sim_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"testing"

	"example.com/colloc/colloc/sim"
)

// student is a scheduler that learns.
type student struct {
	script
	observe func(o *sim.CoRun) error
}

func (s student) Begin(*sim.State) (sim.Scheduler, error) { return s, nil }

func (s student) Observe(o *sim.CoRun) error { return s.observe(o) }

// TestLearner: a scheduler that learns is told how fast each set ran that changes, and
// for how long; its error ends the run.
func TestLearner(t *testing.T) {
	tasks := []sim.Task{task("a", 0, 20, 1), task("b", 0, 50, 1)}
	var told []string
	learns := student{pile, func(o *sim.CoRun) error {
		var names []string
		for _, x := range o.Set {
			names = append(names, x.ID)
		}
		slices.Sort(names)
		told = append(told, fmt.Sprint(names, o.Speeds, o.For))
		return nil
	}}
	run(t, cards(1), tasks, learns, sim.Options{ObserveAfter: seconds(5)})
	if want := []string{"[a b] [0.5 0.5] 40s", "[b] [1] 30s"}; !slices.Equal(told, want) {
		t.Errorf("told %q, want %q", told, want)
	}
	fails := errors.New("cannot learn")
	learns.observe = func(*sim.CoRun) error { return fails }
	if _, err := sim.Run(context.Background(), cards(1), tasks, learns, sim.Options{ObserveAfter: seconds(5)}); !errors.Is(err, fails) || !strings.Contains(err.Error(), "policy script at") {
		t.Errorf("error is %v", err)
	}
}

// TestLearnerOfWhatRan: of tasks that start at once on a card that was idle for long,
// nothing is told before they ran.
func TestLearnerOfWhatRan(t *testing.T) {
	var told []string
	tasks := []sim.Task{task("a", 100, 20, 1), task("b", 100, 20, 1)}
	run(t, cards(1), tasks, student{pile, func(o *sim.CoRun) error {
		told = append(told, fmt.Sprint(len(o.Set), o.Speeds, o.For))
		return nil
	}}, sim.Options{ObserveAfter: seconds(5)})
	if want := []string{"2 [0.5 0.5] 40s"}; !slices.Equal(told, want) {
		t.Errorf("told %q, want %q", told, want)
	}
}

// TestLearnerOfCores: where cores are shared, what was measured counts from when the cores
// that are wanted last changed, on all GPUs of the machine.
func TestLearnerOfCores(t *testing.T) {
	c := cards(2)
	c.Nodes[0].CPU = 4
	tasks := []sim.Task{task("a", 0, 100, 10), task("b", 40, 100, 10)}
	for i := range tasks {
		tasks[i].CPU = 4
	}
	// both at half from 40 to 160, then b alone for the 40 that are left
	for after, want := range map[int][]string{
		5:  {"a [1] 40s", "a [0.5] 2m0s", "b [0.5] 2m0s", "b [1] 40s"},
		60: {"a [0.5] 2m0s", "b [0.5] 2m0s"},
	} {
		var told []string
		run(t, c, tasks, student{pile, func(o *sim.CoRun) error {
			told = append(told, fmt.Sprint(o.Set[0].ID, " ", o.Speeds, " ", o.For))
			return nil
		}}, sim.Options{ShareCPU: true, ObserveAfter: seconds(after)})
		if !slices.Equal(told, want) {
			t.Errorf("what is measured after %d s: told %q, want %q", after, told, want)
		}
	}
}

// TestShares: tasks whose shares of a GPU add up to it, rounded or not, run there
// together, and one more does not.
func TestShares(t *testing.T) {
	for _, shares := range [][]float64{{0.5, 0.5}, {0.1, 0.2, 0.7}, {0.7, 0.2, 0.1}} {
		var tasks []sim.Task
		truth := sim.Constant{1}
		for i, share := range append(shares, 0.01) {
			x := task(strconv.Itoa(i), 0, 10, 1)
			x.Share = share
			tasks, truth = append(tasks, x), append(truth, 1)
		}
		r := run(t, cards(1), tasks, script(pile), sim.Options{Truth: truth})
		for _, e := range r.Ends {
			want := seconds(10)
			if e.ID == strconv.Itoa(len(shares)) {
				want = seconds(20)
			}
			if e.End != want {
				t.Errorf("shares %v: task %s ends at %v, want %v", shares, e.ID, e.End, want)
			}
		}
	}
}

// TestNowhere: a task that was stopped, or is over, is on no GPU.
func TestNowhere(t *testing.T) {
	waited, over := 0, 0
	r := run(t, cards(1), []sim.Task{task("a", 0, 100, 1), task("b", 30, 20, 1)}, script(func(s *sim.State) error {
		for x := range s.Waiting() {
			if waited++; len(x.On) > 0 {
				return fmt.Errorf("%s waits on GPUs %v", x.ID, x.On)
			}
		}
		for _, x := range s.Ended() {
			if over++; len(x.On) > 0 {
				return fmt.Errorf("%s ended and is on GPUs %v", x.ID, x.On)
			}
		}
		next := ""
		if len(s.Arrived()) > 0 {
			next = s.Arrived()[0].ID
			for x := range s.Running() {
				s.Stop(x)
			}
		}
		for x := range s.Waiting() {
			if g := first(s.Idle()); g != nil && (next == "" || x.ID == next) {
				s.Start(x, g.Index)
			}
		}
		return nil
	}), sim.Options{})
	if r.Preemptions != 1 || waited < 3 || over != 2 {
		t.Errorf("%d preemptions, %d looks at waiting tasks, %d at those that were over", r.Preemptions, waited, over)
	}
}
