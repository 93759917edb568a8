package dispatch_test

import (
	"errors"
	"maps"
	"math/rand/v2"
	"strconv"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"example.com/colloc/colloc"
	"example.com/colloc/colloc/dispatch"
	"example.com/colloc/internal/race"
	"example.com/colloc/profile"
)

// TestHours: what counts of a user is what a count by the minute says, less the hours that are out of the window.
func TestHours(t *testing.T) {
	rng := rand.New(rand.NewPCG(46, 1))
	for range race.Fewer(64) {
		window := time.Duration(60+rng.IntN(240)) * time.Minute
		s := newSite(t, 1, dispatch.Options{Window: window})
		had := map[int]bool{} // by the minute
		pass := func(running bool) {
			minutes := 1 + rng.IntN(150)
			for m := range minutes {
				had[int(s.now/time.Minute)+m] = running
			}
			s.now += time.Duration(minutes) * time.Minute
			s.decide()
			want := map[int64]time.Duration{}
			for m, ran := range had {
				if h := int64(m / 60); ran && (s.now < window || h > int64((s.now-window)/time.Hour)) {
					want[h] += time.Minute
				}
			}
			got := maps.Clone(s.d.Accounts()["ann"].Hours)
			maps.DeleteFunc(got, func(_ int64, d time.Duration) bool { return d == 0 })
			for h := range got {
				got[h] = got[h].Round(time.Second)
			}
			if len(got)+len(want) > 0 && !cmp.Equal(want, got) {
				t.Fatalf("at %v, window %v: %s", s.now, window, cmp.Diff(want, got))
			}
		}
		for n := range 8 {
			id := strconv.Itoa(n)
			s.submit(id, "ann")
			s.decide()
			pass(true)
			if rng.IntN(2) == 0 {
				pass(true)
			}
			s.end(id)
			pass(false)
		}
	}
}

// TestMostOnGPU: as many runs as a Dispatcher knows on a GPU are taken, and a state with them is restored; one more
// is refused.
func TestMostOnGPU(t *testing.T) {
	s := newSite(t, 1, dispatch.Options{})
	for n := range dispatch.MostOnGPU + 1 {
		id := strconv.Itoa(n)
		err := s.d.Tell(s.now, dispatch.Adopted{Job: dispatch.Job{Task: colloc.Task{ID: id, Reserved: profile.GiB}, User: "ann"}, Run: uint64(n + 1), GPUs: []string{"gpu0"}})
		if (err == nil) != (n < dispatch.MostOnGPU) || err != nil && !errors.Is(err, dispatch.ErrInvalid) {
			t.Errorf("after %d: %v", n, err)
		}
		doc := state(t, s.d)
		d, err := dispatch.Restore(planner(t), nil, doc)
		if err != nil {
			t.Fatalf("with %d: %v", n+1, err)
		}
		if on := d.On("gpu0"); len(on) != min(n+1, dispatch.MostOnGPU) {
			t.Errorf("%d are on it after %d", len(on), n+1)
		}
	}
}
