package main

import (
	"math"
	"strings"
	"testing"

	"example.com/colloc/predict/interference"
	"example.com/colloc/profile"
)

// TestObservations goes from simulated runs to a fitted predictor, which must
// know more than its prior.
func TestObservations(t *testing.T) {
	b := newBench(t, "-tasks", "resnet50-mixed,bert-mini,lstm,dlrm", "-repeats", "1", "-triples", "2", "-quadruples", "1", "-keep", "40")
	c, err := b.run(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	speeds, memory, err := observations(tidy(c), c.specs)
	if err != nil {
		t.Fatal(err)
	}
	pairs, capped := 0, 0
	for _, o := range speeds {
		if len(o.Set) != len(o.Speeds) || len(o.Set) != len(o.Groups) || o.GPU != "Simulated GPU" {
			t.Fatalf("observation %+v", o)
		}
		if len(o.Set) == 2 {
			pairs++
		}
		for i, p := range o.Set {
			if busy := p.Vector.Or(profile.MeanGPUBusy, -1); math.Abs(busy-truthOf(p.Spec.Model.Name).busy) > 1e-9 {
				t.Errorf("%s: solo busy %v", p.Spec.Model.Name, busy)
			}
			if step := p.Vector.Or(profile.MedianStepTime, 0); math.Abs(step*truthOf(p.Spec.Model.Name).rate-1) > 5*noise {
				t.Errorf("%s: solo step time %v", p.Spec.Model.Name, step)
			}
			if o.Speeds[i].IsZero() {
				t.Errorf("%s: no speed", p.Spec.Model.Name)
			}
		}
	}
	for _, r := range c.results {
		if len(r.Cell.Threads) > 1 {
			capped++
		}
	}
	if pairs != 2*10+3*2 || capped == 0 { // all under both, and a quarter again
		t.Errorf("%d pairs, %d cells with caps", pairs, capped)
	}
	if len(memory) != 4*soloRepeats {
		t.Errorf("%d observations of memory, want %d", len(memory), 4*soloRepeats)
	}
	for _, o := range memory {
		want := truthOf(o.Spec.Model.Name).context + truthOf(o.Spec.Model.Name).peak
		if o.Peak != want || o.Censored || len(o.Spec.Model.Layers) == 0 {
			t.Errorf("%s: peak %v, want %v; %d layers", o.Spec.Model.Name, o.Peak, want, len(o.Spec.Model.Layers))
		}
	}
	fitted, err := interference.Fit(speeds, nil)
	if err != nil {
		t.Fatal(err)
	}
	if learned, prior := score(t, fitted, speeds), score(t, &interference.Predictor{}, speeds); learned >= prior {
		t.Errorf("mean error %.3f after fitting, %.3f before", learned, prior)
	}
}

// score is the mean absolute error of predicted speeds.
func score(t *testing.T, m *interference.Predictor, speeds []interference.Observation) float64 {
	t.Helper()
	sum, n := 0.0, 0
	for _, o := range speeds {
		got, err := m.Speeds(&o.Set[0].GPU, o.Mechanism, o.Set, nil)
		if err != nil {
			t.Fatal(err)
		}
		for i := range got {
			sum += math.Abs(got[i].Value - o.Speeds[i].Or(0))
			n++
		}
	}
	return sum / float64(n)
}

func TestMemoryObservation(t *testing.T) {
	const gib = float64(profile.GiB)
	some := profile.Some[float64]
	alone := row{
		Task: "x", Mechanism: "exclusive", SetSize: some(1), Member: some(0), Idle: some(0),
		Batch: some(8), Context: some(gib / 2), Reserved: some(2 * gib),
	}
	tests := []struct {
		name     string
		change   func(*row)
		want     float64 // GiB; 0 is no observation
		censored bool
	}{
		{"pool and context", func(*row) {}, 2.5, false},
		{"device", func(r *row) { r.DevicePeak, r.Baseline = some(4*gib), some(gib) }, 3, false},
		{"device with others", func(r *row) { r.DevicePeak, r.Baseline, r.Idle = some(4*gib), some(gib), some(3) }, 2.5, false},
		{"driver", func(r *row) { r.Peak, r.DevicePeak, r.Baseline = some(3.25*gib), some(4*gib), some(gib) }, 3.25, false},
		{"nothing", func(r *row) { r.Reserved = profile.Opt[float64]{} }, 0, false},
		{"under MPS", func(r *row) { r.Mechanism = "mps" }, 0, false},
		{"crashed", func(r *row) { r.Status = "crash" }, 0, false},
		{"out of memory", func(r *row) { r.Status, r.Free = "oom", some(39*gib) }, 39.5, true},
		{"out of memory beside others", func(r *row) { r.Status, r.Free, r.Idle = "oom", some(39*gib), some(2) }, 0, false},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			r := alone
			r.Status = "ok"
			tt.change(&r)
			_, memory, err := observations([]row{r}, nil)
			if err != nil {
				t.Fatal(err)
			}
			if (len(memory) == 1) != (tt.want > 0) {
				t.Fatalf("%d observations", len(memory))
			}
			if tt.want > 0 && (float64(memory[0].Peak) != tt.want*gib || memory[0].Censored != tt.censored) {
				t.Errorf("got %+v, want %v GiB", memory[0], tt.want)
			}
		})
	}
}

func TestObservationFaults(t *testing.T) {
	some := profile.Some[float64]
	pair := []row{
		{Cell: "c", Task: "x", Mechanism: "mps", SetSize: some(2), Member: some(0), SetStatus: "ok"},
		{Cell: "c", Task: "y", Mechanism: "mps", SetSize: some(2), Member: some(1), SetStatus: "ok"},
	}
	tests := []struct {
		name   string
		change func(*row)
		want   string
	}{
		{"mechanism", func(r *row) { r.Mechanism = "magic" }, "magic"},
		{"family", func(r *row) { r.Family = "magic" }, "magic"},
		{"lost row", func(r *row) { r.SetSize = some(3) }, "2 rows for 3 tasks"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			rows := []row{pair[0], pair[1]}
			tt.change(&rows[0])
			if _, _, err := observations(rows, nil); err == nil || !strings.Contains(err.Error(), tt.want) {
				t.Errorf("got %v, want %q", err, tt.want)
			}
		})
	}
}
