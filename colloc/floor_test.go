package colloc_test

import (
	"testing"

	"example.com/colloc/colloc"
	"example.com/colloc/predict/memory"
	"example.com/colloc/profile"
)

// TestOutOfMemoryIsRemembered: what a task needed when it died, or was measured
// to need, is reserved from the first observation on, whether its peak was
// measured before, its model has layers or not, a name or none.
func TestOutOfMemoryIsRemembered(t *testing.T) {
	named, unnamed := describe(t), *describe(t)
	unnamed.Spec.Model.Name = ""
	bare := &profile.Profile{Spec: profile.Spec{Training: profile.Training{BatchSize: 8}}}
	for _, tt := range []struct {
		name string
		task colloc.Task
	}{
		{"peak measured", seen(t, "task", 0.5, 0.2, 6*profile.GiB)},
		{"peak measured without a name", nameless(t, 2*profile.GiB)},
		{"layers and a name", colloc.Task{ID: "task", Profile: named}},
		{"layers without a name", colloc.Task{ID: "task", Profile: &unnamed}},
		{"neither", colloc.Task{ID: "task", Profile: bare}},
	} {
		for _, level := range []profile.Bytes{12 * profile.GiB, 20 * profile.GiB} {
			for _, died := range []bool{true, false} {
				t.Run(tt.name, func(t *testing.T) {
					p := newPlanner(t, colloc.Config{})
					observe(t, p, colloc.Measurement{Profile: tt.task.Profile, Peak: profile.Some(level), OutOfMemory: died})
					for range 3 { // smaller peaks that are seen later take nothing back
						if got := reserved(t, p, tt.task); got < level {
							t.Fatalf("reserves %v after %v", got, level)
						}
						observe(t, p, colloc.Measurement{Profile: tt.task.Profile, Peak: profile.Some(profile.GiB)})
					}
				})
			}
		}
	}
}

// TestDeathWithoutPeak: the reservation grows until the task is measured.
func TestDeathWithoutPeak(t *testing.T) {
	p := newPlanner(t, colloc.Config{})
	task := seen(t, "task", 0.5, 0.2, 6*profile.GiB)
	before := reserved(t, p, task)
	observe(t, p, colloc.Measurement{Profile: task.Profile, OutOfMemory: true})
	once := reserved(t, p, task)
	observe(t, p, colloc.Measurement{Profile: task.Profile, OutOfMemory: true})
	twice := reserved(t, p, task)
	observe(t, p, colloc.Measurement{Profile: task.Profile, OutOfMemory: true, Reserved: 12 * profile.GiB})
	given := reserved(t, p, task)
	if before >= once || once >= twice || twice >= given || given != 15*profile.GiB {
		t.Errorf("reserves %v, then %v, %v and %v; want it to grow to 15 GiB", before, once, twice, given)
	}
	observe(t, p, colloc.Measurement{Profile: task.Profile, Peak: profile.Some(7 * profile.GiB)})
	if got := reserved(t, p, task); got < 7*profile.GiB || got >= once {
		t.Errorf("reserves %v after 7 GiB were measured", got)
	}
}

// TestDeathWithoutPeakFillsTheCard: a task that died beside others gets its card
// alone before it is shut out of it, however many deaths nobody measured.
func TestDeathWithoutPeakFillsTheCard(t *testing.T) {
	p := newPlanner(t, colloc.Config{Headroom: profile.Some(0.0)})
	task := seen(t, "task", 0.5, 0.2, 26*profile.GiB)
	gpu := colloc.GPU{ID: "g", Model: gpuModel(t, "A100")}
	offer := colloc.Usable(gpu.Total(), 0)
	for range 2 {
		observe(t, p, colloc.Measurement{Profile: task.Profile, OutOfMemory: true, Reserved: offer - profile.GiB})
		if got := reserved(t, p, task); got != offer {
			t.Fatalf("reserves %v of %v after a death with 1 GiB less", got, offer)
		}
	}
	observe(t, p, colloc.Measurement{Profile: task.Profile, OutOfMemory: true}) // with all of it
	if v, err := p.Fit(task, gpu); err != nil || v.Fits || v.Reserved <= offer {
		t.Errorf("reserves %v of %v, %v, after a death with all of it", v.Reserved, offer, err)
	}
}

// TestNamelessTasksAreApart: what a task without name and layers needed says
// nothing of another one, whose own peak was measured.
func TestNamelessTasksAreApart(t *testing.T) {
	p := newPlanner(t, colloc.Config{})
	small := nameless(t, 2*profile.GiB)
	before := reserved(t, p, small)
	bare := &profile.Profile{Spec: profile.Spec{Training: profile.Training{BatchSize: 1}}}
	for _, other := range []*profile.Profile{nameless(t, 30*profile.GiB).Profile, bare} {
		observe(t, p, colloc.Measurement{Profile: other, Peak: profile.Some(30 * profile.GiB)})
		if got := reserved(t, p, small); got != before {
			t.Errorf("reserves %v after another one needed 30 GiB, want %v", got, before)
		}
	}
	observe(t, p, colloc.Measurement{Profile: small.Profile, Peak: profile.Some(3 * profile.GiB)})
	if got := reserved(t, p, small); got < 3*profile.GiB || got > 4*profile.GiB {
		t.Errorf("reserves %v after it needed 3 GiB itself", got)
	}
}

// nameless is a task of which its measured peak alone is known.
func nameless(tb testing.TB, peak profile.Bytes) colloc.Task {
	tb.Helper()
	task := seen(tb, "task", 0.5, 0.2, peak)
	p := *task.Profile
	p.Spec = profile.Spec{Training: profile.Training{BatchSize: 1}}
	task.Profile = &p
	return task
}

func observe(tb testing.TB, p *colloc.Planner, m colloc.Measurement) {
	tb.Helper()
	if err := p.Observe(colloc.Observation{GPU: gpuModel(tb, "A100"), Members: []colloc.Measurement{m}}); err != nil {
		tb.Fatal(err)
	}
}

// reserved is what Fit, Memory and Plan reserve: they must agree.
func reserved(tb testing.TB, p *colloc.Planner, task colloc.Task) profile.Bytes {
	tb.Helper()
	gpu := colloc.GPU{ID: "g", Model: gpuModel(tb, "A100")}
	v, err := p.Fit(task, gpu)
	if err != nil {
		tb.Fatal(err)
	}
	_, r, err := p.Memory(task)
	if err != nil {
		tb.Fatal(err)
	}
	plan, err := p.Plan(tb.Context(), []colloc.Task{task}, []colloc.GPU{gpu})
	if err != nil {
		tb.Fatal(err)
	}
	if r != memory.Whole && v.Reserved != r || plan.Tasks[0].Reserved != r {
		tb.Errorf("Fit reserves %v, Memory %v, Plan %v", v.Reserved, r, plan.Tasks[0].Reserved)
	}
	return v.Reserved
}
