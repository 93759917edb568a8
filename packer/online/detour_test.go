package online_test

import (
	"testing"
	"time"

	"example.com/colloc/packer"
	"example.com/colloc/packer/internal/packtest"
	"example.com/colloc/packer/online"
	"example.com/colloc/profile"
)

// TestSchedulerDetours: a adds most beside x, and b hardly anything but there. All rules send
// a first, and there; a detour sends it to y. Not so if detours are left out, if the budget is
// gone before them, or if a task that runs must move and moves are left out.
func TestSchedulerDetours(t *testing.T) {
	speeds := packtest.Duo{"ax": 0.9, "ay": 0.85, "bx": 0.9, "by": 0.52}
	for name, tt := range map[string]struct {
		o    online.SchedulerOptions
		runs bool // a runs beside x already
		want string
	}{
		"start":                {online.SchedulerOptions{}, false, "a[1] b[0]"},
		"start, left out":      {online.SchedulerOptions{Without: online.Detours}, false, "a[0]"},
		"start, no budget":     {online.SchedulerOptions{Budget: profile.Some(1)}, false, "a[0]"},
		"start, without moves": {online.SchedulerOptions{Without: online.Moves}, false, "a[1] b[0]"},
		"move":                 {online.SchedulerOptions{}, true, "a[0] a[1] b[0]"},
		"move, without moves":  {online.SchedulerOptions{Without: online.Moves}, true, ""},
	} {
		s, err := online.NewScheduler(cards(2), speeds, packer.Limits{MaxSet: 2}, &tt.o)
		if err != nil {
			t.Fatal(err)
		}
		for g, id := range []string{"x", "y"} {
			if err := s.Adopt(job(id, 0, 1, 10*time.Hour), g); err != nil {
				t.Fatal(err)
			}
		}
		a := job("a", 0, 1, 4*time.Hour)
		if a.Restart = profile.Some(time.Duration(0)); tt.runs {
			if err := s.Adopt(a, 0); err != nil {
				t.Fatal(err)
			}
		} else {
			submit(t, s, a)
		}
		submit(t, s, job("b", 0, 1, 4*time.Hour))
		if got := decided(t, s, 0); got != tt.want {
			t.Errorf("%s: %q, want %q", name, got, tt.want)
		}
	}
}
