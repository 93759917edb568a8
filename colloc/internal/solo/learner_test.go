package solo

import (
	"errors"
	"fmt"
	"strconv"
	"testing"
	"time"

	"example.com/colloc/colloc/runner/queue"
	"example.com/colloc/nvmlx"
	"example.com/colloc/profile"
)

// mostKinds is how many the learner of the tests keeps.
const mostKinds = 2_000

// users is a Learner that keeps users apart, or not.
type users struct {
	*Learner
	shared bool
}

func byUser(shared bool) users {
	name := func(r *queue.Record) string { return users{shared: shared}.name(r.Task.Owner, r.Task.Kind) }
	return users{NewLearner(Learning{Rules: Rules{Enough: time.Second, Usual: 0.1}, Name: name, Most: mostKinds, Together: shared}, nil), shared}
}

func (u users) name(owner *queue.Owner, kind string) string {
	if u.shared || owner == nil {
		return kind
	}
	return fmt.Sprintf("%d:%s", owner.UID, kind)
}

func (u users) of(uid uint32, kind string) *profile.Profile {
	owner := &queue.Owner{UID: uid}
	if uid == 0 {
		owner = nil
	}
	return u.Profile(u.name(owner, kind))
}

func (u users) follow(at time.Time, r *queue.Record) (known bool, err error) {
	news, err := u.progress(at, r, profile.GPUModel{})
	return news != nil, err
}

// What is seen of one user's program tells nothing of another's with the same name, unless
// users share what they know.
func TestUsers(t *testing.T) {
	for _, shared := range []bool{false, true} {
		p, err := profile.New(profile.Spec{Model: profile.Model{Name: "train"}, Training: profile.Training{BatchSize: 1}}, profile.Trace{}, profile.GPUModel{})
		if err == nil {
			err = errors.Join(p.Vector.Set(profile.PeakMemory, float64(profile.GiB)), p.Vector.Set(profile.MeanGPUBusy, 0.5))
		}
		if err != nil {
			t.Fatal(err)
		}
		b := byUser(shared)
		run := func(uid uint32) *queue.Record {
			return &queue.Record{Task: queue.Task{ID: "1", Kind: "train", Owner: &queue.Owner{UID: uid}}}
		}
		b.kinds[b.Name(run(1))] = &Kind{Profile: &p}
		if b.of(1, "train") != &p || (b.of(2, "train") == &p) != shared {
			t.Errorf("shared %v: the other user knows %v", shared, b.of(2, "train"))
		}
		grown := run(2)
		grown.Peak = profile.Some(30 * profile.GiB)
		known, err := b.follow(time.Time{}, grown)
		peak := b.of(1, "train").Vector.Or(profile.PeakMemory, 0)
		if err != nil || known != shared || (peak > float64(profile.GiB)) != shared {
			t.Errorf("shared %v: after another's run the user's program has a peak of %v, %v", shared, profile.Bytes(peak), err)
		}
		if b.begin(time.Time{}, run(2), false) == shared {
			t.Errorf("shared %v: the other user's first run is watched: %v", shared, !shared)
		}
	}
}

// Of a run that is watched beside others its memory is known; what it does to the GPU is of
// the first one that is alone from start to end.
func TestBeside(t *testing.T) {
	b := byUser(false)
	at, n := time.Unix(1000, 0), 0
	run := func(beside, joined bool) (began, known bool) {
		n++
		r := &queue.Record{Task: queue.Task{ID: strconv.Itoa(n), Kind: "train"}, GPU: "gpu", State: queue.Running, Peak: profile.Some(2 * profile.GiB)}
		if began = b.begin(at, r, beside); !began {
			return false, false
		}
		if joined {
			b.join(&queue.Record{Task: queue.Task{ID: "other"}, GPU: "gpu"})
		}
		b.saw(&nvmlx.Sample{Device: "gpu", Sample: profile.Sample{At: at.Add(time.Millisecond), GPUBusy: profile.Some(0.5)}})
		r.State = queue.Succeeded
		known, err := b.follow(at.Add(time.Minute), r)
		if err != nil {
			t.Error(err)
		}
		return true, known
	}
	for i, tt := range []struct {
		beside, joined bool // of the run
		began, known   bool // wanted
		busy           bool // is known then
	}{
		{beside: true, began: true, known: true},
		{beside: true},
		{joined: true, began: true, known: true}, // two runs say more than one
		{began: true, known: true, busy: true},
		{},
	} {
		began, known := run(tt.beside, tt.joined)
		p := b.of(0, "train")
		_, busy := p.Vector.Get(profile.MeanGPUBusy)
		if began != tt.began || known != tt.known || busy != (tt.busy || i == 4) || p.Vector.Or(profile.PeakMemory, 0) < float64(2*profile.GiB) || p.Vector.Or(profile.PeakMemory, 0) > 3.1*float64(profile.GiB) {
			t.Errorf("run %d: watched %v, learned %v, busy known %v, profile %v", i+1, began, known, busy, p.Vector)
		}
	}
}

// Of one user so many kinds are known, and no more are watched; another user's are. What is
// watched goes with a run that is cut short, and its steps are what the profile tells.
func TestFull(t *testing.T) {
	for _, shared := range []bool{false, true} {
		b := byUser(shared)
		run := func(uid uint32, kind string) *queue.Record {
			return &queue.Record{Task: queue.Task{ID: kind, Kind: kind, Owner: &queue.Owner{UID: uid}}, GPU: "gpu", State: queue.Running, Peak: profile.Some(profile.GiB)}
		}
		for n := range mostKinds - 1 {
			b.kinds[b.Name(run(7, strconv.Itoa(n)))] = &Kind{Profile: new(profile.Profile)}
		}
		at := time.Unix(1000, 0)
		last := run(7, "last")
		for _, state := range []queue.State{queue.Queued, queue.Failed} { // cut short, and watched again
			if !b.begin(at, last, false) {
				t.Fatalf("shared %v: no room for the last kind", shared)
			}
			last.State = state
			if known, err := b.follow(at, last); known || err != nil {
				t.Errorf("shared %v: learned from a run that is %v, %v", shared, state, err)
			}
		}
		if last.State = queue.Running; !b.begin(at, last, false) {
			t.Fatalf("shared %v: no room for the last kind", shared)
		}
		for n := range int64(9) {
			last.Step = profile.Some(2 * n)
			b.saw(&nvmlx.Sample{Device: "gpu", Sample: profile.Sample{At: at, GPUBusy: profile.Some(0.5)}})
			if n == 8 {
				last.State = queue.Succeeded
			}
			known, err := b.follow(at, last)
			if err != nil || n == 8 && !known && b.of(7, "last") == nil {
				t.Errorf("shared %v: nothing learned: %v", shared, err)
			}
			at = at.Add(time.Second)
		}
		if known := b.Known(); len(known) != mostKinds {
			t.Errorf("shared %v: %d kinds are known, want %d", shared, len(known), mostKinds)
		}
		if step := b.of(7, "last").Vector.Or(profile.MedianStepTime, 0); step != 0.5 {
			t.Errorf("shared %v: a step takes %v s, want 0.5", shared, step)
		}
		if b.begin(at, run(7, "more"), false) {
			t.Errorf("shared %v: more than %d kinds", shared, mostKinds)
		}
		if b.begin(at, run(70, "more"), false) == shared {
			t.Errorf("shared %v: another user's first kind is watched: %v", shared, !shared)
		}
	}
}
