package advise_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"example.com/colloc/colloc"
	"example.com/colloc/colloc/advise"
	"example.com/colloc/predict/interference"
	"example.com/colloc/predict/memory"
	"example.com/colloc/profile"
)

// priorPlanner predicts by rules of thumb alone, so that tests do not depend on
// what the pretrained models were fitted to.
func priorPlanner(tb testing.TB) *colloc.Planner {
	tb.Helper()
	return newPlanner(tb, colloc.Config{Memory: &memory.Predictor{}, Interference: &interference.Predictor{}})
}

func newPlanner(tb testing.TB, c colloc.Config) *colloc.Planner {
	tb.Helper()
	p, err := colloc.New(c)
	if err != nil {
		tb.Fatal(err)
	}
	return p
}

func gpuModel(tb testing.TB, name string) profile.GPUModel {
	tb.Helper()
	m, ok := profile.LookupGPU(name)
	if !ok {
		tb.Fatalf("GPU %q is not in the catalogue", name)
	}
	return m
}

// counters is what was seen of a task; a negative number was not.
type counters struct {
	sm, dram, cpu, busy float64
	peak                profile.Bytes
}

func (c counters) sample() profile.Sample {
	opt := func(x float64) profile.Opt[float64] {
		if x < 0 {
			return profile.Opt[float64]{}
		}
		return profile.Some(x)
	}
	s := profile.Sample{SMActive: opt(c.sm), DRAMActive: opt(c.dram), CPUBusy: opt(c.cpu), GPUBusy: opt(c.busy)}
	if c.peak > 0 {
		s.MemUsed = profile.Some(c.peak)
	}
	return s
}

// blocks is a transformer-like model: each block keeps scores and has weights.
func blocks(n int, params, scores int64) profile.Model {
	m := profile.Model{Name: "blocks"}
	for range n {
		m.Layers = append(m.Layers,
			profile.Layer{Kind: profile.Attention, Activations: scores},
			profile.Layer{Kind: profile.Linear, Params: params, Activations: scores / 4})
	}
	return m
}

func diagnosed(tb testing.TB, m profile.Model, t profile.Training, c counters, gpu string) *profile.Profile {
	tb.Helper()
	p, err := profile.New(profile.Spec{Model: m, Training: t}, profile.Trace{Samples: []profile.Sample{c.sample()}}, gpuModel(tb, gpu))
	if err != nil {
		tb.Fatal(err)
	}
	return &p
}

