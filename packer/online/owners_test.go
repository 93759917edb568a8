package online_test

import (
	"testing"
	"time"

	"example.com/colloc/packer"
	"example.com/colloc/packer/online"
	"example.com/colloc/profile"
)

// TestLimitAndTier: one owner's tasks run on no more GPUs than the limit says, with whom they
// do not fit under it nobody is held up, and of two tiers the lower goes first though it came later,
// looking ahead or not.
func TestLimitAndTier(t *testing.T) {
	for _, budget := range []int{0, 1000} {
		var unlimited profile.Opt[int]
		gpus := []packer.GPU{{ID: "a", Memory: profile.GiB}, {ID: "b", Memory: profile.GiB}, {ID: "c", Memory: profile.GiB}}
		s, err := online.NewScheduler(gpus, alone{}, packer.Limits{}, &online.SchedulerOptions{Budget: profile.Some(budget)})
		if err != nil {
			t.Fatal(err)
		}
		if err := s.Limit("ann", unlimited, profile.Some(1)); err != nil {
			t.Fatal(err)
		}
		if s.Limit("", unlimited, unlimited) == nil || s.Limit("bob", profile.Some(-1), unlimited) == nil || s.Tier("nobody", 1) == nil {
			t.Error("what makes no sense is taken")
		}
		for _, j := range []struct {
			id, owner string
			tier      int
		}{{"ann1", "ann", 0}, {"ann2", "ann", 0}, {"late", "bob", 1}, {"bob1", "bob", 0}, {"bob2", "bob", 0}} {
			task := packer.Task{ID: j.id, Memory: profile.GiB * 3 / 4}
			if err := s.Submit(online.Job{Task: task, Owner: j.owner, Tier: j.tier, Left: profile.Some(time.Hour)}); err != nil {
				t.Fatal(err)
			}
		}
		runs := func(at time.Duration) map[string]bool {
			out, err := s.Decide(t.Context(), at)
			if err != nil {
				t.Fatal(err)
			}
			on := map[string]bool{}
			for _, d := range out {
				on[d.Task] = d.Placed
			}
			return on
		}
		if on := runs(0); len(on) != 3 || !on["ann1"] || !on["bob1"] || !on["bob2"] {
			t.Errorf("budget %d: %v start", budget, on)
		}
		if err := s.Finish("bob1"); err != nil {
			t.Fatal(err)
		}
		if on := runs(time.Hour); len(on) != 1 || !on["late"] {
			t.Errorf("budget %d: %v start after bob1", budget, on)
		}
		if err := s.Finish("bob2"); err != nil {
			t.Fatal(err)
		}
		for _, none := range [][2]profile.Opt[int]{{profile.Some(0), unlimited}, {unlimited, profile.Some(0)}} {
			if err := s.Limit("ann", none[0], none[1]); err != nil {
				t.Fatal(err)
			}
			if on := runs(2 * time.Hour); len(on) != 0 {
				t.Errorf("budget %d: %v start, and ann may have none", budget, on)
			}
		}
		if err := s.Limit("ann", unlimited, unlimited); err != nil {
			t.Fatal(err)
		}
		if on := runs(2 * time.Hour); len(on) != 1 || !on["ann2"] {
			t.Errorf("budget %d: %v start without a limit", budget, on)
		}
	}
}

// alone is a model in which whoever shares stands still.
type alone struct{}

func (alone) Speeds(set []*packer.Task, _ *packer.GPU, _ profile.Mechanism, dst []float64) error {
	for i := range dst {
		dst[i] = 0
		if len(set) == 1 {
			dst[i] = 1
		}
	}
	return nil
}
