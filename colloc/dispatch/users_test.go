package dispatch_test

import (
	"fmt"
	"math"
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

// site is a body of GPUs that each run one job, as they are asked to.
type site struct {
	tb  testing.TB
	d   *dispatch.Dispatcher
	now time.Duration
	on  map[string]uint64 // the runs, by job
}

// newSite has GPUs "gpu0" to "gpuN-1" in one machine.
func newSite(tb testing.TB, gpus int, o dispatch.Options) *site {
	tb.Helper()
	if o.Scheduler.Budget.IsZero() {
		o.Scheduler.Budget = profile.Some(0)
	}
	d, err := dispatch.New(planner(tb), &o)
	if err != nil {
		tb.Fatal(err)
	}
	s := &site{tb: tb, d: d, on: map[string]uint64{}}
	model, _ := profile.LookupGPU("A100-SXM4-40GB")
	for i := range gpus {
		s.tell(dispatch.GPUAdded{GPU: colloc.GPU{ID: fmt.Sprintf("gpu%d", i), Model: model}})
	}
	return s
}

func (s *site) tell(events ...dispatch.Event) {
	s.tb.Helper()
	if err := s.d.Tell(s.now, events...); err != nil {
		s.tb.Fatal(err)
	}
}

// submit tells of a job that shares with nobody; edit may change it.
func (s *site) submit(id, user string, edit ...func(j *dispatch.Job)) {
	s.tb.Helper()
	j := dispatch.Job{Task: colloc.Task{ID: id, Reserved: profile.GiB, Alone: true}, User: user}
	for _, e := range edit {
		e(&j)
	}
	s.tell(dispatch.Submitted{Job: j})
}

// decide starts what it should, and returns it in order.
func (s *site) decide() (started []string) {
	s.tb.Helper()
	actions, err := s.d.Decide(s.tb.Context(), s.now)
	if err != nil {
		s.tb.Fatal(err)
	}
	for _, a := range actions {
		if a.Verb == dispatch.Start {
			s.on[a.Job] = a.Run
			s.tell(dispatch.Started{Job: a.Job, Run: a.Run})
			started = append(started, a.Job)
		}
	}
	return started
}

func (s *site) end(job string) {
	s.tb.Helper()
	s.tell(dispatch.Ended{Job: job, Run: s.on[job], How: dispatch.Done})
}

func (s *site) why(job string) dispatch.Reason {
	s.tb.Helper()
	r, err := s.d.Why(job)
	if err != nil {
		s.tb.Fatal(err)
	}
	return r
}

// TestShares: a GPU that jobs of two users want is theirs by their weights, whatever the lengths of their
// jobs, who came first, and who had all of it before.
func TestShares(t *testing.T) {
	for _, tt := range []struct {
		weight  float64 // of ann; that of bob is 1
		lengths map[string]time.Duration
		before  time.Duration // that bob had alone
		want    float64       // the part of ann
	}{
		{1, map[string]time.Duration{"ann": time.Minute, "bob": time.Minute}, 0, 0.5},
		{3, map[string]time.Duration{"ann": time.Minute, "bob": time.Minute}, 0, 0.75},
		{1, map[string]time.Duration{"ann": time.Minute, "bob": 20 * time.Minute}, 0, 0.5},
		{2, map[string]time.Duration{"ann": 5 * time.Minute, "bob": time.Minute}, 0, 2.0 / 3},
		{1, map[string]time.Duration{"ann": time.Minute, "bob": time.Minute}, 1000 * time.Hour, 0.5},
	} {
		for _, budget := range []int{0, 50} {
			if race.Enabled && (budget == 0 || tt.before == 0) {
				continue // all without the detector
			}
			s := newSite(t, 1, dispatch.Options{HalfLife: 2 * time.Hour, Scheduler: online.SchedulerOptions{Budget: profile.Some(budget)}})
			s.tell(dispatch.Allowed{User: "ann", Limits: dispatch.Limits{Weight: tt.weight}})
			s.submit("before", "bob")
			s.decide()
			s.now += tt.before
			s.end("before")
			next := 0
			for _, user := range []string{"bob", "ann", "bob", "ann"} { // always as many
				next++
				s.submit(fmt.Sprintf("%s%d", user, next), user)
			}
			begin, had := s.now, map[string]time.Duration{}
			for s.now < begin+25*time.Hour {
				id := s.decide()[0]
				user := id[:3]
				s.now += tt.lengths[user]
				s.end(id)
				if s.now > begin+10*time.Hour { // the start makes up for what was before
					had[user] += tt.lengths[user]
				}
				next++
				s.submit(fmt.Sprintf("%s%d", user, next), user)
			}
			if got := had["ann"].Seconds() / (had["ann"] + had["bob"]).Seconds(); math.Abs(got-tt.want) > 0.05 {
				t.Errorf("%+v, budget %d: ann had %.3f, want %.3f", tt, budget, got, tt.want)
			}
		}
	}
}

// TestOrderOfUsers: a higher class goes first, then users take turns, those whose jobs run already
// last; what a user gets in the higher class counts in the lower.
func TestOrderOfUsers(t *testing.T) {
	class := func(p int) func(*dispatch.Job) { return func(j *dispatch.Job) { j.Priority = p } }
	s := newSite(t, 9, dispatch.Options{HalfLife: time.Hour})
	s.submit("first", "ann")
	s.decide()
	for i := range 8 {
		s.tell(dispatch.Drained{GPU: fmt.Sprintf("gpu%d", 1+i)})
	}
	for _, id := range []string{"ann1", "ann2", "ann3", "bob1", "bob2", "cyd1"} {
		s.submit(id, id[:3])
	}
	s.submit("cyd9", "cyd", class(1))
	s.submit("ann0", "ann", class(-1))
	s.decide()
	s.tell(dispatch.Drained{GPU: "gpu1", Off: true})
	got := s.decide()
	if r := s.why("ann1"); r.Code != dispatch.OutOfTurn || r.Ahead != 1 {
		t.Errorf("ann1 waits: %+v", r)
	}
	for i := range 7 {
		s.tell(dispatch.Drained{GPU: fmt.Sprintf("gpu%d", 2+i), Off: true})
	}
	got = append(got, s.decide()...)
	if want := "cyd9 bob1 ann1 bob2 cyd1 ann2 ann3 ann0"; strings.Join(got, " ") != want {
		t.Errorf("order %v, want %v", got, want)
	}
}

// TestLimitsAtOnce: a user gets no more jobs and GPUs at once than the limits say, in one decision too,
// and holds nobody up by that; a limit that is lifted lets them start.
func TestLimitsAtOnce(t *testing.T) {
	for _, budget := range []int{0, 500} {
		s := newSite(t, 6, dispatch.Options{Scheduler: online.SchedulerOptions{Budget: profile.Some(budget)}})
		s.tell(dispatch.Allowed{Limits: dispatch.Limits{GPUs: profile.Some(3)}}, dispatch.Allowed{User: "bob", Limits: dispatch.Limits{Jobs: profile.Some(1), GPUs: profile.Some(4)}})
		wide := func(n int) func(*dispatch.Job) { return func(j *dispatch.Job) { j.GPUs = n } }
		s.submit("ann0", "ann", wide(4))
		s.submit("ann1", "ann", wide(2))
		s.submit("ann2", "ann", wide(2))
		s.submit("ann3", "ann")
		s.submit("bob1", "bob")
		s.submit("bob2", "bob")
		got := s.decide()
		if slices.Sort(got); strings.Join(got, " ") != "ann1 ann3 bob1" {
			t.Errorf("budget %d: %v start", budget, got)
		}
		for _, id := range []string{"ann0", "ann2", "bob2"} {
			if r := s.why(id); r.Code != dispatch.OverLimit || r.Name != id[:3] || r.Limits.GPUs.Or(0)+r.Limits.Jobs.Or(0) < 3 {
				t.Errorf("%s: %+v", id, r)
			}
		}
		if a := s.d.Accounts()["ann"]; a.Running != 2 || a.GPUs != 3 || a.Waiting != 2 || a.Limits.GPUs != profile.Some(3) {
			t.Errorf("ann: %+v", a)
		}
		s.tell(dispatch.Allowed{User: "ann", Limits: dispatch.Limits{GPUs: profile.Some(5)}})
		if got := s.decide(); len(got) != 1 || got[0] != "ann2" {
			t.Errorf("budget %d: %v start with a higher limit", budget, got)
		}
		s.tell(dispatch.Allowed{})
		s.tell(dispatch.Allowed{User: "ann"})
		s.end("ann1")
		s.end("ann2")
		if got := s.decide(); len(got) != 1 || got[0] != "ann0" {
			t.Errorf("budget %d: %v start without a limit", budget, got)
		}
	}
}

// TestElsewhere: what a user runs where nobody looks counts for limits and turns, as long as it is told of;
// a limit of 0 lets nothing start, and a user's own lifts it.
func TestElsewhere(t *testing.T) {
	for _, budget := range []int{0, 500} {
		s := newSite(t, 2, dispatch.Options{HalfLife: time.Hour, Scheduler: online.SchedulerOptions{Budget: profile.Some(budget)}})
		none := profile.Some(0)
		s.tell(dispatch.Allowed{Limits: dispatch.Limits{GPUs: none}}, dispatch.Allowed{User: "ann", Limits: dispatch.Limits{GPUs: profile.Some(4)}})
		s.tell(dispatch.Elsewhere{User: "ann", Jobs: 2, GPUs: 3})
		s.submit("ann1", "ann")
		s.submit("ann2", "ann")
		s.submit("bob1", "bob")
		if got := s.decide(); !slices.Equal(got, []string{"ann1"}) {
			t.Errorf("budget %d: %v start", budget, got)
		}
		if r := s.why("ann2"); r.Code != dispatch.OverLimit || r.Jobs != 3 || r.GPUs != 4 {
			t.Errorf("ann2: %+v", r)
		}
		if r := s.why("bob1"); r.Code != dispatch.OverLimit || r.Limits.GPUs != none {
			t.Errorf("bob1: %+v", r)
		}
		s.tell(dispatch.Allowed{}) // bob, who has nothing, goes first
		if got := s.decide(); !slices.Equal(got, []string{"bob1"}) {
			t.Errorf("budget %d: %v start without a limit for all", budget, got)
		}
		s.end("ann1")
		s.tell(dispatch.Elsewhere{User: "bob", Jobs: 9, GPUs: 99})
		s.submit("bob2", "bob")
		if got := s.decide(); !slices.Equal(got, []string{"ann2"}) {
			t.Errorf("budget %d: %v start where ann has less than bob", budget, got)
		}
		s.tell(dispatch.Allowed{User: "bob", Limits: dispatch.Limits{Quota: profile.Some(time.Duration(0))}})
		s.end("ann2")
		if got := s.decide(); len(got) > 0 {
			t.Errorf("budget %d: %v start with a quota of nothing", budget, got)
		}
		if r := s.why("bob2"); r.Code != dispatch.OverQuota || !r.Until.IsZero() {
			t.Errorf("bob2: %+v", r)
		}
		if at, ok := s.d.Next(); ok {
			t.Errorf("next at %v, though nothing will change by itself", at)
		}
	}
}

// TestQuota: who had all of a quota starts nothing until some of it is longer ago than the window, and
// Next says when; others do.
func TestQuota(t *testing.T) {
	s := newSite(t, 2, dispatch.Options{Window: 24 * time.Hour})
	s.now = 30*time.Minute + 1000*time.Hour
	s.tell(dispatch.Allowed{Limits: dispatch.Limits{Quota: profile.Some(3 * time.Hour)}}, dispatch.Allowed{User: "bob", Limits: dispatch.Limits{Quota: profile.Some(100 * time.Hour)}})
	s.submit("ann1", "ann")
	s.submit("bob1", "bob")
	s.decide()
	s.now += 3*time.Hour - time.Second
	s.end("ann1")
	s.submit("ann2", "ann")
	if got := s.decide(); len(got) != 1 {
		t.Errorf("with a second left %v start", got)
	}
	s.now += time.Second
	s.end("ann2")
	s.end("bob1")
	s.submit("ann3", "ann")
	s.submit("bob2", "bob")
	if got := s.decide(); len(got) != 1 || got[0] != "bob2" {
		t.Errorf("ann has no quota left, and %v start", got)
	}
	again := 1024 * time.Hour // what she had from 1000h30m on in hour 1000 is forgotten then
	if r := s.why("ann3"); r.Code != dispatch.OverQuota || r.Until.Or(0) != again || r.Used.GPU != 3*time.Hour || r.Limits.Quota != profile.Some(3*time.Hour) {
		t.Errorf("%+v", r)
	}
	if next, ok := s.d.Next(); !ok || next != again {
		t.Errorf("next at %v, want %v", next, again)
	}
	s.now = again - 1
	if got := s.decide(); len(got) > 0 {
		t.Errorf("%v start too early", got)
	}
	s.now = again
	if got := s.decide(); len(got) != 1 || got[0] != "ann3" {
		t.Errorf("%v start after the window", got)
	}
	if n := len(s.d.Accounts()["ann"].Hours); n > 24 {
		t.Errorf("%d hours are kept, want those of the window", n)
	}
}

// TestAccounts: who shares a GPU is charged by equal parts, what is long ago counts half, and what was
// kept elsewhere goes on from there.
func TestAccounts(t *testing.T) {
	s := newSite(t, 1, dispatch.Options{HalfLife: time.Hour})
	share := func(j *dispatch.Job) { j.Alone, j.MaxSlowdown = false, math.Inf(1) }
	s.tell(dispatch.Accounted{User: "bob", Used: dispatch.Used{GPU: time.Hour, Recent: time.Minute, Started: 3, Wait: time.Second}})
	s.submit("ann1", "ann", share)
	s.submit("bob1", "bob", share)
	s.now += 10 * time.Second
	if got := s.decide(); len(got) != 2 {
		t.Fatalf("%v start, want both on one GPU", got)
	}
	s.now += 100 * time.Second
	s.end("bob1")
	s.now += 50 * time.Second
	got := s.d.Accounts()
	if a := got["ann"]; a.GPU != 50*time.Second || a.Started != 1 || a.Wait != 10*time.Second || a.Running != 1 {
		t.Errorf("ann: %+v before the clock is told", a)
	}
	s.end("ann1")
	got = s.d.Accounts()
	if a := got["ann"]; a.GPU != 100*time.Second || a.Recent > 100*time.Second || a.Recent < 97*time.Second {
		t.Errorf("ann: %+v", a)
	}
	if b := got["bob"]; b.GPU != time.Hour+50*time.Second || b.Started != 4 || b.Wait != 11*time.Second {
		t.Errorf("bob: %+v", b)
	}
	s.now += time.Hour
	s.tell()
	if now := s.d.Accounts()["ann"]; math.Abs(now.Recent.Seconds()-got["ann"].Recent.Seconds()/2) > 1e-6 || now.GPU != 100*time.Second {
		t.Errorf("after a half-life ann: %+v, was %+v", now, got["ann"])
	}
}

// TestReserved: a GPU that is reserved is for those jobs until the time is over; before it begins nobody
// starts there who is told to take longer.
func TestReserved(t *testing.T) {
	s := newSite(t, 1, dispatch.Options{})
	s.tell(dispatch.Reserved{GPU: "gpu0", For: []dispatch.Reservation{
		{User: "ann", From: time.Hour, Until: 2 * time.Hour},
		{Label: "exam", From: 2 * time.Hour, Until: 3 * time.Hour},
		{From: 3 * time.Hour, Until: 4 * time.Hour},
	}})
	left := func(d time.Duration) func(*dispatch.Job) {
		return func(j *dispatch.Job) { j.Left = profile.Some(d) }
	}
	s.submit("bob1", "bob", left(61*time.Minute))
	if got := s.decide(); len(got) > 0 {
		t.Errorf("%v start and are told to run into the reservation", got)
	}
	if r := s.why("bob1"); r.Code != dispatch.ForOthers || r.Name != "gpu0" || r.Until.Or(0) != 2*time.Hour {
		t.Errorf("%+v", r)
	}
	s.submit("bob2", "bob", left(time.Hour))
	if got := s.decide(); len(got) != 1 || got[0] != "bob2" {
		t.Errorf("%v start before the reservation", got)
	}
	next := func(want time.Duration) {
		t.Helper()
		if at, ok := s.d.Next(); !ok || at != want {
			t.Errorf("next at %v, want %v", at, want)
		}
	}
	next(time.Hour)
	s.now = time.Hour
	s.end("bob2")
	s.submit("ann1", "ann")
	s.submit("bob3", "bob", func(j *dispatch.Job) { j.Labels = []string{"exam"} })
	if got := s.decide(); len(got) != 1 || got[0] != "ann1" {
		t.Errorf("%v start in ann's hour", got)
	}
	s.end("ann1")
	s.submit("ann2", "ann")
	next(2 * time.Hour)
	s.now = 2 * time.Hour
	if got := s.decide(); len(got) != 1 || got[0] != "bob3" {
		t.Errorf("%v start in the hour of exams", got)
	}
	s.end("bob3")
	s.now = 3 * time.Hour
	if got := s.decide(); len(got) > 0 {
		t.Errorf("%v start where nobody should", got)
	}
	s.tell(dispatch.Reserved{GPU: "gpu0"})
	if got := s.decide(); len(got) != 1 || got[0] != "ann2" {
		t.Errorf("%v start once nothing is reserved", got)
	}
}

// TestExpect: jobs on one GPU start and end one after the other, earlier or later if all takes half as
// long or twice; what Progress says of the end is believed; who can never run is missing.
func TestExpect(t *testing.T) {
	s := newSite(t, 1, dispatch.Options{})
	hour := func(j *dispatch.Job) { j.Left = profile.Some(time.Hour) }
	s.submit("a", "ann", hour)
	s.submit("b", "ann", hour)
	s.submit("c", "ann", func(j *dispatch.Job) { j.Reserved = 90 * profile.GiB })
	s.now = time.Minute
	s.decide()
	want := func(job string, start, end dispatch.Range) {
		t.Helper()
		got, ok := s.d.Expect()[job]
		near := func(a, b dispatch.Range) bool {
			return max((a.Value-b.Value).Abs(), (a.Lo-b.Lo).Abs(), (a.Hi-b.Hi).Abs()) < time.Second
		}
		if !ok || !near(got.Start, start) || !near(got.End, end) {
			t.Errorf("%s: %+v, want %v to %v", job, got, start, end)
		}
	}
	m := time.Minute
	u := s.d.Expect()["a"].End.Value - m // an hour of work on this GPU
	if u < time.Hour || u > 24*time.Hour {
		t.Errorf("an hour on the fastest GPU takes %v here", u)
	}
	first := dispatch.Range{Value: m + u, Lo: m + u/2, Hi: m + 2*u}
	want("a", dispatch.Range{Value: m, Lo: m, Hi: m}, first)
	want("b", first, dispatch.Range{Value: m + 2*u, Lo: m + u, Hi: m + 4*u})
	if _, ok := s.d.Expect()["c"]; ok {
		t.Error("c, which fits nowhere, is expected to start")
	}
	s.now = 31 * m
	s.tell(dispatch.Progress{Job: "a", Run: s.on["a"], Ends: profile.Some(10 * m)})
	want("a", dispatch.Range{Value: m, Lo: m, Hi: m}, dispatch.Range{Value: 41 * m, Lo: 36 * m, Hi: 51 * m})
}
