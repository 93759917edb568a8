package kinds

import (
	"testing"
	"time"

	"example.com/colloc/colloc/runner/queue"
	"example.com/colloc/profile"
)

// What is seen of one user's program tells nothing of another's with the same name, unless
// users share what they know.
func TestUsers(t *testing.T) {
	for _, shared := range []bool{false, true} {
		p, err := profile.New(profile.Spec{Model: profile.Model{Name: "train"}, Training: profile.Training{BatchSize: 1}}, profile.Trace{}, profile.GPUModel{})
		if err == nil {
			err = p.Vector.Set(profile.PeakMemory, float64(profile.GiB))
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
		if b.Begin(time.Time{}, run(2)) == shared {
			t.Errorf("shared %v: the other user's first run is watched: %v", shared, !shared)
		}
	}
}
