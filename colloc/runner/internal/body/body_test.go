package body

import (
	"slices"
	"testing"
	"time"

	"example.com/colloc/colloc"
	"example.com/colloc/colloc/runner/internal/backlog"
	"example.com/colloc/colloc/runner/internal/fleet"
	"example.com/colloc/colloc/runner/queue"
	"example.com/colloc/nvmlx"
	"example.com/colloc/packer"
	"example.com/colloc/packer/online"
	"example.com/colloc/profile"
)

// mind finds that tasks do not slow each other down.
type mind struct{}

func (mind) Speeds(set []*packer.Task, _ *packer.GPU, _ profile.Mechanism, dst []float64) error {
	for i := range set {
		dst[i] = 1
	}
	return nil
}

func (m mind) Scheduler(_ []colloc.GPU, o *online.SchedulerOptions) (*online.Scheduler, error) {
	return online.NewScheduler(nil, m, packer.Limits{MaxSet: 2}, o)
}

func (mind) Relearn(*online.Scheduler, []colloc.GPU) error { return nil }
func (mind) Observe(colloc.Observation) error              { return nil }

func (mind) Packed(t colloc.Task) (packer.Task, error) {
	return packer.Task{ID: t.ID, Memory: t.Reserved, Alone: t.Alone, GPUs: t.GPUs}, nil
}

func (mind) PackedGPU(g colloc.GPU) (packer.GPU, error) {
	return packer.GPU{ID: g.ID, Type: &g.Model, Memory: g.Memory, Mechanisms: g.Mechanisms}, nil
}

// desk is a body with one GPU of 40 GiB.
type desk struct {
	*Body

	fleet *fleet.Fleet
	now   time.Time
}

func newDesk(t *testing.T, running ...*backlog.Entry) *desk {
	t.Helper()
	card := &fleet.Card{Info: nvmlx.DeviceInfo{ID: "gpu", Memory: profile.Some(40 * profile.GiB)}}
	f, err := fleet.New(fleet.Config{PerGPU: 2, Mechanisms: []profile.Mechanism{profile.TimeSlice}}, mind{}, []*fleet.Card{card})
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range running {
		f.Join(e, profile.TimeSlice)
	}
	now := time.Unix(1e9, 0)
	b, err := New(f, mind{}, nil, now, func(*backlog.Entry) string { return "" }, nil)
	if err != nil {
		t.Fatal(err)
	}
	return &desk{b, f, now}
}

func task(id string, memory profile.Bytes) *backlog.Entry {
	return &backlog.Entry{Saved: backlog.Saved{Record: queue.Record{Task: queue.Task{ID: id, Memory: memory}}}}
}