func TestDiagnose(t *testing.T) {
	planner := priorPlanner(t)
	small := blocks(4, 1e6, 1e5)
	loaders := profile.Training{BatchSize: 32, Workers: 4}
	for _, tt := range []struct {
		name     string
		training profile.Training
		seen     counters
		problems []advise.Bottleneck
		actions  []advise.Action // best first
		evidence string          // of the first finding
		warning  string
	}{
		{
			"small kernels", loaders,
			counters{0.2, -1, 0.1, -1, 4 * profile.GiB},
			[]advise.Bottleneck{advise.Underused},
			[]advise.Action{advise.Collocate, advise.ChangeBatch},
			"[mean_sm_active 0.2 < 0.5 mean_cpu_busy 0.1 < 0.8]", "",
		},
		{
			"nvidia-smi alone", loaders,
			counters{-1, -1, 0.1, 0.2, 4 * profile.GiB},
			[]advise.Bottleneck{advise.Underused},
			[]advise.Action{advise.Collocate, advise.ChangeBatch},
			"[mean_gpu_busy 0.2 < 0.5 mean_cpu_busy 0.1 < 0.8]", "",
		},
		{
			"CPU not measured", loaders,
			counters{0.2, -1, -1, -1, 4 * profile.GiB},
			[]advise.Bottleneck{advise.Underused},
			[]advise.Action{advise.Collocate, advise.ChangeBatch},
			"[mean_sm_active 0.2 < 0.5]", "it may wait for data",
		},
		{
			"starved by the input pipeline", loaders,
			counters{0.3, -1, 0.95, -1, 16 * profile.GiB},
			[]advise.Bottleneck{advise.StarvedByInput},
			[]advise.Action{advise.LightenInput},
			"[mean_sm_active 0.3 < 0.5 mean_cpu_busy 0.95 >= 0.8 memory_share 0.68 >= 0.5]", "",
		},
		{
			"starved and small", loaders,
			counters{0.3, -1, 0.8, -1, profile.GiB},
			[]advise.Bottleneck{advise.StarvedByInput},
			[]advise.Action{advise.LightenInput},
			"[mean_sm_active 0.3 < 0.5 mean_cpu_busy 0.8 >= 0.8]", "",
		},
		{
			"no workers",
			profile.Training{BatchSize: 32},
			counters{0.4, -1, 0.2, 0.4, 16 * profile.GiB},
			[]advise.Bottleneck{advise.FewWorkers},
			[]advise.Action{advise.AddWorkers},
			"[mean_sm_active 0.4 < 0.5 mean_cpu_busy 0.2 < 0.8 workers 0 < 1]", "",
		},
		{
			"compute", loaders,
			counters{0.95, 0.3, 0.2, 1, 10 * profile.GiB},
			[]advise.Bottleneck{advise.ComputeBound},
			[]advise.Action{advise.MixPrecision},
			"[mean_sm_active 0.95 >= 0.8]", "",
		},
		{
			"compute, mixed already",
			profile.Training{BatchSize: 32, Precision: profile.Mixed},
			counters{0.95, 0.3, 0.2, 1, 10 * profile.GiB},
			[]advise.Bottleneck{advise.ComputeBound},
			[]advise.Action{},
			"[mean_sm_active 0.95 >= 0.8]", "",
		},
		{
			"bandwidth", loaders,
			counters{0.7, 0.65, 0.2, 1, 10 * profile.GiB},
			[]advise.Bottleneck{advise.BandwidthBound},
			[]advise.Action{advise.MixPrecision},
			"[mean_dram_active 0.65 >= 0.6]", "",
		},
		{
			"too large to share", loaders,
			counters{0.6, 0.3, 0.2, 1, 20 * profile.GiB},
			[]advise.Bottleneck{advise.TooLargeToShare},
			[]advise.Action{advise.MixPrecision, advise.Recompute},
			"[memory_share 0.85 >= 0.8]", "",
		},
		{
			"used well", loaders,
			counters{0.7, 0.4, 0.2, 1, 10 * profile.GiB},
			nil,
			[]advise.Action{},
			"", "",
		},
		{
			"nothing measured", loaders,
			counters{-1, -1, -1, -1, 0},
			nil,
			[]advise.Action{},
			"", "neither SM activity nor GPU utilisation",
		},
	} {
		t.Run(tt.name, func(t *testing.T) {
			p := diagnosed(t, small, tt.training, tt.seen, "RTX 3090")
			d := advise.Diagnose(p, &advise.Options{Planner: planner})
			var problems []advise.Bottleneck
			for _, f := range d.Findings {
				problems = append(problems, f.Bottleneck)
				if f.Source == "" {
					t.Errorf("%v has no source", f.Bottleneck)
				}
			}
			actions := []advise.Action{}
			for _, r := range d.Remedies {
				actions = append(actions, r.Action)
				if r.Source == "" || r.Text == "" {
					t.Errorf("%v has no source or text", r.Action)
				}
			}
			if diff := cmp.Diff(tt.problems, problems); diff != "" {
				t.Errorf("problems (-want +got):\n%s\n%v", diff, d)
			}
			if diff := cmp.Diff(tt.actions, actions); diff != "" {
				t.Errorf("actions (-want +got):\n%s\n%v", diff, d)
			}
			if len(d.Findings) > 0 && (fmt.Sprint(d.Findings[0].Evidence) != tt.evidence || d.Bottleneck != tt.problems[0]) {
				t.Errorf("bottleneck %v, evidence %v; want %v", d.Bottleneck, d.Findings[0].Evidence, tt.evidence)
			}
			if got := strings.Join(d.Warnings, "\n"); !strings.Contains(got, tt.warning) || (got == "") != (tt.warning == "") {
				t.Errorf("warnings %q, want one with %q", got, tt.warning)
			}
		})
	}
}

func TestDiagnoseCopies(t *testing.T) {
	planner := priorPlanner(t)
	for _, tt := range []struct {
		name string
		seen counters
		most int
		want int
	}{
		{"SM share", counters{0.3, -1, 0.1, -1, profile.GiB}, 0, 3},
		{"memory", counters{0.1, -1, 0.05, -1, 6 * profile.GiB}, 0, 3},
		{"CPU", counters{0.1, -1, 0.4, -1, profile.GiB}, 0, 2},
		{"asked for", counters{0.1, -1, 0.05, -1, profile.GiB}, 2, 2},
		{"none", counters{0.1, -1, 0.6, -1, profile.GiB}, 0, 0},
	} {
		t.Run(tt.name, func(t *testing.T) {
			p := diagnosed(t, profile.Model{Name: "m"}, profile.Training{BatchSize: 1, Workers: 1}, tt.seen, "RTX 3090")
			d := advise.Diagnose(p, &advise.Options{Planner: planner, MaxCopies: tt.most})
			got := 0
			for _, r := range d.Remedies {
				if r.Action == advise.Collocate {
					got = r.Count
					if r.Throughput.Value <= 1 || r.Throughput.Lo > r.Throughput.Value || r.Throughput.Hi < r.Throughput.Value {
						t.Errorf("throughput is %v", r.Throughput)
					}
				}
			}
			if got != tt.want {
				t.Errorf("%d copies, want %d\n%v", got, tt.want, d)
			}
		})
	}
}

