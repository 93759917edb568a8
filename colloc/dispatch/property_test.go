package dispatch_test

import (
	"bytes"
	"context"
	"errors"
	"flag"
	"fmt"
	"math"
	"math/rand/v2"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"example.com/colloc/colloc"
	"example.com/colloc/colloc/dispatch"
	"example.com/colloc/internal/race"
	"example.com/colloc/packer/online"
	"example.com/colloc/profile"
)

var events = flag.Int("dispatch.events", max(150, race.Fewer(1500)), "how many events the property tests draw")

var seed = flag.Uint64("dispatch.seed", 1, "from which the property tests draw")

// planner is the Mind of the tests.
func planner(tb testing.TB) *colloc.Planner {
	tb.Helper()
	p, err := colloc.New(colloc.Config{MaxSet: 4})
	if err != nil {
		tb.Fatal(err)
	}
	return p
}

// stream draws events, many of which make no sense.
type stream struct {
	rng  *rand.Rand
	now  time.Duration
	runs map[string][]uint64 // that were asked for, by job
	last uint64
	held string            // of late
	late []dispatch.Action // the last starts
	stop dispatch.Action   // the last one
	// refuses says that some jobs are refused again and again.
	refuses bool
}

func (s *stream) job() string { return fmt.Sprintf("job%d", s.rng.IntN(40)) }
func (s *stream) gpu() string { return fmt.Sprintf("gpu%d", s.rng.IntN(6)) }

// limit is a number below n, once in four times 0, or missing.
func (s *stream) limit(n int) profile.Opt[int] {
	switch s.rng.IntN(8) {
	case 0:
		return profile.Some(0)
	case 1, 2:
		return profile.Opt[int]{}
	}
	return profile.Some(s.rng.IntN(n))
}

// run is a job with one of its runs, or any.
func (s *stream) run() (string, uint64) {
	if n := len(s.late); n > 0 && s.rng.IntN(2) == 0 {
		a := s.late[max(0, n-1-s.rng.IntN(6))]
		return a.Job, a.Run
	}
	id := s.job()
	if runs := s.runs[id]; len(runs) > 0 && s.rng.IntN(8) > 0 {
		return id, runs[len(runs)-1]
	}
	return id, uint64(s.rng.IntN(int(s.last) + 2))
}