// turn tells how things are, a second later, and returns what is to start.
func (d *desk) turn(t *testing.T, waits, active []*backlog.Entry) []Start {
	t.Helper()
	d.now = d.now.Add(time.Second)
	var wishes []Wish
	for _, e := range waits {
		wishes = append(wishes, Wish{Entry: e})
	}
	unfit, err := d.Sync(d.now, wishes, active)
	if err != nil || len(unfit) > 0 {
		t.Fatalf("unfit %v: %v", unfit, err)
	}
	starts, _, err := d.Decide(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return starts
}

// begin carries a start out.
func (d *desk) begin(t *testing.T, s *Start) {
	t.Helper()
	s.State, s.GPU, s.Reserved = queue.Starting, "gpu", s.Reserve
	s.Runs++
	d.fleet.Join(s.Entry, profile.TimeSlice)
	if err := d.Began(s); err != nil {
		t.Fatal(err)
	}
}

func ids(starts []Start) (all []string) {
	for _, s := range starts {
		all = append(all, s.Job)
	}
	return all
}

// A task that is queued again between two turns is one that waits, whatever it was before: it starts
// anew, under another number. One that was refused starts at the next turn.
func TestRuns(t *testing.T) {
	d := newDesk(t)
	a, b := task("a", 30*profile.GiB), task("b", 30*profile.GiB)
	all := []*backlog.Entry{a, b}
	starts := d.turn(t, all, nil)
	if !slices.Equal(ids(starts), []string{"a"}) {
		t.Fatalf("%q start, want a: b has no room beside it", ids(starts))
	}
	if err := d.Refused(&starts[0]); err != nil {
		t.Fatal(err)
	}
	again := d.turn(t, all, nil)
	if !slices.Equal(ids(again), []string{"a"}) || again[0].Run == starts[0].Run {
		t.Fatalf("%q start after a refusal, run %d again", ids(again), starts[0].Run)
	}
	d.begin(t, &again[0])
	if starts := d.turn(t, all[1:], all[:1]); len(starts) > 0 {
		t.Errorf("%q start beside a, without room", ids(starts))
	}
	d.fleet.Leave(a)
	a.State = queue.Queued // its run was lost
	third := d.turn(t, all, nil)
	if !slices.Equal(ids(third), []string{"a"}) || third[0].Run == again[0].Run {
		t.Fatalf("%q start after a lost run", ids(third))
	}
	d.begin(t, &third[0])
	d.fleet.Leave(a)
	a.State = queue.Succeeded
	if starts := d.turn(t, all[1:], nil); !slices.Equal(ids(starts), []string{"b"}) {
		t.Errorf("%q start after a, want b", ids(starts))
	}
}

// What ran when the runner was opened holds what it has reserved; what is taken back joins the others.
func TestAdopted(t *testing.T) {
	old := task("old", 30*profile.GiB)
	old.State, old.Runs, old.GPU, old.Reserved = queue.Running, 3, "gpu", 30*profile.GiB
	d := newDesk(t, old)
	a := task("a", 20*profile.GiB)
	if starts := d.turn(t, []*backlog.Entry{a}, []*backlog.Entry{old}); len(starts) > 0 {
		t.Fatalf("%q start beside what runs", ids(starts))
	}
	if why, never := d.Why(a); never != nil || why == "" {
		t.Errorf("it waits %q, %v", why, never)
	}
	old.Reserved = 10 * profile.GiB
	if starts := d.turn(t, []*backlog.Entry{a}, []*backlog.Entry{old}); !slices.Equal(ids(starts), []string{"a"}) {
		t.Errorf("%q start when less is reserved, want a", ids(starts))
	}
}

// A task that is too large is told of once, and what is withdrawn before it starts does not start.
func TestUnjudged(t *testing.T) {
	d := newDesk(t)
	large := task("large", 50*profile.GiB)
	d.turn(t, []*backlog.Entry{large}, nil)
	if got := d.Unjudged(); !slices.Equal(got, []*backlog.Entry{large}) || len(d.Unjudged()) > 0 {
		t.Errorf("%d are to be judged", len(got))
	}
	if _, never := d.Why(large); never == nil {
		t.Error("a task that is too large waits for room")
	}
	if starts := d.turn(t, nil, nil); len(starts) > 0 || len(d.known) > 0 {
		t.Errorf("%q start, %d are known, and nobody waits", ids(starts), len(d.known))
	}
}

// Where a GPU is shared by MPS, another user's task does not join, and is told so; that user's own does.
func TestOneUser(t *testing.T) {
	of := func(id string, uid uint32) *backlog.Entry {
		e := task(id, gib30/3)
		e.Task.Owner = &queue.Owner{UID: uid}
		return e
	}
	first := of("first", 1)
	first.State, first.Runs, first.GPU, first.Reserved = queue.Running, 1, "gpu", gib30/3
	d := newDesk(t)
	d.fleet.Join(first, profile.MPS)
	other, own := of("other", 2), of("own", 1)
	if starts := d.turn(t, []*backlog.Entry{other, own}, []*backlog.Entry{first}); !slices.Equal(ids(starts), []string{"own"}) {
		t.Errorf("%q start, want own", ids(starts))
	}
	if why, never := d.Why(other); never != nil || why != "GPU gpu"+fleet.OneUser {
		t.Errorf("it waits %q, %v", why, never)
	}
	d = newDesk(t)
	d.fleet.Join(first, profile.TimeSlice)
	if starts := d.turn(t, []*backlog.Entry{other}, []*backlog.Entry{first}); len(starts) != 1 {
		t.Errorf("%q start in turns with another user's", ids(starts))
	}
}

// When a task will end is told by its steps, anew only when it is well off.
func TestProgress(t *testing.T) {
	d := newDesk(t)
	a := task("a", gib30)
	starts := d.turn(t, []*backlog.Entry{a}, nil)
	d.begin(t, &starts[0])
	a.Started = d.now
	for _, tt := range []struct {
		step int64
		want time.Duration // from when the desk was made
	}{{0, 0}, {2, 103 * time.Second}, {3, 103 * time.Second}, {8, 52 * time.Second}} {
		a.Step, a.Total = profile.Some(tt.step), profile.Some[int64](102)
		d.turn(t, nil, []*backlog.Entry{a})
		got := d.of[a].ends
		if got > 0 {
			got = d.time(got).Sub(d.began)
		}
		if got != tt.want {
			t.Errorf("at step %d it is to end at %v, want %v", tt.step, got, tt.want)
		}
	}
}

const gib30 = 30 * profile.GiB