func TestDiagnoseTooLargeToFit(t *testing.T) {
	planner := priorPlanner(t)
	ladder := []advise.Action{advise.Recompute, advise.MixPrecision, advise.RecomputeMixed, advise.ShardData, advise.SplitModel}
	for _, tt := range []struct {
		name  string
		model profile.Model
		batch int
		want  []advise.Action
		fits  []bool
		gpus  int // of the last step of the ladder
	}{
		{"activations", blocks(64, 1e6, 2e7), 8, ladder[:3], []bool{true, false, true}, 0},
		{"weights", blocks(48, 6e7, 1e6), 1, ladder[:4], []bool{false, false, false, true}, 4},
		{"both", blocks(64, 1e8, 6e8), 1, ladder, []bool{false, false, false, false, true}, 8},
		{"hopeless", blocks(64, 1e10, 1e6), 1, ladder, make([]bool, 5), 8},
	} {
		t.Run(tt.name, func(t *testing.T) {
			p := diagnosed(t, tt.model, profile.Training{BatchSize: tt.batch, Optimizer: profile.Adam}, counters{-1, -1, -1, -1, 0}, "A100-40GB")
			d := advise.Diagnose(p, &advise.Options{Planner: planner})
			if d.Bottleneck != advise.TooLargeToFit {
				t.Fatalf("bottleneck is %v", d.Bottleneck)
			}
			var actions []advise.Action
			var fits []bool
			gpus := 0
			for i, r := range d.Remedies {
				if e := r.Throughput; !(e.Lo == 0.5 && e.Hi == 1) && r.Action != advise.MixPrecision && r.Action != advise.RecomputeMixed && r.Action != advise.Recompute {
					t.Errorf("%v does x%v to x%v of the work; what saves memory saves no time", r.Action, e.Lo, e.Hi)
				}
				if r.Action == advise.ChangeBatch {
					if i < len(d.Remedies)-1 {
						t.Errorf("a smaller batch is offered before %v; want it last", d.Remedies[i+1].Action)
					}
					continue
				}
				actions, fits, gpus = append(actions, r.Action), append(fits, r.Fits), r.Count
				if r.Action == advise.Recompute && r.Throughput.Value != 0.75 {
					t.Errorf("recomputing, where nothing was measured, does %v, want a step longer by a third", r.Throughput)
				}
				memory, ok := r.Memory.Get()
				if !ok || memory.Value <= 0 || profile.Bytes(memory.Value) > r.Reserved {
					t.Errorf("%v: memory %v, reserved %v", r.Action, r.Memory, r.Reserved)
				}
			}
			if diff := cmp.Diff(tt.want, actions); diff != "" {
				t.Errorf("actions (-want +got):\n%s\n%v", diff, d)
			}
			if diff := cmp.Diff(tt.fits, fits); diff != "" || gpus != tt.gpus {
				t.Errorf("%d GPUs, want %d; fits (-want +got):\n%s\n%v", gpus, tt.gpus, diff, d)
			}
		})
	}
}

func TestDiagnoseAddWorkers(t *testing.T) {
	planner := priorPlanner(t)
	p := diagnosed(t, profile.Model{Name: "m"}, profile.Training{BatchSize: 1}, counters{0.2, -1, 0.1, 0.2, 20 * profile.GiB}, "RTX 3090")
	for _, tt := range []struct {
		cpus, workers int
		gain          float64
	}{{0, 4, 5}, {2, 2, 2.5}} {
		d := advise.Diagnose(p, &advise.Options{Planner: planner, CPUs: tt.cpus})
		r := d.Remedies[0]
		training, _ := r.Training.Get()
		if want := fmt.Sprintf("\n1. %v\n", r); !strings.Contains(d.String(), want) {
			t.Errorf("text has no %q:\n%s", want, d)
		}
		if r.Action != advise.AddWorkers || r.Count != tt.workers || training.Workers != tt.workers || r.Throughput.Value != tt.gain {
			t.Errorf("%d CPUs: got %v, want %d workers and x%v", tt.cpus, r, tt.workers, tt.gain)
		}
	}
}

func TestDiagnosisJSON(t *testing.T) {
	p := diagnosed(t, blocks(48, 6e7, 1e6), profile.Training{BatchSize: 4}, counters{0.2, -1, 0.1, -1, 0}, "A100-40GB")
	want := advise.Diagnose(p, &advise.Options{Planner: priorPlanner(t)})
	data, err := json.Marshal(want)
	if err != nil {
		t.Fatal(err)
	}
	var got advise.Diagnosis
	if err := json.Unmarshal(data, &got); err != nil {
		t.Fatal(err)
	}
	if got.String() != want.String() {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
}
