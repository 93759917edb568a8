package interference

import (
	"bytes"
	"fmt"
	"math"
	"testing"

	"example.com/colloc/internal/golden"
	"example.com/colloc/profile"
)

// TestGolden: what is fitted to data, learned after and told of it stays as it was, to four
// digits, unless somebody means it and has seen what examples/evaluate says of the change.
// What is fitted anew is not among it: trees that tie come out otherwise without assembly.
func TestGolden(t *testing.T) {
	tasks, obs := fakeWorld(t, 7, 4, 3)
	for i := range obs { // two GPUs and two mechanisms, one after the other
		obs[i].GPU = []string{"RTX3090", "RTX3090", "V100-PCIe-16GB"}[i%3]
		if i%5 == 4 {
			obs[i].Mechanism = profile.MPS
		}
		if i%6 == 0 { // a third task, which costs both a tenth
			obs[i].Set = append(obs[i].Set, tasks[i%len(tasks)])
			for k := range obs[i].Speeds {
				obs[i].Speeds[k] = profile.Some(0.9 * obs[i].Speeds[k].Or(0))
			}
			obs[i].Speeds = append(obs[i].Speeds, profile.Some(0.8))
		}
	}
	gpu := rtx3090(t)
	named := fakeTask(t, "m1", 64, math.NaN(), math.NaN(), math.NaN())
	hungry := fakeTask(t, "m2", 32, 0.9, 0.7, 0.3)
	stranger, twin := fakeTask(t, "new", 8, 0.7, 0.3, 0.2), fakeTask(t, "m0", 999, 0.6, 0.3, 0.4)
	sets := [][]*profile.Profile{{tasks[0], tasks[1]}, {tasks[2], tasks[7], tasks[11]}, {named, stranger}, {twin, tasks[0]}, {stranger, nil}, {hungry, fakeTask(t, "new", 8, 0.8, 0.6, 0.1)}, {tasks[3], tasks[3], named, twin}}
	var out bytes.Buffer
	tell := func(name string, m *Predictor) {
		for i, set := range sets {
			for _, mechanism := range []profile.Mechanism{profile.TimeSlice, profile.MPS} {
				e, err := m.Speeds(gpu, mechanism, set, nil)
				if err != nil {
					t.Fatal(err)
				}
				fmt.Fprintf(&out, "%s set %d %v:", name, i, mechanism)
				for k := range e {
					fmt.Fprintf(&out, " %.4g %.4g %.4g %v", e[k].Value, e[k].Lo, e[k].Hi, e[k].Source.Kind)
				}
				fmt.Fprintln(&out)
			}
		}
		capped, err := m.Capped(gpu, sets[1], []float64{0.5, 0.3, 1}, nil)
		if err != nil {
			t.Fatal(err)
		}
		fmt.Fprintf(&out, "%s capped %.4g %.4g %.4g %v\n", name, capped[0].Value, capped[1].Lo, capped[2].Hi, capped[0].Source.Kind)
		for _, r := range m.Regimes() {
			fmt.Fprintf(&out, "%s regime %s %v: %d co-runs, %d types, drift %d %.4g %.4g %t\n",
				name, r.GPU, r.Mechanism, r.CoRuns, r.Types, r.Drift.Observations, r.Drift.Misses, r.Drift.Bias, r.Drift.Alarm)
		}
		for _, s := range m.Seen(tasks[0]) {
			fmt.Fprintf(&out, "%s seen %s %v: %d co-runs, fitted %t, own %.4g, others %.4g\n", name, s.GPU, s.Mechanism, s.CoRuns, s.Fitted, s.Own, s.Others)
		}
	}
	m := mustFit(t, obs, nil)
	tell("fitted", m)
	for i := range 12 {
		o := obs[5*i]
		o.GPU, o.Mechanism = "RTX3090", profile.TimeSlice
		for k := range o.Speeds {
			o.Speeds[k] = profile.Some((0.85 + 0.05*float64(i%4)) * o.Speeds[k].Or(0))
		}
		if err := m.Observe(o); err != nil {
			t.Fatal(err)
		}
	}
	tell("learned", m)
	var file bytes.Buffer
	if err := m.Save(&file); err != nil {
		t.Fatal(err)
	}
	loaded, err := Load(&file)
	if err != nil {
		t.Fatal(err)
	}
	tell("loaded", loaded)
	golden.Check(t, "golden.txt", out.String())
}
