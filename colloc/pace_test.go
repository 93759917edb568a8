package colloc_test

import (
	"fmt"
	"math"
	"slices"
	"testing"
	"time"

	"example.com/colloc/colloc"
	"example.com/colloc/internal/race"
	"example.com/colloc/predict"
	"example.com/colloc/profile"
)

// trained is a task of which a run on one product was timed.
func trained(tb testing.TB, id, gpu string, family profile.Family, precision profile.Precision, step time.Duration) *profile.Profile {
	tb.Helper()
	spec := profile.Spec{
		Model:    profile.Model{Name: id, Family: family},
		Training: profile.Training{BatchSize: 64, Precision: precision},
	}
	sample := profile.Sample{MemUsed: profile.Some(2 * profile.GiB)}
	if step > 0 {
		sample.StepTime = profile.Some(step)
	}
	p, err := profile.New(spec, profile.Trace{Samples: []profile.Sample{sample}}, gpuModel(tb, gpu))
	if err != nil {
		tb.Fatal(err)
	}
	return &p
}

// empty makes an empty GPU of a product.
func empty(tb testing.TB, id, product string) colloc.GPU {
	tb.Helper()
	return colloc.GPU{ID: id, Model: gpuModel(tb, product)}
}

// TestFasterGPUIsChosen: of any two empty GPUs the one on which the task is
// faster scores more and is the one that is planned, whatever their order.
func TestFasterGPUIsChosen(t *testing.T) {
	p := shared(t)
	for _, family := range []profile.Family{profile.CNN, profile.Transformer, profile.UnknownFamily} {
		for _, precision := range []profile.Precision{profile.FP32, profile.BF16} {
			if race.Enabled && (family != profile.CNN || precision != profile.BF16) {
				continue
			}
			task := colloc.Task{ID: "task", Profile: trained(t, "net", "RTX 3090", family, precision, 0)}
			type entry struct {
				gpu         colloc.GPU
				pace, score float64
			}
			var list []entry
			for i, model := range profile.GPUs() {
				name, gpu := model.Name, colloc.GPU{ID: fmt.Sprintf("g%03d", i), Model: model}
				v, err := p.Fit(task, gpu)
				if err != nil || !v.Fits {
					t.Fatal(name, v, err)
				}
				score, err := p.Score(task, gpu)
				if err != nil {
					t.Fatal(err)
				}
				if v.Pace.Value <= 0 || v.Pace.Lo > v.Pace.Value || v.Pace.Hi < v.Pace.Value || score <= 0 || score >= 1 || v.Throughput != v.Pace.Value {
					t.Errorf("%s: verdict %+v, score %v", name, v, score)
				}
				list = append(list, entry{gpu, v.Pace.Value, score})
			}
			for _, a := range list {
				for _, b := range list {
					if (a.pace > b.pace) != (a.score > b.score) {
						t.Errorf("%v, %v: paces %v and %v, scores %v and %v", family, precision, a.pace, b.pace, a.score, b.score)
					}
				}
			}
			for i := range list { // the neighbours in pace are the hard pairs
				a, b := list[i], list[(i+1)%len(list)]
				plan, err := p.Plan(t.Context(), []colloc.Task{task}, []colloc.GPU{a.gpu, b.gpu})
				if err != nil {
					t.Fatal(err)
				}
				if a.pace < b.pace {
					a, b = b, a
				}
				if math.Abs(a.pace/b.pace-1) > 1e-6 && (len(plan.Placements) != 1 || plan.Placements[0].GPU != a.gpu.ID) {
					t.Errorf("%v, %v: %s at %v or %s at %v: planned on %+v", family, precision, a.gpu.Model.Name, a.pace, b.gpu.Model.Name, b.pace, plan.Placements)
				}
			}
		}
	}
}