func (s *stream) draw() dispatch.Event {
	r := s.rng
	id, n := s.run()
	switch r.IntN(28) {
	case 0, 1, 2, 3:
		j := dispatch.Job{User: []string{"ann", "bob", ""}[r.IntN(3)], Task: colloc.Task{ID: s.job(), Reserved: profile.Bytes(r.IntN(30)) * profile.GiB, GPUs: max(1, r.IntN(12)-9), Priority: r.IntN(4) / 3}}
		if r.IntN(3) == 0 {
			j.Restart = profile.Some(time.Duration(r.IntN(3)-1) * time.Minute / 2)
		}
		if r.IntN(3) == 0 {
			j.Left = profile.Some(time.Duration(r.IntN(200)-5) * time.Minute)
		}
		if r.IntN(4) == 0 {
			j.Kind = "k"
		}
		if r.IntN(4) == 0 {
			j.After = []dispatch.Dependency{{Job: s.job(), Any: r.IntN(2) == 0}}
		}
		if r.IntN(9) == 0 {
			return dispatch.Adopted{Job: j, Run: s.last + 7, GPUs: []string{s.gpu()}}
		}
		return dispatch.Submitted{Job: j}
	case 4, 5, 6:
		if s.refuses && strings.HasPrefix(id, "job3") {
			return dispatch.Refused{Job: id, Run: n, Why: "no"}
		}
		return dispatch.Started{Job: id, Run: n}
	case 27:
		if r.IntN(2) == 0 {
			return dispatch.Stays{Job: id, Run: n}
		}
		return dispatch.Stays{Job: s.stop.Job, Run: s.stop.Run}
	case 7:
		return dispatch.Refused{Job: id, Run: n, Why: "no"}
	case 8, 9, 10, 11:
		return dispatch.Ended{Job: id, Run: n, How: dispatch.How(r.IntN(7)), Peak: profile.Some(profile.Bytes(r.IntN(40)-1) * profile.GiB)}
	case 12:
		s.held = id
		return dispatch.Held{Job: id}
	case 13:
		return dispatch.Released{Job: s.held}
	case 14:
		return dispatch.Withdrawn{Job: id}
	case 15, 24:
		switch r.IntN(8) {
		case 0:
			l := dispatch.Limits{Weight: float64(r.IntN(5) - 1), Jobs: s.limit(9), GPUs: s.limit(9)}
			if q, ok := s.limit(3).Get(); ok {
				l.Quota = profile.Some(time.Duration(q) * time.Hour)
			}
			return dispatch.Allowed{User: []string{"ann", "bob", ""}[r.IntN(3)], Limits: l}
		case 5:
			return dispatch.Elsewhere{User: []string{"ann", "bob", ""}[r.IntN(3)], Jobs: r.IntN(4) - 1, GPUs: r.IntN(5)}
		case 1:
			return dispatch.Accounted{User: "ann", Used: dispatch.Used{Recent: time.Duration(r.IntN(9)-1) * time.Minute, Hours: map[int64]time.Duration{0: time.Minute}}}
		case 2, 3, 4:
			at := s.now + time.Duration(r.IntN(9))*10*time.Minute
			return dispatch.Reserved{GPU: s.gpu(), For: []dispatch.Reservation{{User: "bob", From: at, Until: at + time.Duration(r.IntN(6))*time.Hour/2}}}
		}
		if r.IntN(2) == 0 {
			return dispatch.Barred{Job: id, GPUs: []string{s.gpu(), s.gpu()}[:r.IntN(3)]}
		}
		if r.IntN(4) > 0 {
			return dispatch.Described{Job: dispatch.Job{User: []string{"ann", "bob", ""}[r.IntN(3)], Task: colloc.Task{ID: id, Reserved: profile.Bytes(r.IntN(9)) * profile.GiB, MaxSlowdown: []float64{0, 0, 1.1, 3}[r.IntN(4)]}, Fixed: r.IntN(2) == 0}}
		}
		return dispatch.Learned{}
	case 16, 25, 26:
		if r.IntN(2) == 0 {
			return dispatch.Seen{Job: id, Run: n, Peak: profile.Bytes(r.IntN(20)-1) * profile.GiB}
		}
		x := profile.Some(time.Duration(r.IntN(100)-2) * time.Minute)
		return []dispatch.Event{dispatch.Progress{Job: id, Run: n, Left: x}, dispatch.Progress{Job: id, Run: n, Ends: x}}[r.IntN(2)]
	case 17, 18, 19:
		model, _ := profile.LookupGPU([]string{"A100-SXM4-40GB", "Tesla V100-SXM2-32GB"}[r.IntN(2)])
		g := colloc.GPU{ID: s.gpu(), Model: model}
		if r.IntN(4) == 0 {
			return dispatch.GPUChanged{GPU: g}
		}
		return dispatch.GPUAdded{GPU: g, Machine: r.IntN(4) - 1}
	case 20:
		return dispatch.GPUFailed{GPU: s.gpu()}
	case 21:
		return dispatch.GPURestored{GPU: s.gpu()}
	case 22:
		return []dispatch.Event{dispatch.GPURemoved{GPU: s.gpu()}, dispatch.Drained{GPU: s.gpu(), Off: r.IntN(2) == 0}}[r.IntN(2)]
	default:
		return dispatch.Foreign{GPU: s.gpu(), Memory: profile.Bytes(r.IntN(20)-1) * profile.GiB}
	}
}

// hear notes the runs that were asked for.
func (s *stream) hear(actions []dispatch.Action) {
	for _, a := range actions {
		if a.Verb == dispatch.Start {
			s.runs[a.Job], s.last = append(s.runs[a.Job], a.Run), a.Run
			s.late = append(s.late, a)
		}
		if a.Verb == dispatch.Stop {
			s.stop = a
		}
	}
}

