package sim_test

import (
	"context"
	"errors"
	"math"
	"strings"
	"testing"

	"example.com/colloc/colloc/sim"
	"example.com/colloc/colloc/sim/speed"
	"example.com/colloc/profile"
)

// TestImpossible: a policy that decides what cannot be is stopped, and its
// decision printed.
func TestImpossible(t *testing.T) {
	gang := task("gang", 0, 10, 1)
	gang.GPUs, gang.OneNode = 2, true
	picky := task("picky", 0, 10, 1)
	picky.Only = []string{"other"}
	host := task("host", 0, 10, 1)
	host.CPU = 5
	share := task("share", 0, 10, 1)
	share.Share = 0.6
	big := task("big", 0, 10, 20)
	away := task("away", 0, 10, 0)
	away.HostOnly, away.GPUs = true, 0
	tests := []struct {
		name  string
		tasks []sim.Task
		do    func(s *sim.State)
		want  string
	}{
		{"twice", []sim.Task{task("a", 0, 10, 1)}, func(s *sim.State) { s.Start(s.Task(0), 0); s.Start(s.Task(0), 1) }, `task "a" does not wait, it is running; it decided: start task 0 (a) on GPUs [0]; start task 0 (a) on GPUs [1]`},
		{"over memory", []sim.Task{big}, func(s *sim.State) { s.Start(s.Task(0), 0) }, `GPU 0 would be over its memory: 0 B of 10 GiB reserved, task "big" needs 20 GiB`},
		{"unknown GPU", []sim.Task{task("a", 0, 10, 1)}, func(s *sim.State) { s.Start(s.Task(0), 7) }, "GPU 7 does not exist"},
		{"negative GPU", []sim.Task{task("a", 0, 10, 1)}, func(s *sim.State) { s.Start(s.Task(0), -1) }, "GPU -1 does not exist"},
		{"GPU twice", []sim.Task{gang}, func(s *sim.State) { s.Start(s.Task(0), 1, 1) }, "GPU 1 is named twice"},
		{"too few GPUs", []sim.Task{gang}, func(s *sim.State) { s.Start(s.Task(0), 1) }, `task "gang" needs 2 GPUs, not 1`},
		{"two machines", []sim.Task{gang}, func(s *sim.State) { s.Start(s.Task(0), 1, 2) }, `task "gang" must be in one machine`},
		{"wrong product", []sim.Task{picky}, func(s *sim.State) { s.Start(s.Task(0), 0) }, `task "picky" does not accept GPU 0, a card`},
		{"CPU", []sim.Task{host}, func(s *sim.State) { s.Start(s.Task(0), 0) }, "machine 0 has 4.000 cores"},
		{"shares", []sim.Task{share, func() sim.Task { x := share; x.ID = "y"; return x }()}, func(s *sim.State) { s.Start(s.Task(0), 0); s.Start(s.Task(1), 0) }, "GPU 0 would be over its whole: 0.600 is taken"},
		{"not yet", []sim.Task{task("a", 0, 10, 1), task("b", 9, 10, 1)}, func(s *sim.State) { s.Place(sim.Launch{Task: 1, GPUs: []int{0}}) }, "task 1 does not exist yet"},
		{"never", []sim.Task{task("a", 0, 10, 1)}, func(s *sim.State) { s.Place(sim.Launch{Task: -3, GPUs: []int{0}}) }, "task -3 does not exist yet"},
		{"negative reservation", []sim.Task{task("a", 0, 10, 1)}, func(s *sim.State) {
			s.Place(sim.Launch{Task: 0, GPUs: []int{0}, Reserve: profile.Some[profile.Bytes](-1)})
		}, "a reservation of -1 bytes"},
		{"start nothing", []sim.Task{task("a", 0, 10, 1)}, func(s *sim.State) { s.Start(nil, 0) }, "task -1 does not exist yet"},
		{"stop nothing", []sim.Task{task("a", 0, 10, 1)}, func(s *sim.State) { s.Stop(nil) }, "a task that is not of this run"},
		{"stop another's", []sim.Task{task("a", 0, 10, 1)}, func(s *sim.State) { s.Stop(&sim.TaskView{Index: 7}) }, "a task that is not of this run"},
		{"stop what waits", []sim.Task{task("a", 0, 10, 1)}, func(s *sim.State) { s.Stop(s.Task(0)) }, `task "a" does not run, it is waiting`},
		{"a machine that does not exist", []sim.Task{away}, func(s *sim.State) { s.Place(sim.Launch{Task: 0, Node: 2}) }, "machine 2 does not exist"},
		{"a machine below all", []sim.Task{away}, func(s *sim.State) { s.Place(sim.Launch{Task: 0, Node: -1}) }, "machine -1 does not exist"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			c := cards(2)
			c.Nodes[0].CPU = 4
			c.Nodes = append(c.Nodes, cards(2).Nodes...)
			_, err := sim.Run(context.Background(), c, tt.tasks, script(func(s *sim.State) error { tt.do(s); return nil }), sim.Options{})
			var d *sim.DecisionError
			if !errors.As(err, &d) || !errors.Is(err, sim.ErrDecision) || !strings.Contains(err.Error(), tt.want) {
				t.Errorf("got %v\nwant a DecisionError with %s", err, tt.want)
			}
		})
	}
}

