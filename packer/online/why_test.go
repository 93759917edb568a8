package online_test

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"example.com/colloc/packer"
	"example.com/colloc/packer/online"
	"example.com/colloc/profile"
)

// why asks why a task waits.
func why(t *testing.T, s *online.Scheduler, id string) packer.Reason {
	t.Helper()
	r, err := s.Why(id)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// TestWhy: each reason, with what it names, and what it says to people.
func TestWhy(t *testing.T) {
	const gib = profile.GiB
	greedy := online.SchedulerOptions{Budget: profile.Some(0)}
	change := func(j online.Job, f func(*online.Job)) online.Job { f(&j); return j }
	wide := func(id string, n int) online.Job {
		return change(job(id, 2, 1, time.Hour), func(j *online.Job) { j.GPUs = n })
	}
	a, x := job("a", 0, 30, time.Hour), job("x", 0, 1, time.Hour)
	for name, tt := range map[string]struct {
		gpus  int
		o     online.SchedulerOptions
		first []online.Job // that are decided before
		x     online.Job
		down  []int
		early bool // before the next decision
		want  packer.Reason
		text  string
	}{
		"no GPU": {want: packer.Reason{Code: packer.NoGPU, GPUs: 1}, x: x, text: "there is no GPU"},
		"too large": {
			gpus: 1, x: change(x, func(j *online.Job) { j.Memory = 40 * gib }),
			want: packer.Reason{Code: packer.TooLarge, Largest: 36 * gib, Short: 4 * gib}, text: "needs 40 GiB and the largest GPU offers 36 GiB",
		},
		"label": {
			gpus: 1, x: change(x, func(j *online.Job) { j.On = []string{"A100"} }),
			want: packer.Reason{Code: packer.WrongGPU}, text: "no GPU carries all the labels",
		},
		"speed alone": {
			gpus: 1, x: change(job("slug", 0, 1, 0), func(j *online.Job) { j.MinSpeed = 0.5 }),
			want: packer.Reason{Code: packer.SpeedLimit, Slow: "slug", Speed: 0.25, Limit: 0.5}, text: "even alone it would run at speed 0.25",
		},
		"wide":      {gpus: 2, x: wide("x", 3), want: packer.Reason{Code: packer.TooFewGPUs, GPUs: 1}, text: "1 more would run it"},
		"down":      {gpus: 2, down: []int{0, 1}, x: x, want: packer.Reason{Code: packer.GPUsDown, GPUs: 1}, text: "1 more GPU in service would do"},
		"gang down": {gpus: 2, down: []int{1}, x: wide("x", 2), want: packer.Reason{Code: packer.GPUsDown, GPUs: 1}},
		"memory": {
			gpus: 1, first: []online.Job{a}, x: change(x, func(j *online.Job) { j.Memory = 10 * gib }),
			want: packer.Reason{Code: packer.GPUsTaken, Sharing: packer.MemoryLimit, Beside: []string{"a"}, Short: 4 * gib, GPUs: 1}, text: "beside a it would be 4 GiB short of memory",
		},
		"alone": {
			gpus: 1, first: []online.Job{a}, x: change(x, func(j *online.Job) { j.Alone = true }),
			want: packer.Reason{Code: packer.GPUsTaken, Sharing: packer.MustBeAlone, Beside: []string{"a"}, GPUs: 1}, text: "it must not share",
		},
		"another is alone": {
			gpus: 1, first: []online.Job{change(a, func(j *online.Job) { j.Alone = true })}, x: x,
			want: packer.Reason{Code: packer.GPUsTaken, Sharing: packer.MustBeAlone, Partner: "a", Beside: []string{"a"}, GPUs: 1}, text: "a must not share",
		},
		"labels": {
			gpus: 1, first: []online.Job{a}, x: change(x, func(j *online.Job) { j.Avoid = []string{"0"} }),
			want: packer.Reason{Code: packer.GPUsTaken, Sharing: packer.Incompatible, Partner: "a", Beside: []string{"a"}, GPUs: 1}, text: "do not accept each other's labels",
		},
		"slows another": {
			gpus: 1, first: []online.Job{change(a, func(j *online.Job) { j.MinSpeed = 0.9 })}, x: job("x", 0.25, 1, time.Hour),
			want: packer.Reason{Code: packer.GPUsTaken, Sharing: packer.SpeedLimit, Partner: "a", Beside: []string{"a"}, Slow: "a", Speed: 0.8, Limit: 0.9, GPUs: 1},
			text: "the speed of a would be 0.8, below its limit 0.9",
		},
		"gain": {
			gpus: 1, first: []online.Job{job("a", 2, 1, time.Hour)}, x: x,
			want: packer.Reason{Code: packer.GPUsTaken, Sharing: packer.NoGain, Beside: []string{"a"}, GPUs: 1}, text: "beside a it would add too little",
		},
		"full": {
			gpus: 1, first: []online.Job{job("a", 0, 1, time.Hour), job("b", 0, 1, time.Hour), job("c", 0, 1, time.Hour), job("d", 0, 1, time.Hour)}, x: x,
			want: packer.Reason{Code: packer.GPUsTaken, Sharing: packer.SetFull, Beside: []string{"a", "b", "c", "d"}, GPUs: 1}, text: "there is no place for one more",
		},
		"seats": {
			gpus: 3, first: []online.Job{job("a", 2, 1, time.Hour)}, x: wide("x", 3),
			want: packer.Reason{Code: packer.GPUsTaken, Sharing: packer.NoGain, Beside: []string{"a"}, GPUs: 1, Free: 2}, text: "2 of the 3 GPUs that it needs at once would take it now",
		},
		"by choice": { // a and x do 1.02 together; a share of 0.05 is the least without look-ahead
			gpus: 1, o: greedy, first: []online.Job{job("a", 0.96/1.02/2, 1, time.Hour)}, x: job("x", 0.96/1.02/2, 1, time.Hour),
			want: packer.Reason{Code: packer.ByChoice, Sharing: packer.NoGain, Beside: []string{"a"}, Rule: "short tasks first, at most 4 on a GPU, sharing from 5 % of what a task does alone"},
			text: "waits for a better place: it could start, but beside a it would add too little (short tasks first",
		},
		"undecided": {gpus: 1, x: x, early: true, want: packer.Reason{Code: packer.Undecided}, text: "waits for the next decision"},
		"runs":      {gpus: 1, x: x, want: packer.Reason{Placed: true}, text: "x runs."},
	} {
		t.Run(name, func(t *testing.T) {
			s, err := online.NewScheduler(cards(tt.gpus), slugs{}, packer.Limits{MaxSet: 4}, &tt.o)
			if err != nil {
				t.Fatal(err)
			}
			submit(t, s, tt.first...)
			decided(t, s, 0)
			if err := s.Fail(tt.down...); err != nil {
				t.Fatal(err)
			}
			submit(t, s, tt.x)
			if !tt.early {
				decided(t, s, 0)
			}
			got := why(t, s, tt.x.ID)
			if !strings.Contains(got.String(), tt.text) || !strings.HasPrefix(got.String(), tt.x.ID) {
				t.Errorf("%q does not say %q", got, tt.text)
			}
			tt.want.ID, tt.want.Memory = tt.x.ID, tt.x.Memory
			if got.Code != packer.TooLarge {
				got.Largest = 0
			}
			if got.Speed = float64(int(got.Speed*1000+0.5)) / 1000; !reflect.DeepEqual(got, tt.want) {
				t.Errorf("got  %+v\nwant %+v", got, tt.want)
			}
		})
	}
}

// slugs is pressing, in which a slug runs at a quarter of the speed of others.
type slugs struct{ pressing }

func (m slugs) Speeds(set []*packer.Task, gpu *packer.GPU, mech profile.Mechanism, dst []float64) error {
	err := m.pressing.Speeds(set, gpu, mech, dst)
	for i, t := range set {
		if t.ID == "slug" {
			dst[i] /= 4
		}
	}
	return err
}

// TestWhyKept: once many have passed a gang, those that come wait for it, and it waits for
// seats.
func TestWhyKept(t *testing.T) {
	s := scheduler(t, 2, &online.SchedulerOptions{Budget: profile.Some(0)})
	submit(t, s, job("t0", 2, 1, 2*time.Minute))
	decided(t, s, 0)
	gang := job("gang", 2, 1, time.Minute)
	gang.GPUs = 2
	submit(t, s, gang)
	last := "t0"
	for i := 1; i < 100; i++ {
		id := fmt.Sprint("t", i)
		submit(t, s, job(id, 2, 1, 2*time.Minute))
		if decided(t, s, time.Duration(i)*time.Minute) == "" {
			r := why(t, s, id)
			if r.Code != packer.Kept || r.Partner != "gang" || !strings.Contains(r.String(), "kept for gang") {
				t.Errorf("%+v: %s", r, r)
			}
			if r := why(t, s, "gang"); r.Code != packer.GPUsTaken || r.Free != 1 || r.GPUs != 1 {
				t.Errorf("gang: %+v: %s", r, r)
			}
			return
		}
		if err := s.Finish(last); err != nil {
			t.Fatal(err)
		}
		last = id
	}
	t.Error("100 tasks passed a gang")
}

// TestWhyErrors: tasks that are not there, a scheduler that nobody made, a model that fails.
func TestWhyErrors(t *testing.T) {
	if _, err := scheduler(t, 1, nil).Why("x"); !errors.Is(err, online.ErrUnknown) {
		t.Errorf("got %v", err)
	}
	if _, err := (&online.Scheduler{}).Why("x"); err == nil {
		t.Error("a zero Scheduler says why")
	}
	s, err := online.NewScheduler(cards(1), pressing{fails: "x"}, packer.Limits{}, nil)
	if err != nil {
		t.Fatal(err)
	}
	submit(t, s, job("x", 0, 1, time.Hour))
	for range 2 {
		if _, err := s.Why("x"); err == nil || !strings.Contains(err.Error(), "no idea") {
			t.Errorf("got %v", err)
		}
	}
	submit(t, s, job("a", 0, 1, time.Hour))
	if _, err := s.Decide(t.Context(), 0); err == nil {
		t.Error("the model does not fail")
	}
	if got := why(t, s, "a"); !got.Placed {
		t.Errorf("got %+v", got)
	}
}

// TestWhyTwin: on random days, Why says that a task has no place where a slow twin finds
// none, and that it waits by choice where it finds one; it names who runs there and what is
// missing; and asking changes nothing.
func TestWhyTwin(t *testing.T) {
	codes := map[packer.ReasonCode]int{}
	for seed := range uint64(12) {
		if asked, not := whyDay(t, seed, codes), whyDay(t, seed, nil); asked != not {
			t.Fatalf("seed %d: %s\nwithout a question %s", seed, asked, not)
		}
	}
	for _, code := range []packer.ReasonCode{packer.GPUsTaken, packer.ByChoice, packer.GPUsDown} {
		if codes[code] < 5 {
			t.Errorf("%v was said %d times", code, codes[code])
		}
	}
}

// whyDay plays a day of single tasks, and asks about each that waits if it is to count.
func whyDay(t *testing.T, seed uint64, codes map[packer.ReasonCode]int) string {
	t.Helper()
	r := rand.New(rand.NewPCG(seed, 7))
	s := scheduler(t, 3, &online.SchedulerOptions{Budget: profile.Some(int(seed%3) * 300)})
	var jobs []online.Job
	var log strings.Builder
	on := map[string]int{}
	for step := range 30 {
		switch r.IntN(6) {
		case 0:
			if len(on) > 0 {
				k := slices.IndexFunc(jobs, func(j online.Job) bool { _, runs := on[j.ID]; return runs })
				if err := s.Finish(jobs[k].ID); err != nil {
					t.Fatal(err)
				}
				delete(on, jobs[k].ID)
				jobs = slices.Delete(jobs, k, k+1)
			}
		case 1:
			clear(on)
			err := s.Fail(0, 1, 2)
			for g := range 3 {
				if step%12 >= 6 {
					err = errors.Join(err, s.Restore(g))
				}
			}
			if err != nil {
				t.Fatal(err)
			}
		default:
			j := job(fmt.Sprint("t", step), float64(r.IntN(7))/10, profile.Bytes(1+r.IntN(25)), time.Duration(1+r.IntN(100))*time.Minute)
			j.Alone = r.IntN(8) == 0
			submit(t, s, j)
			jobs = append(jobs, j)
		}
		ds, err := s.Decide(t.Context(), time.Duration(step)*time.Minute)
		if err != nil {
			t.Fatal(err)
		}
		for _, d := range ds {
			on[d.Task] = d.GPU
		}
		fmt.Fprintln(&log, ds)
		for _, j := range jobs {
			if _, runs := on[j.ID]; codes != nil && !runs {
				reason := why(t, s, j.ID)
				codes[reason.Code]++
				whyTwin(t, &reason, j, jobs, on)
			}
		}
	}
	return log.String()
}

// whyTwin holds a reason against what a look at each GPU shows.
func whyTwin(t *testing.T, reason *packer.Reason, j online.Job, jobs []online.Job, on map[string]int) {
	t.Helper()
	place := false
	for g := range 3 {
		set, names, used, alone := []*packer.Task{}, []string{}, profile.Bytes(0), j.Alone
		for i := range jobs {
			if at, runs := on[jobs[i].ID]; runs && at == g {
				set, names = append(set, &jobs[i].Task), append(names, jobs[i].ID)
				used, alone = used+jobs[i].Memory, alone || jobs[i].Alone
			}
		}
		gain := total(t, append(slices.Clone(set), &j.Task)) - total(t, set)
		place = place || len(set) == 0 || len(set) < 4 && !alone && used+j.Memory <= 36*profile.GiB && gain > 1e-4
		if reason.Sharing == packer.MemoryLimit && slices.Equal(names, reason.Beside) && used+j.Memory-36*profile.GiB != reason.Short {
			t.Errorf("%s: %v are missing on GPU %d", reason, used+j.Memory-36*profile.GiB, g)
		}
	}
	switch reason.Code {
	case packer.GPUsTaken:
		if place {
			t.Errorf("there is a place: %s %v", reason, on)
		}
	case packer.ByChoice:
		if !place {
			t.Errorf("there is no place: %s", reason)
		}
	case packer.GPUsDown, packer.Undecided:
	default:
		t.Errorf("%s: %v", reason, reason.Code)
	}
}

// total is what a set does.
func total(t *testing.T, set []*packer.Task) float64 {
	t.Helper()
	speeds, sum := make([]float64, len(set)), 0.0
	if err := (pressing{}).Speeds(set, nil, profile.TimeSlice, speeds); err != nil {
		t.Fatal(err)
	}
	for _, x := range speeds {
		sum += x
	}
	return sum
}
