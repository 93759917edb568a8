package dispatch_test

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"example.com/colloc/colloc/dispatch"
	"example.com/colloc/internal/golden"
	"example.com/colloc/internal/race"
	"example.com/colloc/packer/online"
	"example.com/colloc/profile"
)

// TestDiary: told the same, a Dispatcher does and says the same as ever: its actions, why jobs wait, what is set
// aside for them, how users stand, when it is to be asked again.
func TestDiary(t *testing.T) {
	if race.Enabled {
		t.Skip("one goroutine; TestAnyEvents tells as much under -race")
	}
	var out strings.Builder
	for _, o := range []*dispatch.Options{
		{HalfLife: time.Hour, Window: 3 * time.Hour, Scheduler: online.SchedulerOptions{Budget: profile.Some(0)}},
		{AtOnce: true, Scheduler: online.SchedulerOptions{Budget: profile.Some(0)}},
	} {
		fmt.Fprintf(&out, "at once: %v\n", o.AtOnce)
		d, err := dispatch.New(planner(t), o)
		if err != nil {
			t.Fatal(err)
		}
		s := &stream{rng: rand.New(rand.NewPCG(11, 2)), runs: map[string][]uint64{}}
		said := map[string]string{}
		errs := map[string]bool{}
		for taken := 0; taken < 100; {
			s.now += time.Duration(s.rng.IntN(300)) * time.Second
			e := s.draw()
			what := strings.ReplaceAll(fmt.Sprintf("%T%+v", e, e), "dispatch.", "")
			switch e := e.(type) {
			case dispatch.GPUAdded:
				what = fmt.Sprintf("GPUAdded %s, %s, machine %d", e.GPU.ID, e.GPU.Model.Name, e.Machine)
			case dispatch.GPUChanged:
				what = fmt.Sprintf("GPUChanged %s, %s", e.GPU.ID, e.GPU.Model.Name)
			case dispatch.Submitted:
				what = fmt.Sprintf("Submitted %s of %q: %v on %d, %q, priority %d, left %v, restart %v, after %v", e.Job.ID, e.Job.User, e.Job.Reserved, e.Job.GPUs, e.Job.Kind, e.Job.Priority, e.Job.Left, e.Job.Restart, e.Job.After)
			case dispatch.Described:
				what = fmt.Sprintf("Described %s: %v, %v, fixed %v", e.Job.ID, e.Job.Reserved, e.Job.MaxSlowdown, e.Job.Fixed)
			case dispatch.Adopted:
				what = fmt.Sprintf("Adopted %s: run %d on %v", e.Job.ID, e.Run, e.GPUs)
			}
			err := d.Tell(s.now, e)
			if err != nil {
				text := err.Error()
				if key := strings.Trim(fmt.Sprintf("%T%.8s", e, text[strings.LastIndex(text, ": "):]), "0123456789"); !errs[key] {
					errs[key] = true
					fmt.Fprintf(&out, "%v %s\n  %v\n", s.now, what, err)
				}
				continue
			}
			taken++
			fmt.Fprintf(&out, "%v %s\n", s.now, what)
			actions, err := d.Decide(t.Context(), s.now)
			if err != nil {
				t.Fatal(err)
			}
			s.hear(actions)
			for _, a := range actions {
				fmt.Fprintf(&out, "  %v %s, run %d on %v: reserves %v, speed %.3f, due %v, %s\n", a.Verb, a.Job, a.Run, a.GPUs, a.Reserve, a.Speed, a.Due, a.Why)
			}
			for n := range 40 {
				job := fmt.Sprint("job", n)
				why, err := d.Why(job)
				if err != nil {
					delete(said, job)
					continue
				}
				reserved, err := d.Memory(job)
				placing := why.Placing.String() // which other tests read
				words := strings.Replace(why.String(), placing, why.Placing.Code.String(), 1)
				text := fmt.Sprintf("  %s: %v; %v %v\n", job, words, reserved, err)
				if said[job] != text {
					out.WriteString(text)
				}
				said[job] = text
			}
			if taken%10 == 0 {
				all := d.Accounts()
				for _, name := range slices.Sorted(maps.Keys(all)) {
					fmt.Fprintf(&out, "  user %q: %+v\n", name, all[name])
				}
				fmt.Fprintf(&out, "  expected: %+v\n", d.Expect())
			}
		}
	}
	golden.Check(t, "diary.txt", out.String())
}
