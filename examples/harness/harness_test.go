package harness_test

import (
	"fmt"
	"testing"
	"time"

	"example.com/colloc/colloc"
	"example.com/colloc/colloc/sim"
	"example.com/colloc/colloc/sim/harness"
	"example.com/colloc/profile"
)

// choose is a scheduler under test: which GPU takes a task, "" for none.
type choose func(task colloc.Task, gpus []colloc.GPU) string

// day lets a scheduler place twelve tasks, half of them busy, on two GPUs, and returns
// how long they take and how many died: the harness.
func day(t *testing.T, pick choose) (took time.Duration, died int) {
	t.Helper()
	cards, err := harness.Cards("2xRTX3090")
	if err != nil {
		t.Fatal(err)
	}
	fleet, err := harness.New(harness.Config{GPUs: cards})
	if err != nil {
		t.Fatal(err)
	}
	begin, waiting := fleet.Now(), 12
	for waiting+len(fleet.Running()) > 0 {
		if waiting > 0 {
			sm, memory := 0.1+0.8*float64(waiting%2), profile.GiB*profile.Bytes(4+7*(waiting%2))
			p, err := profile.Solo{Name: fmt.Sprint("net", waiting%2), GPU: "RTX3090", SMActive: profile.Some(sm), Memory: profile.Some(memory)}.Profile()
			if err != nil {
				t.Fatal(err)
			}
			task := colloc.Task{ID: fmt.Sprint("task", waiting), Profile: &p}
			if gpu := pick(task, fleet.GPUs()); gpu != "" {
				if err := fleet.Start(task, sim.Task{Work: time.Hour, Memory: memory}, gpu); err != nil {
					t.Fatal(err)
				}
				waiting--
				continue
			}
		}
		if e, ok := fleet.Step(time.Time{}); !ok {
			t.Fatalf("%d tasks wait for ever", waiting)
		} else if e.Died {
			died++
		}
	}
	return fleet.Now().Sub(begin), died
}

// crammed is the scheduler of an imaginary cluster: the first GPU with less than four.
func crammed(_ colloc.Task, gpus []colloc.GPU) string {
	for _, g := range gpus {
		if len(g.Residents) < 4 {
			return g.ID
		}
	}
	return ""
}

// TestCrammingIsNotGoodEnough: the harness shows what the scheduler does to its tasks,
// and what colloc would have done.
func TestCrammingIsNotGoodEnough(t *testing.T) {
	planner, err := colloc.New(colloc.Config{})
	if err != nil {
		t.Fatal(err)
	}
	_, died := day(t, crammed)
	took, safe := day(t, func(task colloc.Task, gpus []colloc.GPU) string {
		at, _, err := planner.Best(task, gpus)
		if err != nil {
			t.Fatal(err)
		}
		if at < 0 {
			return ""
		}
		return gpus[at].ID
	})
	if died == 0 || safe != 0 {
		t.Errorf("%d tasks died when crammed, %d with colloc; want some and none", died, safe)
	}
	if alone := 6 * time.Hour; took >= alone {
		t.Errorf("with colloc the day takes %v, one task after the other on each GPU %v", took, alone)
	}
}
