package sim_test

import (
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	"pgregory.net/rapid"

	"example.com/colloc/colloc/sim"
	"example.com/colloc/colloc/sim/simtest"
	"example.com/colloc/colloc/sim/speed"
	"example.com/colloc/profile"
)

// chaos is a policy that does anything that is possible: it starts tasks where
// they fit or nearly fit, stops them for no reason, and wakes up at random.
type chaos struct{ seed uint64 }

func (chaos) Name() string { return "chaos" }

func (c chaos) Begin(*sim.State) (sim.Scheduler, error) {
	return &chaotic{draw: rand.New(rand.NewPCG(c.seed, 1)), stops: 200}, nil
}

type chaotic struct {
	draw  *rand.Rand
	stops int
}

func (c *chaotic) Decide(s *sim.State) error {
	for t := range s.Running() {
		if c.stops > 0 && c.draw.IntN(8) == 0 {
			c.stops--
			s.Stop(t)
		}
	}
	for t := range s.Waiting() {
		var gpus []int
		for _, i := range c.draw.Perm(len(s.GPUs())) {
			g := s.GPUs()[i]
			alone := t.Deaths == 0 || len(g.Set) == 0
			if len(gpus) < t.GPUs && s.Fits(t, g) && alone && (len(gpus) == 0 || !t.OneNode || s.GPUs()[gpus[0]].Node == g.Node) {
				gpus = append(gpus, i)
			}
		}
		if len(gpus) == t.GPUs && c.draw.IntN(4) > 0 {
			s.Start(t, gpus...)
		}
	}
	s.WakeAt(s.Now() + time.Duration(1+c.draw.Int64N(int64(time.Minute))))
	return nil
}

// TestConservation: whatever a policy does, work done is work submitted, no task
// runs before it arrives, no GPU is over its memory unless somebody dies of it,
// and the same seed gives the same bytes. See [simtest.Faults].
func TestConservation(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s := simtest.Scenario{Name: "random", Cluster: &sim.Cluster{}}
		nodes := rapid.IntRange(1, 3).Draw(t, "machines")
		gpus := rapid.IntRange(1, 4).Draw(t, "GPUs each")
		for range nodes {
			n := sim.Node{GPUs: make([]sim.GPU, gpus)}
			for g := range n.GPUs {
				n.GPUs[g].Model = profile.GPUModel{Name: "card", Memory: 16 * profile.GiB, PowerWatts: 300}
			}
			s.Cluster.Nodes = append(s.Cluster.Nodes, n)
		}
		for i := range rapid.IntRange(0, 20).Draw(t, "tasks") {
			s.Tasks = append(s.Tasks, sim.Task{
				ID:      fmt.Sprint("t", i),
				Arrival: time.Duration(rapid.Int64Range(0, int64(time.Hour)).Draw(t, "arrival")),
				Work:    time.Duration(rapid.Int64Range(1, int64(time.Hour)).Draw(t, "work")),
				GPUs:    rapid.IntRange(1, gpus).Draw(t, "size"), OneNode: true,
				Memory:  profile.Bytes(rapid.IntRange(0, 16).Draw(t, "memory")) * profile.GiB,
				Class:   rapid.SampledFrom([]string{"light", "medium", "heavy"}).Draw(t, "class"),
				Startup: time.Duration(rapid.IntRange(0, 3).Draw(t, "startup")) * 10 * time.Second,
			})
		}
		for range rapid.IntRange(0, 3).Draw(t, "losses") {
			s.Cluster.Losses = append(s.Cluster.Losses, sim.Loss{
				GPU: rapid.IntRange(0, nodes*gpus-1).Draw(t, "lost"),
				At:  time.Duration(rapid.Int64Range(0, int64(time.Hour)).Draw(t, "at")),
				For: time.Minute,
			})
		}
		under := rapid.Bool().Draw(t, "under-estimated")
		s.Options = sim.Options{
			Truth: speed.Contention{}, MaxFailures: 1000,
			Reserve: func(t *sim.Task) profile.Bytes {
				if under {
					return t.Memory / 2
				}
				return t.Memory
			},
		}
		if rapid.Bool().Draw(t, "checkpoints") {
			s.Options.Checkpoint, s.Options.CheckpointCost = 7*time.Minute, 11*time.Second
		}
		for _, fault := range simtest.Faults(chaos{rapid.Uint64().Draw(t, "seed")}, s) {
			t.Errorf("%s", fault)
		}
	})
}
