package dispatch_test

import (
	"flag"
	"fmt"
	"maps"
	"math"
	"math/rand/v2"
	"runtime"
	"slices"
	"testing"
	"time"

	"example.com/colloc/colloc"
	"example.com/colloc/colloc/dispatch"
	"example.com/colloc/internal/race"
	"example.com/colloc/packer/online"
	"example.com/colloc/profile"
)

var manyJobs = flag.Int("dispatch.jobs", max(1000, race.Fewer(4000)), "how many jobs TestManyJobs lets through")

// TestManyJobs: jobs that are over leave nothing but what they taught.
//
//	go test ./colloc/dispatch -run ManyJobs -v -dispatch.jobs 1000000 -timeout 1h
func TestManyJobs(t *testing.T) {
	c := newCrowd(t, 8, 0)
	c.come(40)
	c.runs = c.decide()
	size := func() (bytes int, heap uint64) {
		var m runtime.MemStats
		runtime.GC()
		runtime.ReadMemStats(&m)
		return len(state(t, c.d)), m.HeapAlloc
	}
	for c.next < *manyJobs/2 {
		c.turn()
	}
	half, heap := size()
	for c.next < *manyJobs {
		c.turn()
	}
	all, last := size()
	t.Logf("after %d jobs the state has %d KiB and the heap %d, after half of them %d and %d", c.next, all>>10, last>>10, half>>10, heap>>10)
	if all > half+half/4+16<<10 || last > heap+heap/4+4<<20 {
		t.Errorf("after %d jobs the state has %d bytes and the heap %d, after half of them %d and %d", c.next, all, last, half, heap)
	}
}

// ledger is the books kept anew, from all that was ever told and asked, at each look.
type ledger struct {
	log []entry
}

type entry struct {
	at   time.Duration
	tell dispatch.Event // or
	ask  dispatch.Action
}

// life is a run as the log has it.
type life struct {
	job, user  string
	gpus       []string
	from, upTo time.Duration // upTo is -1 while it is not over
	reserved   profile.Bytes
	began      bool
}

// recount goes through the whole log: which runs there were, and which limits hold.
func (l *ledger) recount() (runs map[uint64]*life, limits map[string]dispatch.Limits) {
	runs, limits = map[uint64]*life{}, map[string]dispatch.Limits{}
	users := map[string]string{}
	for _, e := range l.log {
		switch x := e.tell.(type) {
		case nil:
			if e.ask.Verb == dispatch.Start {
				runs[e.ask.Run] = &life{job: e.ask.Job, user: users[e.ask.Job], gpus: e.ask.GPUs, upTo: -1, reserved: e.ask.Reserve}
			}
		case dispatch.Submitted:
			users[x.Job.ID] = x.Job.User
		case dispatch.Allowed:
			limits[x.User] = x.Limits
		case dispatch.Started:
			runs[x.Run].from, runs[x.Run].began = e.at, true
		case dispatch.Refused:
			delete(runs, x.Run)
		case dispatch.Ended:
			runs[x.Run].upTo = e.at
		}
	}
	return runs, limits
}

// elsewhere is what a user runs where the Dispatcher does not look.
func (l *ledger) elsewhere(user string) (jobs, gpus int) {
	for _, e := range l.log {
		if x, ok := e.tell.(dispatch.Elsewhere); ok && x.User == user {
			jobs, gpus = x.Jobs, x.GPUs
		}
	}
	return jobs, gpus
}

// gpuTime is what each user had until a time, in a window of whole hours: instant by instant, a GPU shared
// by equal parts.
func gpuTime(runs map[uint64]*life, from, upTo time.Duration) map[string]float64 {
	moments := []time.Duration{from, upTo}
	for _, r := range runs {
		for _, at := range []time.Duration{r.from, r.upTo} {
			if at > from && at < upTo {
				moments = append(moments, at)
			}
		}
	}
	slices.Sort(moments)
	had := map[string]float64{}
	for i := range len(moments) - 1 {
		on := map[string][]string{} // users by GPU
		for _, n := range slices.Sorted(maps.Keys(runs)) {
			if r := runs[n]; r.began && r.from <= moments[i] && (r.upTo < 0 || r.upTo > moments[i]) {
				for _, g := range r.gpus {
					on[g] = append(on[g], r.user)
				}
			}
		}
		for _, users := range on {
			for _, u := range users {
				had[u] += (moments[i+1] - moments[i]).Seconds() / float64(len(users))
			}
		}
	}
	return had
}

