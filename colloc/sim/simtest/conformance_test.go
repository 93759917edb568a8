package simtest_test

import (
	"strings"
	"testing"
	"time"

	"example.com/colloc/colloc/sim"
	"example.com/colloc/colloc/sim/policy"
	"example.com/colloc/colloc/sim/simtest"
	"example.com/colloc/profile"
)

// TestConformance: the simplest policy keeps all rules.
func TestConformance(t *testing.T) {
	simtest.Conformance(t, policy.FIFO{})
}

// lazy places nothing.
type lazy struct{}

func (lazy) Name() string                              { return "lazy" }
func (l lazy) Begin(*sim.State) (sim.Scheduler, error) { return l, nil }
func (lazy) Decide(*sim.State) error                   { return nil }

// fickle gives another answer each time that it is asked to begin.
type fickle struct{ runs *int }

func (fickle) Name() string { return "fickle" }

func (f fickle) Begin(s *sim.State) (sim.Scheduler, error) {
	*f.runs++
	return policy.Random{}.Begin(s)
}

// TestNoCluster: the kit says what Run says of a scenario that is none.
func TestNoCluster(t *testing.T) {
	s := simtest.Scenario{Tasks: []sim.Task{{ID: "a", Work: time.Minute}}}
	if faults := simtest.Faults(policy.FIFO{}, s); !strings.Contains(strings.Join(faults, "; "), "0 GPUs") {
		t.Errorf("no cluster: %q", faults)
	}
}

// TestFaults: the kit finds what it says it finds.
func TestFaults(t *testing.T) {
	model := profile.GPUModel{Name: "card", Memory: 10 * profile.GiB}
	s := simtest.Scenario{
		Name:    "two",
		Cluster: &sim.Cluster{Nodes: []sim.Node{{GPUs: []sim.GPU{{Model: model}, {Model: model}}}}},
		Tasks:   []sim.Task{{ID: "a", Work: time.Minute}, {ID: "b", Work: time.Minute}},
	}
	if faults := simtest.Faults(policy.FIFO{}, s); faults != nil {
		t.Errorf("fifo: %q", faults)
	}
	got := strings.Join(simtest.Faults(lazy{}, s), "; ")
	if !strings.Contains(got, `task "a" did not end`) {
		t.Errorf("lazy: %q", got)
	}
	got = strings.Join(simtest.Faults(greedy{}, simtest.Scenario{
		Name: "full", Cluster: s.Cluster, Tasks: []sim.Task{{ID: "a", Work: 1, Memory: 11 * profile.GiB}},
	}), "; ")
	if !strings.Contains(got, "over its memory") {
		t.Errorf("greedy: %q", got)
	}
	runs := 0
	s.Options.OnEvent = nil
	if simtest.Faults(fickle{&runs}, s); runs != 2 {
		t.Errorf("the kit ran a policy %d times, want twice", runs)
	}
}