// TestFastGPUsFirst: four tasks on two H100 and four T4 take the H100s.
func TestFastGPUsFirst(t *testing.T) {
	var tasks []colloc.Task
	for i := range 4 {
		tasks = append(tasks, colloc.Task{ID: fmt.Sprintf("t%d", i), Profile: trained(t, "net", "RTX 3090", profile.CNN, profile.FP32, 0)})
	}
	var gpus []colloc.GPU
	for i, name := range []string{"T4", "T4", "T4", "T4", "H100", "H100"} {
		gpu := empty(t, fmt.Sprintf("g%d", i), name)
		gpu.Mechanisms = []profile.Mechanism{profile.Exclusive}
		gpus = append(gpus, gpu)
	}
	plan, err := shared(t).Plan(t.Context(), tasks, gpus)
	if err != nil {
		t.Fatal(err)
	}
	var used []string
	for _, pl := range plan.Placements {
		used = append(used, pl.GPU)
		if m := pl.Members[0]; m.Pace.Value <= 0 || m.Pace.Value > 1 || pl.Throughput > m.Pace.Value*1.001 {
			t.Errorf("member %+v, worth %v", m, pl.Throughput)
		}
	}
	if !slices.Contains(used, "g4") || !slices.Contains(used, "g5") || len(used) != 4 || plan.Reference != gpus[4].Model.Canonical() {
		t.Errorf("used %v, relative to %q", used, plan.Reference)
	}
}

// TestSliceIsSlower: a MIG slice never beats its card, however it is described.
func TestSliceIsSlower(t *testing.T) {
	whole := empty(t, "whole", "A100-40GB")
	task := colloc.Task{ID: "task", Profile: trained(t, "net", "RTX 3090", profile.CNN, profile.FP32, 0)}
	score := func(g colloc.GPU) float64 {
		t.Helper()
		s, err := shared(t).Score(task, g)
		if err != nil {
			t.Fatal(err)
		}
		return s
	}
	for i := range whole.Model.MIG {
		slice := &whole.Model.MIG[i]
		explicit, named, sized := whole, whole, whole
		explicit.ID, explicit.Slice = "slice", slice
		named.ID, named.Model.Name = "slice", "NVIDIA A100-SXM4-40GB MIG "+slice.Name
		sized.ID, sized.Memory = "slice", slice.Memory*97/100
		for _, g := range []colloc.GPU{explicit, named, sized} {
			full := slice.Compute == 7
			if got := score(g); got <= 0 || !full && got >= score(whole) {
				t.Errorf("%s (%+v): score %v, the card %v", slice.Name, g.Slice, got, score(whole))
			}
			if full {
				continue
			}
			plan, err := shared(t).Plan(t.Context(), []colloc.Task{task}, []colloc.GPU{g, whole})
			if err != nil {
				t.Fatal(err)
			}
			if len(plan.Placements) != 1 || plan.Placements[0].GPU != "whole" {
				t.Errorf("%s or the card: %+v", slice.Name, plan.Placements)
			}
		}
	}
	whole.Slice = &profile.MIGProfile{Name: "9g.90gb", Compute: 9, Size: 9, Memory: 90 * profile.GiB}
	if err := whole.Validate(); len(colloc.Faults(err)) != 1 || colloc.Faults(err)[0].Field != "Slice" {
		t.Errorf("a slice of no card: %v", err)
	}
}

// TestSlicePaceSource: the pace on a MIG slice is as sure as the weaker of what it is made of,
// how fast the card is and what the slice is of it.
func TestSlicePaceSource(t *testing.T) {
	whole := empty(t, "g", "A100-40GB")
	slice := whole
	slice.Slice = &whole.Model.MIG[0]
	for _, tt := range []struct {
		task colloc.Task
		want predict.SourceKind
	}{
		{seen(t, "seen", 0.5, 0.2, profile.GiB), predict.Fitted},
		{colloc.Task{ID: "blind", Profile: trained(t, "net", "RTX 3090", profile.CNN, profile.FP32, 0)}, predict.Prior},
	} {
		of, err := shared(t).Fit(tt.task, whole)
		if err != nil || of.Pace.Source.Kind != predict.Fitted || of.Pace.Source.Distance == 0 {
			t.Fatalf("%s on the card: %+v, %v", tt.task.ID, of.Pace, err)
		}
		v, err := shared(t).Fit(tt.task, slice)
		if want := (predict.Source{Kind: tt.want, Distance: of.Pace.Source.Distance}); err != nil || v.Pace.Source != want {
			t.Errorf("%s: %+v, %v; want %+v", tt.task.ID, v.Pace.Source, err, want)
		}
	}
}

