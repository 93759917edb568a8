package advise_test

import (
	"math"
	"slices"
	"strings"
	"testing"

	"example.com/colloc/colloc/advise"
	"example.com/colloc/profile"
)

// A task that waits 280 ms of a step of 928 for its loader is told four workers, and
// how much faster it can get.
func TestDataWait(t *testing.T) {
	gpu, _ := profile.LookupGPU("A100-40GB")
	wait := 280.0 / 928
	for _, tt := range []struct {
		name    string
		wait    profile.Opt[float64]
		workers int
		cpu     profile.Opt[float64]
		want    advise.Bottleneck
		action  advise.Action
		count   int
		effect  float64
	}{
		{"in its own process", profile.Some(wait), 0, profile.Opt[float64]{}, advise.FewWorkers, advise.AddWorkers, 4, 928.0 / 648},
		{"with five workers", profile.Some(wait), 5, profile.Some(0.3), advise.FewWorkers, advise.AddWorkers, 8, 928.0 / 648},
		{"with as many as CPUs", profile.Some(wait), 8, profile.Some(0.3), advise.StarvedByInput, advise.LightenInput, 0, math.Sqrt(928.0 / 648)},
		{"with busy CPUs", profile.Some(wait), 0, profile.Some(0.9), advise.StarvedByInput, advise.LightenInput, 0, math.Sqrt(928.0 / 648)},
		{"little", profile.Some(0.05), 0, profile.Some(0.2), advise.Underused, advise.Collocate, 0, 0},
	} {
		t.Run(tt.name, func(t *testing.T) {
			sample := profile.Sample{SMActive: profile.Some(0.3), MemUsed: profile.Some(3 * profile.GiB), CPUBusy: tt.cpu}
			p, err := profile.New(profile.Spec{Training: profile.Training{BatchSize: 32, Workers: tt.workers}}, profile.Trace{Samples: []profile.Sample{sample}}, gpu)
			if err != nil {
				t.Fatal(err)
			}
			d := advise.Diagnose(&p, &advise.Options{DataWait: tt.wait})
			i := slices.IndexFunc(d.Remedies, func(r advise.Remedy) bool { return r.Action == tt.action && (tt.count == 0 || r.Count == tt.count) })
			if d.Bottleneck != tt.want || i < 0 {
				t.Fatalf("%v: %v; want %v and %v of %d", d.Bottleneck, d.Remedies, tt.want, tt.action, tt.count)
			}
			if got := d.Remedies[i].Throughput.Value; tt.effect > 0 && !(math.Abs(got-tt.effect) <= 1e-9) {
				t.Errorf("throughput x%v, want x%v", got, tt.effect)
			}
		})
	}
	all := profile.Profile{Spec: profile.Spec{Training: profile.Training{BatchSize: 1}}, GPU: gpu}
	if d := advise.Diagnose(&all, &advise.Options{DataWait: profile.Some(1.0)}); d.Bottleneck != advise.FewWorkers {
		t.Errorf("who waits all the time: %v, %q", d.Bottleneck, d.Warnings)
	}
	p := profile.Profile{Spec: profile.Spec{Training: profile.Training{BatchSize: 1}}, GPU: gpu}
	if d := advise.Diagnose(&p, &advise.Options{DataWait: profile.Some(28.0)}); !slices.ContainsFunc(d.Warnings, func(w string) bool { return strings.Contains(w, "DataWait is 28") }) {
		t.Errorf("a share in per cent: %q", d.Warnings)
	}
}