// TestBooks: accounts, limits, quotas, classes and memory are what the log says, recounted from its
// beginning after each decision by a checker that shares no code with the Dispatcher.
func TestBooks(t *testing.T) {
	for seed := range uint64(max(2, race.Fewer(4))) {
		rng := rand.New(rand.NewPCG(seed, 5))
		const window = 5 * time.Hour
		o := dispatch.Options{HalfLife: time.Hour, Window: window, Scheduler: online.SchedulerOptions{Budget: profile.Some([]int{0, 40}[seed%2])}}
		s, l := newSite(t, 3, o), &ledger{}
		offer := colloc.Usable(40*profile.GiB, 0.1)
		tell := func(e dispatch.Event) {
			t.Helper()
			s.tell(e)
			l.log = append(l.log, entry{at: s.now, tell: e})
		}
		starts, held := 0, 0
		for n := range 150 {
			s.now += time.Duration(rng.IntN(900)) * time.Second
			user := []string{"ann", "bob", "cyd"}[rng.IntN(3)]
			runs, _ := l.recount()
			open := slices.DeleteFunc(slices.Sorted(maps.Keys(runs)), func(k uint64) bool { return runs[k].upTo >= 0 })
			switch x := rng.IntN(10); {
			case x < 5:
				tell(dispatch.Submitted{Job: dispatch.Job{User: user, Task: colloc.Task{
					ID: fmt.Sprint("job", n), GPUs: 1 + rng.IntN(5)/4, Reserved: profile.GiB * profile.Bytes(1+rng.IntN(20)), Priority: rng.IntN(3) / 2, MaxSlowdown: math.Inf(1),
				}}})
			case x < 9 && len(open) > 0:
				k := open[rng.IntN(len(open))]
				tell(dispatch.Ended{Job: runs[k].job, Run: k, How: dispatch.Done})
			case x == 9 && rng.IntN(3) == 0:
				k := rng.IntN(3)
				tell(dispatch.Elsewhere{User: user, Jobs: min(k, 1), GPUs: k})
			case x == 9:
				most := func(n int) profile.Opt[int] {
					switch rng.IntN(9) {
					case 0:
						return profile.Some(0)
					case 1, 2:
						return profile.Opt[int]{}
					}
					return profile.Some(1 + rng.IntN(n))
				}
				var quota profile.Opt[time.Duration]
				if q, set := most(2).Get(); set {
					quota = profile.Some(time.Duration(q) * 30 * time.Minute)
				}
				tell(dispatch.Allowed{User: user, Limits: dispatch.Limits{Jobs: most(3), GPUs: most(3), Quota: quota}})
			}
			runs, limits := l.recount()
			first := (s.now/time.Hour + 1) * time.Hour
			had := gpuTime(runs, max(0, first-window), s.now)
			actions, err := s.d.Decide(t.Context(), s.now)
			if err != nil {
				t.Fatal(err)
			}
			for _, a := range actions {
				l.log = append(l.log, entry{at: s.now, ask: a})
				starts++
				runs, _ := l.recount()
				by := runs[a.Run].user
				jobs, gpus := l.elsewhere(by)
				memory := map[string]profile.Bytes{}
				for _, r := range runs {
					if r.upTo >= 0 {
						continue
					}
					if r.user == by {
						jobs, gpus = jobs+1, gpus+len(r.gpus)
					}
					for _, g := range r.gpus {
						memory[g] += r.reserved
					}
				}
				lim := limits[by]
				if jobs > lim.Jobs.Or(jobs) || gpus > lim.GPUs.Or(gpus) {
					t.Fatalf("seed %d: %s starts, and %s has %d jobs on %d GPUs of %+v", seed, a.Job, by, jobs, gpus, lim)
				}
				if q, set := lim.Quota.Get(); set && had[by] >= q.Seconds() {
					t.Fatalf("seed %d: %s starts, and %s had %.0f s of %v", seed, a.Job, by, had[by], lim.Quota)
				}
				for g, m := range memory {
					if m > offer {
						t.Fatalf("seed %d: %s starts, and %s promises %v of %v", seed, a.Job, g, m, offer)
					}
				}
				if rng.IntN(9) == 0 {
					tell(dispatch.Refused{Job: a.Job, Run: a.Run, Why: "no"})
				} else {
					tell(dispatch.Started{Job: a.Job, Run: a.Run})
				}
			}
			runs, _ = l.recount()
			all := gpuTime(runs, 0, s.now)
			for name, a := range s.d.Accounts() {
				if math.Abs(a.GPU.Seconds()-all[name]) > 1e-3 {
					t.Fatalf("seed %d, %v: %s had %v, and the log says %.3f s", seed, s.now, name, a.GPU, all[name])
				}
				if q := limits[name].Quota.Or(0); q > 0 && had[name] >= q.Seconds() {
					held++
				}
			}
		}
		if starts < 20 || held == 0 {
			t.Errorf("seed %d: %d starts, %d looks at a quota that was spent: this says little", seed, starts, held)
		}
	}
}
