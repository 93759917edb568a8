package dispatch_test

import (
	"context"
	"errors"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"example.com/colloc/colloc/dispatch"
	"example.com/colloc/internal/golden"
	"example.com/colloc/internal/race"
	"example.com/colloc/packer/online"
	"example.com/colloc/profile"
)

// TestStates: of each value of a state it is known which others it may have; what is taken is sound.
func TestStates(t *testing.T) {
	if race.Enabled {
		t.Skip("one goroutine; TestAnyEvents restores under -race")
	}
	p := planner(t)
	o := &dispatch.Options{HalfLife: time.Hour, Window: 3 * time.Hour, Scheduler: online.SchedulerOptions{Budget: profile.Some(0)}}
	d, err := dispatch.New(p, o)
	if err != nil {
		t.Fatal(err)
	}
	s := &stream{rng: rand.New(rand.NewPCG(7, 2)), runs: map[string][]uint64{}}
	var states [][]byte
	for n := range 250 {
		s.now += time.Duration(s.rng.IntN(60)) * time.Second
		_ = d.Tell(s.now, s.draw())
		actions, err := d.Decide(context.Background(), s.now)
		if err != nil {
			t.Fatal(err)
		}
		s.hear(actions)
		if n == 50 || n == 249 {
			states = append(states, state(t, d))
		}
	}
	golden.Leaves(t, "states.txt", states, []string{"-1", "0", "3", "1048576", "1048577", "72057594037927936", "72057594037927937"}, func(path string) bool {
		return strings.Contains(path, ".Model.") || strings.Contains(path, ".Profile.") // which other tests read
	}, func(doc []byte) bool {
		d, err := dispatch.Restore(p, o, doc)
		if err != nil {
			if !errors.Is(err, dispatch.ErrState) {
				t.Errorf("%v is no ErrState", err)
			}
			return false
		}
		if err := d.Sound(); err != nil {
			t.Errorf("%v, of\n%s", err, doc)
		}
		return true
	})
}