// TestBadInput: what cannot be simulated is an error that names it.
func TestBadInput(t *testing.T) {
	good := []sim.Task{task("a", 0, 10, 1)}
	tests := []struct {
		name  string
		c     *sim.Cluster
		tasks []sim.Task
		o     sim.Options
		want  string
	}{
		{"no cluster", nil, good, sim.Options{}, "0 GPUs"},
		{"no GPU", &sim.Cluster{}, good, sim.Options{}, "0 GPUs"},
		{"no ID", cards(1), []sim.Task{task("", 0, 10, 1)}, sim.Options{}, "ID is empty"},
		{"no work", cards(1), []sim.Task{task("a", 0, 0, 1)}, sim.Options{}, "Work is 0s"},
		{"same ID", cards(1), append(good, good...), sim.Options{}, `have the same ID "a"`},
		{"loss", func() *sim.Cluster { c := cards(1); c.Losses = []sim.Loss{{GPU: 1}}; return c }(), good, sim.Options{}, "loss 0"},
		{"a GPU", func() *sim.Cluster { c := cards(3); c.Nodes[0].GPUs[1].Memory = -1; return c }(), good, sim.Options{}, "GPU 1: memory is -1 bytes"},
		{"cores below 0", func() *sim.Cluster { c := cards(1); c.Nodes[0].CPU = -1; return c }(), good, sim.Options{}, "node 0: CPU -1"},
		{"cores without end", func() *sim.Cluster { c := cards(1); c.Nodes[0].CPU = math.Inf(1); return c }(), good, sim.Options{}, "node 0: CPU +Inf"},
		{"host memory below 0", func() *sim.Cluster { c := cards(1); c.Nodes[0].Memory = -1; return c }(), good, sim.Options{}, "Memory -1"},
		{"more than all SMs", cards(1), func() []sim.Task { x := task("a", 0, 10, 1); x.Busy = 1.01; return []sim.Task{x} }(), sim.Options{}, "Busy is 1.01"},
		{"more than all bandwidth", cards(1), func() []sim.Task { x := task("a", 0, 10, 1); x.Bandwidth = 1.01; return []sim.Task{x} }(), sim.Options{}, "Bandwidth is 1.01"},
		{"failures below 0", cards(1), good, sim.Options{MaxFailures: -1}, "MaxFailures is -1"},
		{"a quota below 0", cards(1), good, sim.Options{Quotas: map[string]int{"u": -1}}, `Quotas["u"] is -1`},
		{"few points", cards(1), good, sim.Options{Points: 1}, "Points is 1"},
		{"many points", cards(1), good, sim.Options{Points: 1<<20 + 1}, "Points is 1048577"},
		{"options", cards(1), good, sim.Options{LengthError: -1, OOMAfter: -1}, "LengthError is -1"},
		{"length error", cards(1), good, sim.Options{LengthError: 4.1}, "LengthError is 4.1, want 0 to 4"},
		{"error of measured speeds", cards(1), good, sim.Options{ObserveError: 4.1}, "ObserveError is 4.1, want 0 to 4"},
		{"checkpoints that take all time", cards(1), good, sim.Options{Checkpoint: 5, CheckpointCost: 5}, "Checkpoint is 5ns, want more than CheckpointCost"},
		{"model", cards(1), good, sim.Options{Truth: speed.Contention{}}, `task "a" is of class ""`},
		{"speeds", cards(1), good, sim.Options{Truth: sim.Constant{-1}}, "no finite number"},
		{"stages", cards(1), good, sim.Options{Truth: speed.Stages{}}, `task "a" has no stages`},
		{"fitted", cards(1), good, sim.Options{Truth: speed.Fitted{}}, "no Interference"},
		{"noisy", cards(1), good, sim.Options{Truth: speed.Noisy{}}, "no Model"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			_, err := sim.Run(context.Background(), tt.c, tt.tasks, script(pile), tt.o)
			if err == nil || !strings.Contains(err.Error(), tt.want) {
				t.Errorf("got %v, want an error with %q", err, tt.want)
			}
		})
	}
	if _, err := sim.Run(context.Background(), cards(1), good, nil, sim.Options{}); err == nil {
		t.Error("no error without a policy")
	}
	_, err := sim.Run(context.Background(), cards(1), good, script(func(*sim.State) error { return errors.New("tired") }), sim.Options{})
	if err == nil || !strings.Contains(err.Error(), "policy script at 0s: tired") {
		t.Errorf("got %v", err)
	}
}