// TestMeasuredPaceDecides: throughputs that were measured, in the task's profiles
// or observed, decide against what is predicted.
func TestMeasuredPaceDecides(t *testing.T) {
	slow, fast := trained(t, "odd", "V100", profile.CNN, profile.FP32, time.Second), trained(t, "odd", "K80", profile.CNN, profile.FP32, time.Second/2)
	volta := empty(t, "v100", "V100")
	kepler := empty(t, "k80", "K80")
	pace := func(p *colloc.Planner, task colloc.Task) (float64, float64) {
		t.Helper()
		a, err := p.Fit(task, volta)
		if err != nil {
			t.Fatal(err)
		}
		b, err := p.Fit(task, kepler)
		if err != nil {
			t.Fatal(err)
		}
		return a.Pace.Value, b.Pace.Value
	}
	plain := colloc.Task{ID: "odd", Profile: slow}
	if a, b := pace(shared(t), plain); a <= 2*b {
		t.Fatalf("predicted: %v on the V100, %v on the K80", a, b)
	}
	twice := plain
	twice.Elsewhere = []*profile.Profile{fast}
	if a, b := pace(shared(t), twice); math.Abs(b/a-2) > 1e-9 {
		t.Errorf("two profiles: %v on the V100, %v on the K80, want twice as much", a, b)
	}
	taught := newPlanner(t, colloc.Config{Reference: gpuModel(t, "V100")})
	for _, o := range []struct {
		gpu  colloc.GPU
		rate float64
	}{{volta, 64}, {kepler, 128}} {
		err := taught.Observe(colloc.Observation{GPU: o.gpu.Model, Members: []colloc.Measurement{{Profile: slow, Throughput: profile.Some(o.rate)}}})
		if err != nil {
			t.Fatal(err)
		}
	}
	if a, b := pace(taught, plain); a != 1 || math.Abs(b-2) > 1e-9 {
		t.Errorf("observed: %v on the reference, %v on the K80, want twice as much", a, b)
	}
	for _, p := range []*colloc.Planner{shared(t), taught} {
		task := twice
		if p == taught {
			task = plain
		}
		plan, err := p.Plan(t.Context(), []colloc.Task{task}, []colloc.GPU{volta, kepler})
		if err != nil {
			t.Fatal(err)
		}
		if len(plan.Placements) != 1 || plan.Placements[0].GPU != "k80" {
			t.Errorf("planned %+v", plan.Placements)
		}
	}
	for _, members := range [][]colloc.Measurement{
		{{Profile: slow, Throughput: profile.Some(-1.0)}},
		{{Profile: slow, Throughput: profile.Some(1.0)}, {Profile: slow}},
	} {
		if err := taught.Observe(colloc.Observation{GPU: volta.Model, Members: members}); err == nil {
			t.Errorf("%+v: no error", members)
		}
	}
}

// TestSlownessIsNoSlowdown: the limit of a task binds what sharing costs it, not
// what a slow card does.
func TestSlownessIsNoSlowdown(t *testing.T) {
	task := colloc.Task{ID: "task", Profile: trained(t, "net", "RTX 3090", profile.CNN, profile.FP32, 0), MaxSlowdown: 1}
	kepler := empty(t, "k80", "K80")
	if v, err := shared(t).Fit(task, kepler); err != nil || !v.Fits || v.Speed.Value != 1 || v.Pace.Value > 0.5 {
		t.Errorf("%+v, %v", v, err)
	}
}
