package kinds

import (
	"errors"
	"strconv"
	"testing"
	"time"

	"example.com/colloc/colloc/runner/queue"
	"example.com/colloc/nvmlx"
	"example.com/colloc/profile"
)

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
		b := New(time.Second, shared, nil)
		run := func(uid uint32) *queue.Record {
			return &queue.Record{Task: queue.Task{ID: "1", Kind: "train", Owner: &queue.Owner{UID: uid}}}
		}
		b.known[b.nameOf(run(1))] = &p
		if b.Of(1, "train") != &p || (b.Of(2, "train") == &p) != shared || b.Same(run(1), run(2)) != shared {
			t.Errorf("shared %v: the other user knows %v", shared, b.Of(2, "train"))
		}
		grown := run(2)
		grown.Peak = profile.Some(30 * profile.GiB)
		known, err := b.Progress(time.Time{}, grown, profile.GPUModel{})
		peak := b.Of(1, "train").Vector.Or(profile.PeakMemory, 0)
		if err != nil || known != shared || (peak > float64(profile.GiB)) != shared {
			t.Errorf("shared %v: after another's run the user's program has a peak of %v, %v", shared, profile.Bytes(peak), err)
		}
		if b.Begin(time.Time{}, run(2), false) == shared {
			t.Errorf("shared %v: the other user's first run is watched: %v", shared, !shared)
		}
	}
}

// Of a run that is watched beside others its memory is known; what it does to the GPU is of
// the first one that is alone from start to end.
func TestBeside(t *testing.T) {
	b := New(time.Second, false, nil)
	at, n := time.Unix(1000, 0), 0
	run := func(beside, joined bool) (began, known bool) {
		n++
		r := &queue.Record{Task: queue.Task{ID: strconv.Itoa(n), Kind: "train"}, GPU: "gpu", State: queue.Running, Peak: profile.Some(2 * profile.GiB)}
		if began = b.Begin(at, r, beside); !began {
			return false, false
		}
		if joined {
			b.Join(&queue.Record{Task: queue.Task{ID: "other"}, GPU: "gpu"})
		}
		b.Sample(&nvmlx.Sample{Device: "gpu", Sample: profile.Sample{At: at.Add(time.Millisecond), GPUBusy: profile.Some(0.5)}})
		r.State = queue.Succeeded
		known, err := b.Progress(at.Add(time.Minute), r, profile.GPUModel{})
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
		{joined: true, began: true},
		{began: true, known: true, busy: true},
		{},
	} {
		began, known := run(tt.beside, tt.joined)
		p := b.Of(0, "train")
		_, busy := p.Vector.Get(profile.MeanGPUBusy)
		if began != tt.began || known != tt.known || busy != (tt.busy || i == 4) || p.Vector.Or(profile.PeakMemory, 0) != float64(2*profile.GiB) {
			t.Errorf("run %d: watched %v, learned %v, busy known %v, profile %v", i+1, began, known, busy, p.Vector)
		}
	}
}