func state(t *testing.T, d *dispatch.Dispatcher) []byte {
	t.Helper()
	b, err := d.State()
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// TestAnyEvents: whatever comes, a Dispatcher that is restored from its state before each step says
// the same as one that lives on, as does one that is told the whole log anew; what is an
// error changes nothing; and what is kept count of is what counting again says.
func TestAnyEvents(t *testing.T) {
	taken := map[reflect.Type]int{}
	for name, o := range map[string]dispatch.Options{
		"plain":   {HalfLife: time.Hour, Window: 3 * time.Hour, Scheduler: online.SchedulerOptions{Budget: profile.Some(0)}},
		"ahead":   {HalfLife: time.Hour, Window: 3 * time.Hour, Scheduler: online.SchedulerOptions{Budget: profile.Some(60)}},
		"at once": {AtOnce: true, Scheduler: online.SchedulerOptions{Budget: profile.Some(0)}},
	} {
		t.Run(name, func(t *testing.T) { anyEvents(t, &o, taken) })
	}
	for _, e := range []dispatch.Event{
		dispatch.Submitted{},
		dispatch.Adopted{},
		dispatch.Held{},
		dispatch.Released{},
		dispatch.Withdrawn{},
		dispatch.Described{},
		dispatch.Barred{},
		dispatch.Started{},
		dispatch.Refused{},
		dispatch.Stays{},
		dispatch.Ended{},
		dispatch.Seen{},
		dispatch.Learned{},
		dispatch.Progress{},
		dispatch.GPUAdded{},
		dispatch.GPUChanged{},
		dispatch.GPURemoved{},
		dispatch.GPUFailed{},
		dispatch.GPURestored{},
		dispatch.Drained{},
		dispatch.Foreign{},
		dispatch.Allowed{},
		dispatch.Elsewhere{},
		dispatch.Accounted{},
		dispatch.Reserved{},
	} {
		if taken[reflect.TypeOf(e)] == 0 && !race.Enabled { // where fewer are drawn
			t.Errorf("no %T was ever taken in", e)
		}
	}
	if n := taken[reflect.TypeFor[dispatch.Code]()]; n < 10 && !race.Enabled {
		t.Errorf("%d reasons lift by themselves", n)
	}
}

func anyEvents(t *testing.T, o *dispatch.Options, taken map[reflect.Type]int) {
	t.Helper()
	p := planner(t)
	d, err := dispatch.New(p, o)
	if err != nil {
		t.Fatal(err)
	}
	type step struct {
		at     time.Duration
		events []dispatch.Event
	}
	var log []step
	s := &stream{rng: rand.New(rand.NewPCG(*seed, 2)), runs: map[string][]uint64{}, refuses: true}
	ctx := context.Background()
	for n := 0; n < *events; {
		s.now += time.Duration(s.rng.IntN(60)) * time.Second
		batch := []dispatch.Event{s.draw()}
		for s.rng.IntN(5) == 0 {
			batch = append(batch, s.draw())
		}
		n += len(batch)
		d.Expect() // which must not matter
		_, _ = d.Why("job1")
		before := state(t, d)
		twin, err := dispatch.Restore(p, o, before)
		if err != nil {
			t.Fatalf("%v\n%.500s", err, before)
		}
		if after := state(t, twin); !bytes.Equal(before, after) {
			t.Fatalf("restored:\n%s\nwant\n%s", after, before)
		}
		err = d.Tell(s.now, batch...)
		if again := twin.Tell(s.now, batch...); fmt.Sprint(again) != fmt.Sprint(err) {
			t.Fatalf("%v: %v, and restored %v", batch, err, again)
		}
		if fault := (*dispatch.EventError)(nil); errors.As(err, &fault) {
			if after := state(t, d); !bytes.Equal(before, after) {
				t.Fatalf("%v: %v changed\n%s\nto\n%s", batch, err, before, after)
			}
			continue
		} else if err != nil {
			t.Fatalf("%v: %v", batch, err)
		}
		for _, e := range batch {
			taken[reflect.TypeOf(e)]++
		}
		log = append(log, step{s.now, batch})
		actions, err := d.Decide(ctx, s.now)
		same, err2 := twin.Decide(ctx, s.now)
		if !reflect.DeepEqual(actions, same) || err != nil || err2 != nil {
			for _, x := range slices.Concat(actions, same) {
				a, _ := d.Why(x.Job)
				b, _ := twin.Why(x.Job)
				t.Logf("%s: %v; restored: %v", x.Job, a.String(), b.String())
			}
			t.Fatalf("%v: %v: %v (%v), and restored %v (%v)", s.now, batch, actions, err, same, err2)
		}
		s.hear(actions)
		if at, ok := d.Next(); ok && at <= s.now {
			t.Fatalf("after %v: it decided at %v, and has something to say at %v", batch, s.now, at)
		}
		if err := d.Sound(); err != nil {
			t.Fatalf("after %v: %v", batch, err)
		}
		if s.rng.IntN(4) == 0 {
			for _, code := range untold(t, p, o, d, s.now) {
				taken[reflect.TypeOf(code)]++
			}
		}
	}
	again, err := dispatch.New(p, o)
	if err != nil {
		t.Fatal(err)
	}
	for _, l := range log {
		if err := again.Tell(l.at, l.events...); err != nil {
			t.Fatal(err)
		}
		if _, err := again.Decide(ctx, l.at); err != nil {
			t.Fatal(err)
		}
	}
	if a, b := state(t, d), state(t, again); !bytes.Equal(a, b) {
		t.Fatalf("the log told anew comes to\n%s\nwant\n%s", b, a)
	}
}

// untold asks what happens to a Dispatcher that is told nothing more: before the moment that Next names Decide says
// nothing, and a reason that lifts by itself then stands until then, and no longer. It returns those.
func untold(t *testing.T, p *colloc.Planner, o *dispatch.Options, d *dispatch.Dispatcher, now time.Duration) (lift []dispatch.Code) {
	t.Helper()
	data := state(t, d)
	at := func(when time.Duration) (*dispatch.Dispatcher, []dispatch.Action) {
		t.Helper()
		twin, err := dispatch.Restore(p, o, data)
		if err != nil {
			t.Fatal(err)
		}
		actions, err := twin.Decide(t.Context(), when)
		if err != nil {
			t.Fatal(err)
		}
		return twin, actions
	}
	next, ok := d.Next()
	if !ok || next > now+48*time.Hour {
		next = now + 48*time.Hour
	}
	before, actions := at(next - 1)
	if len(actions) > 0 {
		t.Fatalf("it decided at %v, and had nothing to say before %v; it says %v", now, next, actions)
	}
	after, _ := at(next)
	accounts := d.Accounts()
	for n := range 40 {
		r, err := d.Why(fmt.Sprintf("job%d", n))
		until, lifts := r.Until.Get()
		if err != nil || !lifts || r.Code == dispatch.OverQuota && accounts[r.Name].Running > 0 { // who spends more meanwhile
			continue
		}
		if until <= now {
			t.Fatalf("at %v %s waits until %v: %s", now, r.Job, until, r.String())
		}
		same, err := before.Why(r.Job)
		if same.Code == dispatch.OverQuota && r.Code != dispatch.OverQuota { // spent meanwhile
			continue
		}
		if err != nil || same.Code != r.Code || same.Until != r.Until {
			t.Fatalf("%s waits until %v (%s), and at %v %s, %v", r.Job, until, r.String(), next-1, same.String(), err)
		}
		if until != next { // what happens before may give another reason
			continue
		}
		if other, err := after.Why(r.Job); err == nil && other.Code == r.Code && other.Until == r.Until {
			t.Fatalf("%s waits until %v (%s), and then still", r.Job, until, r.String())
		}
		lift = append(lift, r.Code)
	}
	return lift
}

// TestTime: time does not run backwards, in neither call, and is not negative.
func TestTime(t *testing.T) {
	d, err := dispatch.New(planner(t), nil)
	if err != nil {
		t.Fatal(err)
	}
	ctx := context.Background()
	if _, err := d.Decide(ctx, time.Hour); err != nil {
		t.Fatal(err)
	}
	for _, at := range []time.Duration{-1, time.Minute, math.MinInt64} {
		if err := d.Tell(at); !errors.Is(err, dispatch.ErrTime) {
			t.Errorf("Tell at %v: %v", at, err)
		}
		if _, err := d.Decide(ctx, at); !errors.Is(err, dispatch.ErrTime) {
			t.Errorf("Decide at %v: %v", at, err)
		}
	}
}

// TestNumbersThatAreNone: NaN, infinities and what is out of range are typed errors.
func TestNumbersThatAreNone(t *testing.T) {
	d, err := dispatch.New(planner(t), nil)
	if err != nil {
		t.Fatal(err)
	}
	before := state(t, d)
	task := func(change func(*colloc.Task)) dispatch.Event {
		j := dispatch.Job{Task: colloc.Task{ID: "a", Reserved: profile.GiB}}
		change(&j.Task)
		return dispatch.Submitted{Job: j}
	}
	for _, e := range []dispatch.Event{
		task(func(t *colloc.Task) { t.Weight = math.NaN() }), task(func(t *colloc.Task) { t.Weight = math.Inf(1) }),
		task(func(t *colloc.Task) { t.MaxSlowdown = math.NaN() }), task(func(t *colloc.Task) { t.Reserved = -1 }),
		task(func(t *colloc.Task) { t.ID = "" }), task(func(t *colloc.Task) { t.GPUs = -2 }),
		dispatch.GPUAdded{GPU: colloc.GPU{ID: "g", Memory: -1}},
		dispatch.GPUAdded{GPU: colloc.GPU{ID: "g", Memory: profile.GiB}, Machine: -1},
		dispatch.Submitted{Job: dispatch.Job{Task: colloc.Task{ID: "a", Reserved: 1}, After: []dispatch.Dependency{{Job: "a"}}}},
		nil,
	} {
		if err := d.Tell(0, e); !errors.Is(err, dispatch.ErrInvalid) {
			t.Errorf("%+v: %v, want ErrInvalid", e, err)
		}
	}
	if !bytes.Equal(before, state(t, d)) {
		t.Error("they changed something")
	}
	// +Inf is a limit that is none, and survives.
	if err := d.Tell(0, task(func(t *colloc.Task) { t.MaxSlowdown = math.Inf(1) })); err != nil {
		t.Fatal(err)
	}
	if again, err := dispatch.Restore(planner(t), nil, state(t, d)); err != nil || !slices.Equal(state(t, d), state(t, again)) {
		t.Error(err, "a job without limit does not survive")
	}
}

// FuzzRestore: what is no state is an error and no panic, and what is one lives.
func FuzzRestore(f *testing.F) {
	p := planner(f)
	f.Add([]byte(`{"version":1,"jobs":[],"gpus":[],"runs":0}`))
	f.Add([]byte(`{"version":1,"now_ns":5,"jobs":[{"task":{"ID":"a","Reserved":5},"runs":[{"number":1,"gpus":["g"],"phase":3}]}],"gpus":[{"gpu":{"ID":"g","Memory":99999999}},null],"runs":3}`))
	f.Add([]byte(`{"version":1,"jobs":[{"task":{"ID":"a","Reserved":5},"over":2,"runs":[{"number":1,"gpus":["g"],"phase":4}]}],"gpus":[],"runs":3,"leaves":[1]}`))
	f.Fuzz(func(t *testing.T, data []byte) {
		d, err := dispatch.Restore(p, nil, data)
		if err != nil {
			if !errors.Is(err, dispatch.ErrState) {
				t.Fatalf("%v is no ErrState", err)
			}
			return
		}
		once, err := d.State()
		if err != nil {
			t.Fatal(err)
		}
		again, err := dispatch.Restore(p, nil, once)
		if err != nil {
			t.Fatalf("%v\n%s", err, once)
		}
		if twice := state(t, again); !bytes.Equal(once, twice) {
			t.Fatalf("%s\n%s", once, twice)
		}
		if _, err := d.Decide(t.Context(), math.MaxInt64); err != nil {
			t.Fatal(err)
		}
	})
}
